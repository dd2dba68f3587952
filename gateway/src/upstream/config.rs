//! Configuration of the workers' addresses, and its errors.
//!
//! `http://host:port` stands for every address that its name resolves to (for example a headless
//! service of Kubernetes). An IP address or `unix:/path` stands for itself.

use std::{collections::BTreeMap, net::IpAddr, path::PathBuf};

use archway_proto::pool;
use http::Uri;

use super::tls::WorkerCaError;

/// The port of an `http://` address that names none.
pub(super) const HTTP_PORT: u16 = 80;

/// Configuration of the workers.
#[derive(Clone, Debug, clap::Args)]
pub struct UpstreamConfig {
    /// Workers' addresses, comma-separated: `http://host:port` (every address that the name
    /// resolves to) or `unix:/path`. The prefix `NAME=` puts an address into the pool of that name.
    #[arg(
        long = "worker",
        env = "ARCHWAY_WORKERS",
        value_name = "[NAME=]URL",
        value_delimiter = ',',
        required = true
    )]
    pub workers: Vec<String>,
    /// The pool of the workers that are listed without a pool. Each tenant names its pool; a pass
    /// is valid for one pool only.
    #[arg(
        long,
        env = "ARCHWAY_POOL",
        value_name = "NAME",
        default_value = "shared",
        value_parser = pool::checked
    )]
    pub pool: String,
    /// Use TLS to workers. Accept only certificates that an authority in this file (PEM) issued for
    /// the host that --worker names. Unix sockets stay unencrypted. The file is read again for
    /// every new connection.
    #[arg(long, env = "ARCHWAY_WORKER_CA_FILE", value_name = "FILE")]
    pub worker_ca: Option<PathBuf>,
    /// Seconds that a call may take, 1 to 30.
    #[arg(
        long,
        env = "ARCHWAY_CALL_DEADLINE",
        value_name = "SECONDS",
        default_value = "10",
        value_parser = clap::value_parser!(u64).range(1..=30)
    )]
    pub call_deadline: u64,
}

/// Why the workers' configuration is invalid.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The list is empty.
    #[error("no worker address is configured")]
    NoWorker,
    /// An address does not parse.
    #[error("{0:?} is not a worker address (http://host:port or unix:/path, NAME= before it)")]
    Address(String),
    /// A pool name that no tenant can have.
    #[error("{0:?} is not a pool name: {problem}", problem = pool::ALLOWED)]
    Pool(String),
    /// TLS is configured by another option.
    #[error(
        "{0:?} is not a worker address: write it as http://host:port, and turn on TLS with \
         --worker-ca (ARCHWAY_WORKER_CA_FILE), the authorities of workers' certificates"
    )]
    Https(String),
    /// The file of certificate authorities is unusable.
    #[error("--worker-ca (ARCHWAY_WORKER_CA_FILE) {} can't be used", path.display())]
    WorkerCa {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: WorkerCaError,
    },
}

/// One configured address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConfiguredAddress {
    /// `unix:/path`, or `http://` with an IP address.
    Fixed(String),
    /// A name that stands for as many workers as it has addresses.
    Named {
        host: String,
        port: u16,
        /// The `:authority` of requests to workers behind the name.
        origin: Uri,
    },
}

impl UpstreamConfig {
    /// The addresses of each pool. Returns at least one pool, and at least one address in each.
    pub(super) fn addresses(
        &self,
    ) -> Result<BTreeMap<String, Vec<ConfiguredAddress>>, UpstreamError> {
        let mut pools: BTreeMap<String, Vec<ConfiguredAddress>> = BTreeMap::new();
        for entry in &self.workers {
            let (name, address) = match entry.split_once('=') {
                Some((pool, address)) if !is_address(entry) => (pool, address),
                _ => (self.pool.as_str(), entry.as_str()),
            };
            if !pool::is_name(name) {
                return Err(UpstreamError::Pool(name.to_owned()));
            }
            if address.starts_with("https://") {
                return Err(UpstreamError::Https(address.to_owned()));
            }
            let parsed = parse_address(address);
            let parsed = parsed.ok_or_else(|| UpstreamError::Address(address.to_owned()))?;
            pools.entry(name.to_owned()).or_default().push(parsed);
        }
        if pools.is_empty() {
            return Err(UpstreamError::NoWorker);
        }
        Ok(pools)
    }
}

fn is_address(text: &str) -> bool {
    ["http://", "https://", "unix:/"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
}

fn parse_address(address: &str) -> Option<ConfiguredAddress> {
    if !is_address(address) {
        return None;
    }
    let fixed = ConfiguredAddress::Fixed(address.to_owned());
    if address.starts_with("unix:") {
        return Some(fixed);
    }
    let origin: Uri = address.parse().ok()?;
    let host = origin.host().filter(|host| !host.is_empty())?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if bare.parse::<IpAddr>().is_ok() {
        return Some(fixed);
    }
    Some(ConfiguredAddress::Named {
        host: host.to_owned(),
        port: origin.port_u16().unwrap_or(HTTP_PORT),
        origin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(
        workers: &[&str],
    ) -> Result<BTreeMap<String, Vec<ConfiguredAddress>>, UpstreamError> {
        let config = UpstreamConfig {
            workers: workers.iter().map(|&worker| worker.to_owned()).collect(),
            pool: "shared".to_owned(),
            worker_ca: None,
            call_deadline: 10,
        };
        config.addresses()
    }

    #[test]
    fn a_prefix_names_the_pool_and_a_host_is_resolved() {
        let pools = addresses(&[
            "http://workers.archway:7000",
            "http://[::1]:7000",
            "gold=http://10.0.0.1",
            "gold=unix:/run/a=b",
            "unix:/run/c=d",
        ])
        .unwrap();
        let fixed = |text: &str| ConfiguredAddress::Fixed(text.to_owned());
        let [ConfiguredAddress::Named { host, port, .. }, ip, unix] = pools["shared"].as_slice()
        else {
            panic!("{pools:?}");
        };
        assert_eq!((host.as_str(), *port), ("workers.archway", 7000));
        assert_eq!(
            [ip, unix],
            [&fixed("http://[::1]:7000"), &fixed("unix:/run/c=d")]
        );
        assert_eq!(
            pools["gold"],
            [fixed("http://10.0.0.1"), fixed("unix:/run/a=b")]
        );
    }

    #[test]
    fn invalid_addresses_and_pool_names_are_reported() {
        for text in ["", "worker:7000", "unix:run", "gold=worker", "http://"] {
            let result = addresses(&[text]);
            assert!(
                matches!(result, Err(UpstreamError::Address(_))),
                "{text}: {result:?}"
            );
        }
        for text in ["=http://a", "Gold=http://a", "-=http://a"] {
            let result = addresses(&[text]);
            assert!(
                matches!(result, Err(UpstreamError::Pool(_))),
                "{text}: {result:?}"
            );
        }
        for text in [
            "https://worker",
            "gold=https://worker/a=b",
            "https://worker/a=b",
        ] {
            let result = addresses(&[text]).unwrap_err();
            assert!(
                matches!(result, UpstreamError::Https(_)),
                "{text}: {result}"
            );
            assert!(result.to_string().contains("--worker-ca"), "{result}");
        }
        assert!(matches!(addresses(&[]), Err(UpstreamError::NoWorker)));
    }
}
