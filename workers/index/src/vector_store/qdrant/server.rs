//! The server, with every file of its configuration read.

use std::time::Duration;

use http::uri::Scheme;
use tonic::{
    metadata::{Ascii, MetadataValue},
    transport::{ClientTlsConfig, Endpoint},
};

use super::config::{QdrantConfig, QdrantConfigError};
use crate::chunk_text::short_hash;

/// Connect timeout, ample on any healthy network.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval and timeout of pings on a silent connection.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(2));

/// Address and credentials of Qdrant.
#[derive(Clone)]
pub struct QdrantServer {
    pub(super) endpoint: Endpoint,
    pub(super) key: Option<MetadataValue<Ascii>>,
    pub(super) prefix: String,
}

impl QdrantServer {
    /// Identifies this installation's collections: another server, or another installation on the
    /// same server, has another fingerprint. Rows in Postgres record which store has their chunks.
    pub fn fingerprint(&self) -> String {
        short_hash(&format!("{} {}", self.endpoint.uri(), self.prefix))
    }

    /// Reads the key's file and, for TLS, the certificates of trusted authorities, so it must be called
    /// before the process is confined. Connects to nothing.
    pub fn read(config: &QdrantConfig) -> Result<Self, QdrantConfigError> {
        let (uri, key) = (config.uri()?, config.key()?);
        let secured = uri.scheme() == Some(&Scheme::HTTPS);
        if key.is_some() && !secured {
            tracing::warn!("the key of Qdrant is sent unencrypted: its URL is not https://");
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
