//! The server as a worker knows it: all of the configuration that has to be read, read.

use std::time::Duration;

use http::uri::Scheme;
use tonic::{
    metadata::{Ascii, MetadataValue},
    transport::{ClientTlsConfig, Endpoint},
};

use super::config::{QdrantConfig, QdrantConfigError};
use crate::named::short_hash;

/// A connection, on any network that is well.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How often a connection is tried that says nothing, and how long it has to answer.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(2));

/// Where Qdrant is, and what it is told.
#[derive(Clone)]
pub struct QdrantServer {
    pub(super) endpoint: Endpoint,
    pub(super) key: Option<MetadataValue<Ascii>>,
    pub(super) prefix: String,
}

impl QdrantServer {
    /// What tells its collections from those of another server, or of another installation in the
    /// same: rows in Postgres say by it what is at home here.
    pub fn mark(&self) -> String {
        short_hash(&format!("{} {}", self.endpoint.uri(), self.prefix))
    }

    /// The server of the configuration. Reads the key's file and, for TLS, the certificates of the
    /// authorities that this machine trusts, so it comes before a process is confined. Connects
    /// to nothing.
    pub fn read(config: &QdrantConfig) -> Result<Self, QdrantConfigError> {
        let (uri, key) = (config.uri()?, config.key()?);
        let secured = uri.scheme() == Some(&Scheme::HTTPS);
        if key.is_some() && !secured {
            tracing::warn!(
                "the key of Qdrant crosses the network in the clear: its URL is no https://"
            );
        }
        let mut endpoint = Endpoint::from(uri)
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE.0)
            .keep_alive_timeout(KEEP_ALIVE.1)
            .keep_alive_while_idle(true);
        if secured {
            let trusted = ClientTlsConfig::new().with_native_roots();
            endpoint = endpoint
                .tls_config(trusted)
                .map_err(QdrantConfigError::Tls)?;
        }
        let prefix = config.prefix()?.to_owned();
        Ok(QdrantServer {
            endpoint,
            key,
            prefix,
        })
    }
}
