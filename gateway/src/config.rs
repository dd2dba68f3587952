//! How a gateway is set up: everything that is no secret and no connection.

use archway_proto::name::checked;

use crate::{
    admin::ConsoleConfig,
    auth::{AuthConfig, IssuersError},
    breaker::BreakerConfig,
    limits::{LimitsConfig, LimitsError},
    sampling::SamplingConfig,
    server::guard::GuardConfig,
    upstream::{UpstreamConfig, UpstreamError},
};

/// Everything about a gateway that is no secret and no connection.
#[derive(Clone, Debug, clap::Args)]
pub struct GatewayConfig {
    /// What this gateway is called in audit records and logs [default: the host's name and the
    /// port, as `box-8080`].
    #[arg(long = "name", env = "ARCHWAY_GATEWAY_NAME", value_name = "NAME", value_parser = checked)]
    pub name: Option<String>,
    /// Names and origins.
    #[command(flatten)]
    pub guard: GuardConfig,
    /// Credentials.
    #[command(flatten)]
    pub auth: AuthConfig,
    /// Limits.
    #[command(flatten)]
    pub limits: LimitsConfig,
    /// What a tenant may occupy.
    #[command(flatten)]
    pub breaker: BreakerConfig,
    /// Workers.
    #[command(flatten)]
    pub upstream: UpstreamConfig,
    /// Traces.
    #[command(flatten)]
    pub sampling: SamplingConfig,
    /// The operator's page.
    #[command(flatten)]
    pub console: ConsoleConfig,
}

impl GatewayConfig {
    /// What this gateway is called; nothing, if nobody said.
    pub(crate) fn name(&self) -> String {
        self.name.clone().unwrap_or_default()
    }
}

/// What of a gateway's configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub enum GatewayConfigError {
    /// Where limits are counted.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// Who makes tokens.
    #[error("--issuers (ARCHWAY_ISSUERS_FILE) can't be used")]
    Issuers(#[from] IssuersError),
    /// The workers' addresses.
    #[error("--worker (ARCHWAY_WORKERS) can't be used")]
    Workers(#[from] UpstreamError),
}
