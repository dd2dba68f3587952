//! Where the workers are, as it is configured, and what can be wrong with that.
//!
//! `http://host:port` stands for every address its name resolves to (a headless service of
//! Kubernetes, for one); an IP address and `unix:/path` stand for themselves.

use std::{collections::BTreeMap, net::IpAddr, path::PathBuf};

use archway_proto::pool;
use http::Uri;

use super::secured::AuthorityError;

/// Where an `http://` address without a port is.
pub(super) const HTTP_PORT: u16 = 80;

/// Where the workers are.
#[derive(Clone, Debug, clap::Args)]
pub struct UpstreamConfig {
    /// Workers' addresses, comma-separated: `http://host:port` (every address that the host's name
    /// resolves to) or `unix:/path`. `NAME=` before one puts it into the pool of that name.
    #[arg(
        long = "worker",
        env = "ARCHWAY_WORKERS",
        value_name = "[NAME=]URL",
        value_delimiter = ',',
        required = true
    )]
    pub workers: Vec<String>,
    /// The pool of the workers that are listed without one. Tenants name theirs; passes are good
    /// for it alone.
    #[arg(
        long,
        env = "ARCHWAY_POOL",
        value_name = "NAME",
        default_value = "shared",
        value_parser = pool::checked
    )]
    pub pool: String,
    /// Speak TLS to workers, and believe those alone whose certificate is of an authority in this
    /// file (PEM) and for the host that --worker names. Unix sockets stay as they are. Read again for
    /// every new connection.
    #[arg(long, env = "ARCHWAY_WORKER_CA_FILE", value_name = "FILE")]
    pub worker_ca: Option<PathBuf>,
    /// Seconds a call may take, 1 to 30.
    #[arg(
        long,
        env = "ARCHWAY_CALL_DEADLINE",
        value_name = "SECONDS",
        default_value = "10",
        value_parser = clap::value_parser!(u64).range(1..=30)
    )]
    pub call_deadline: u64,
}

/// Why the workers' addresses are of no use.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The list is empty.
    #[error("no worker address is configured")]
    NoWorker,
    /// An address does not parse.
    #[error("{0:?} is no worker address (http://host:port or unix:/path, NAME= before it)")]
    Address(String),
    /// A pool's name that no tenant can have.
    #[error("{0:?} is no name of a pool: {problem}", problem = pool::ALLOWED)]
    Pool(String),
    /// TLS is asked for by another option.
    #[error(
        "{0:?} is no worker address: write it as http://host:port, and have TLS spoken there by \
         --worker-ca (ARCHWAY_WORKER_CA_FILE), the authorities of workers' certificates"
    )]
    Https(String),
    /// The authorities of workers' certificates are of no use.
    #[error("--worker-ca (ARCHWAY_WORKER_CA_FILE) {} can't be used", path.display())]
    Authority {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: AuthorityError,
    },
}

/// One configured address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `unix:/path`, or `http://` with an IP address.
    Fixed(String),
    /// A name that stands for as many workers as it has addresses.
    Named {
        host: String,
        port: u16,
        /// What a worker behind the name is called in requests.
        origin: Uri,
    },
}

impl UpstreamConfig {
    /// The places of each pool, at least one pool with at least one place.
    pub(super) fn places(&self) -> Result<BTreeMap<String, Vec<Place>>, UpstreamError> {
        let mut pools: BTreeMap<String, Vec<Place>> = BTreeMap::new();
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
            let place = place(address);
            let place = place.ok_or_else(|| UpstreamError::Address(address.to_owned()))?;
            pools.entry(name.to_owned()).or_default().push(place);
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

fn place(address: &str) -> Option<Place> {
    if !is_address(address) {
        return None;
    }
    let fixed = Place::Fixed(address.to_owned());
    if address.starts_with("unix:") {
        return Some(fixed);
    }
    let origin: Uri = address.parse().ok()?;
    let host = origin.host().filter(|host| !host.is_empty())?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if bare.parse::<IpAddr>().is_ok() {
        return Some(fixed);
    }
    Some(Place::Named {
        host: host.to_owned(),
        port: origin.port_u16().unwrap_or(HTTP_PORT),
        origin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(workers: &[&str]) -> Result<BTreeMap<String, Vec<Place>>, UpstreamError> {
        let config = UpstreamConfig {
            workers: workers.iter().map(|&worker| worker.to_owned()).collect(),
            pool: "shared".to_owned(),
            worker_ca: None,
            call_deadline: 10,
        };
        config.places()
    }

    #[test]
    fn a_name_before_an_address_is_its_pool_and_a_host_is_one_to_be_resolved() {
        let pools = places(&[
            "http://workers.archway:7000",
            "http://[::1]:7000",
            "gold=http://10.0.0.1",
            "gold=unix:/run/a=b",
            "unix:/run/c=d",
        ])
        .unwrap();
        let fixed = |text: &str| Place::Fixed(text.to_owned());
        let [Place::Named { host, port, .. }, ip, unix] = pools["shared"].as_slice() else {
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
    fn what_is_no_address_or_no_pool_is_said() {
        for text in ["", "worker:7000", "unix:run", "gold=worker", "http://"] {
            let said = places(&[text]);
            assert!(
                matches!(said, Err(UpstreamError::Address(_))),
                "{text}: {said:?}"
            );
        }
        for text in ["=http://a", "Gold=http://a", "-=http://a"] {
            let said = places(&[text]);
            assert!(
                matches!(said, Err(UpstreamError::Pool(_))),
                "{text}: {said:?}"
            );
        }
        for text in [
            "https://worker",
            "gold=https://worker/a=b",
            "https://worker/a=b",
        ] {
            let said = places(&[text]).unwrap_err();
            assert!(matches!(said, UpstreamError::Https(_)), "{text}: {said}");
            assert!(said.to_string().contains("--worker-ca"), "{said}");
        }
        assert!(matches!(places(&[]), Err(UpstreamError::NoWorker)));
    }
}
