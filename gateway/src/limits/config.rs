//! Where limits are counted, as it is configured, and what can be wrong with that.

use std::time::Duration;

use secrecy::SecretString;

/// Where limits are counted: in each gateway, or in one store for all of them.
#[derive(Clone, Debug, clap::Args)]
pub struct LimitsConfig {
    /// A Redis or Valkey in which all gateways count together: `redis://user:password@host:6379/0`,
    /// `rediss://…` (with TLS) or `unix:///path?db=0`. Without it each gateway counts its share.
    #[arg(
        long,
        env = "ARCHWAY_LIMITS_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub limits_url: Option<SecretString>,
    /// What happens while that store is away.
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
    /// counts by itself gives away its share of each limit. Without it there is one gateway.
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

/// Why the store of limits can't be used. Never carries the URL, which has a password.
#[derive(Debug, thiserror::Error)]
pub enum LimitsError {
    /// The URL is none of a store.
    #[error(
        "it is no redis://user:password@host:6379/0, rediss://… (with TLS) or unix:///path?db=0"
    )]
    Url(#[source] redis::RedisError),
    /// The URL asks for TLS without checking who answers.
    #[error("#insecure is not supported: give the server a certificate that this machine trusts")]
    Insecure,
}
