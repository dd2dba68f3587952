//! Where limits are counted, as it is configured, and what can be wrong with that.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

/// Where limits are counted: in each gateway, or in one store for all of them.
#[derive(Clone, Debug, clap::Args)]
pub struct LimitsConfig {
    /// A Redis or Valkey in which all gateways count together: `redis://user:password@host:6379/0`,
    /// `rediss://…` (with TLS) or `unix:///path?db=0`. Without it, or if it is empty, each gateway
    /// counts its share.
    #[arg(
        long,
        env = "ARCHWAY_LIMITS_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub limits_url: Option<SecretString>,
    /// What happens while that store is away. With `closed` /readyz answers 503 meanwhile: a load
    /// balancer then takes every gateway out.
    #[arg(
        long,
        env = "ARCHWAY_LIMITS_WHEN_DOWN",
        value_name = "MODE",
        value_enum,
        default_value_t = WhenDown::Shares
    )]
    pub limits_when_down: WhenDown,
    /// Milliseconds that store has for an answer, 10 to 5000; then it is away for a second.
    #[arg(
        long,
        env = "ARCHWAY_LIMITS_TIMEOUT",
        value_name = "MS",
        default_value = "100",
        value_parser = clap::value_parser!(u64).range(10..=5000)
    )]
    pub limits_timeout: u64,
    /// The DNS name that has an address for each gateway (a headless service): a gateway that
    /// counts by itself gives away its share of each limit. Without it, or if it is empty, there
    /// is one gateway.
    #[arg(long, env = "ARCHWAY_GATEWAY_SERVICE", value_name = "NAME")]
    pub gateway_service: Option<String>,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        LimitsConfig {
            limits_url: None,
            limits_when_down: WhenDown::Shares,
            limits_timeout: 100,
            gateway_service: None,
        }
    }
}

impl LimitsConfig {
    /// The store's URL, if it has one: templates of deployments leave it empty.
    pub(super) fn url(&self) -> Option<&SecretString> {
        let url = self.limits_url.as_ref();
        url.filter(|url| !url.expose_secret().is_empty())
    }

    /// How long the store is waited for.
    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.limits_timeout)
    }
}

/// What happens to calls while the store of limits is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum WhenDown {
    /// Each gateway gives away its share: a limit ÷ gateways, at least one a second.
    Shares,
    /// Whatever has a limit is refused as unavailable.
    Closed,
    /// Nothing is limited.
    Open,
}

impl WhenDown {
    /// The label in metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            WhenDown::Shares => "shares",
            WhenDown::Closed => "closed",
            WhenDown::Open => "open",
        }
    }
}

/// Why limits can't be counted as it is configured. Never carries the URL, which has a password.
#[derive(Debug, thiserror::Error)]
pub enum LimitsError {
    /// The URL is none of a store.
    #[error(
        "--limits-url (ARCHWAY_LIMITS_URL) is no redis://user:password@host:6379/0, rediss://… \
         (with TLS) or unix:///path?db=0; in a password write # as %23, / as %2F, : as %3A, @ as %40"
    )]
    Url(#[source] redis::RedisError),
    /// The URL asks for TLS without checking who answers.
    #[error(
        "--limits-url (ARCHWAY_LIMITS_URL) says #insecure, which is not supported: give the server \
         a certificate that this machine trusts"
    )]
    Insecure,
    /// All is to be refused while a store is away that there is not.
    #[error(
        "--limits-when-down closed (ARCHWAY_LIMITS_WHEN_DOWN) needs a store of limits: name it with \
         --limits-url (ARCHWAY_LIMITS_URL)"
    )]
    ClosedWithoutStore,
}
