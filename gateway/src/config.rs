//! The configuration of a gateway: everything except secrets and connections.

use archway_proto::name::checked;

use crate::{
    admin::{ConsoleConfig, ConsoleError},
    auth::{AuthConfig, IssuersError},
    breaker::BreakerConfig,
    limits::{LimitsConfig, LimitsError},
    sampling::SamplingConfig,
    server::guard::GuardConfig,
    upstream::{UpstreamConfig, UpstreamError},
};

/// Everything about a gateway except secrets and connections.
#[derive(Clone, Debug, clap::Args)]
pub struct GatewayConfig {
    /// Name of this gateway in audit records and logs [default: the host's name and the port, as
    /// `box-8080`].
    #[arg(long = "name", env = "ARCHWAY_GATEWAY_NAME", value_name = "NAME", value_parser = checked)]
    pub name: Option<String>,
    /// Host names and origins.
    #[command(flatten)]
    pub guard: GuardConfig,
    /// Credentials.
    #[command(flatten)]
    pub auth: AuthConfig,
    /// Limits.
    #[command(flatten)]
    pub limits: LimitsConfig,
    /// Concurrency of a tenant.
    #[command(flatten)]
    pub breaker: BreakerConfig,
    /// Workers.
    #[command(flatten)]
    pub upstream: UpstreamConfig,
    /// Traces.
    #[command(flatten)]
    pub sampling: SamplingConfig,
    /// Of how many tenants metrics are labelled with their slugs: those with the most calls in the last day, chosen
    /// every hour. The rest is summed as `(other)`. 0 to 1,000; 0: metrics say nothing about tenants.
    #[arg(
        long,
        env = "ARCHWAY_TENANT_METRICS",
        value_name = "N",
        default_value_t = 0,
        value_parser = clap::value_parser!(u16).range(0..=1000)
    )]
    pub tenant_metrics: u16,
    /// The operator's page.
    #[command(flatten)]
    pub console: ConsoleConfig,
}

impl GatewayConfig {
    /// The gateway's name in audit records; empty if none was configured.
    pub(crate) fn name(&self) -> String {
        self.name.clone().unwrap_or_default()
    }
}

/// Why a gateway's configuration is rejected.
#[derive(Debug, thiserror::Error)]
pub enum GatewayConfigError {
    /// The limit store.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// The token issuers.
    #[error("--issuers (ARCHWAY_ISSUERS_FILE) can't be used")]
    Issuers(#[from] IssuersError),
    /// The operator's page.
    #[error(transparent)]
    Console(#[from] ConsoleError),
    /// The workers' addresses.
    #[error("--worker (ARCHWAY_WORKERS) can't be used")]
    Workers(#[from] UpstreamError),
}
