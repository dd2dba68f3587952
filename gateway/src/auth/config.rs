//! The operator's settings for credentials.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use super::address;

/// How credentials are verified.
#[derive(Clone, Debug, clap::Args)]
pub struct AuthConfig {
    /// Seconds for which a known key stays valid after Postgres last confirmed it, while Postgres
    /// is unreachable.
    #[arg(long = "key-grace", env = "ARCHWAY_KEY_GRACE", value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub key_grace: Duration,
    /// Proxies in front of the gateway, as networks (CIDR) or addresses, comma-separated. Only
    /// their X-Forwarded-For is trusted: failed credentials are counted by that address, and audit
    /// records name it.
    #[arg(
        long = "trusted-proxy",
        env = "ARCHWAY_TRUSTED_PROXIES",
        value_name = "NETWORK",
        value_delimiter = ',',
        value_parser = address::network
    )]
    pub trusted_proxies: Vec<ipnet::IpNet>,
    /// File (YAML) that lists the OIDC issuers whose tokens are accepted in addition to keys, and
    /// the tenants that each may speak for. Needs --resource.
    #[arg(long, env = "ARCHWAY_ISSUERS_FILE", value_name = "FILE")]
    pub issuers: Option<PathBuf>,
    /// The URL under which clients reach this gateway, `https://host`. It appears in the metadata
    /// that tells clients where to get tokens.
    #[arg(long, env = "ARCHWAY_RESOURCE", value_name = "URL")]
    pub resource: Option<String>,
}

impl Default for AuthConfig {
    fn default() -> Self {
        AuthConfig {
            key_grace: Duration::from_secs(60),
            trusted_proxies: Vec::new(),
            issuers: None,
            resource: None,
        }
    }
}

impl AuthConfig {
    /// The issuers file, if configured: deployment templates leave it empty.
    pub(super) fn issuers(&self) -> Option<&Path> {
        let path = self.issuers.as_deref();
        path.filter(|path| !path.as_os_str().is_empty())
    }
}

/// At most a day, since a revoked key could live that long.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds <= 86_400);
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| "expected seconds, 0 to 86400".to_owned())
}
