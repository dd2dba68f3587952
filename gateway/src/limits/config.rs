//! Configuration of the limits' store, and its errors.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

/// Where limits are counted: in each gateway, or in one store that all gateways share.
#[derive(Clone, Debug, clap::Args)]
pub struct LimitsConfig {
    /// A Redis or Valkey that all gateways count in: `redis://user:password@host:6379/0`,
    /// `rediss://…` (with TLS) or `unix:///path?db=0`. If it is absent or empty, each gateway
    /// counts its share.
    #[arg(
        long,
        env = "ARCHWAY_LIMITS_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub limits_url: Option<SecretString>,
    /// What happens to calls while that store is down. With `closed`, /readyz answers 503 during an
    /// outage, so a load balancer removes every gateway.
    #[arg(
        long,
        env = "ARCHWAY_LIMITS_WHEN_DOWN",
        value_name = "MODE",
        value_enum,
        default_value_t = WhenDown::Shares
    )]
    pub limits_when_down: WhenDown,
    /// Milliseconds to wait for that store's answer, 10 to 5000. A timeout marks it as down for one
    /// second.
    #[arg(
        long,
        env = "ARCHWAY_LIMITS_TIMEOUT",
        value_name = "MS",
        default_value = "100",
        value_parser = clap::value_parser!(u64).range(10..=5000)
    )]
    pub limits_timeout: u64,
    /// A DNS name with one address for each gateway (a headless service). A gateway that counts by
    /// itself grants its share of each limit. If it is absent or empty, the share is the whole
    /// limit.
    #[arg(long, env = "ARCHWAY_GATEWAY_SERVICE", value_name = "NAME")]
    pub gateway_service: Option<String>,
    /// How often the sums of the month are read. No option: tests shorten it.
    #[arg(skip = LimitsConfig::MONTH_INTERVAL)]
    pub month_interval: Duration,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        LimitsConfig {
            limits_url: None,
            limits_when_down: WhenDown::Shares,
            limits_timeout: 100,
            gateway_service: None,
            month_interval: LimitsConfig::MONTH_INTERVAL,
        }
    }
}

impl LimitsConfig {
    /// A third of the age up to which a sum is used.
    const MONTH_INTERVAL: Duration = Duration::from_secs(20);

    /// The store's URL, if it is set: deployment templates leave it empty.
    pub(super) fn url(&self) -> Option<&SecretString> {
        let url = self.limits_url.as_ref();
        url.filter(|url| !url.expose_secret().is_empty())
    }

    /// How long to wait for the store's answer.
    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.limits_timeout)
    }
}

/// What happens to calls while the shared store is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum WhenDown {
    /// Each gateway grants its share: the limit divided by the number of gateways, at least one a
    /// second.
    Shares,
    /// Every limited message is refused as unavailable.
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

/// Why the limits' configuration is invalid. Never contains the URL, which holds a password.
#[derive(Debug, thiserror::Error)]
pub enum LimitsError {
    /// The URL is not a Redis URL.
    #[error(
        "--limits-url (ARCHWAY_LIMITS_URL) must be redis://user:password@host:6379/0, rediss://… \
         (with TLS) or unix:///path?db=0; in a password write # as %23, / as %2F, : as %3A, @ as %40"
    )]
    Url(#[source] redis::RedisError),
    /// The URL asks for TLS without verification of the server's certificate.
    #[error(
        "--limits-url (ARCHWAY_LIMITS_URL) ends with #insecure, which is not supported: give the \
         server a certificate that this machine trusts"
    )]
    Insecure,
    /// `closed` was chosen without a store.
    #[error(
        "--limits-when-down closed (ARCHWAY_LIMITS_WHEN_DOWN) needs a store of limits: name it with \
         --limits-url (ARCHWAY_LIMITS_URL)"
    )]
    ClosedWithoutStore,
}
