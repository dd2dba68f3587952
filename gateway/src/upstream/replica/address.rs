//! A worker's address, the name it was found by, and how to connect to it.

use std::{sync::Arc, time::Duration};

use http::Uri;
use tonic::transport::{Channel, Endpoint, Error};

use super::super::tls::{self, WorkerCa};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval and timeout of keep-alive pings. A frozen worker is detected within 5 s, when its calls
/// have half of their 10 s left.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(3);
/// A 64 KiB result arrives without a window update. A stream that waits for memory holds no more
/// than this.
const STREAM_WINDOW: u32 = 128 * 1024;
/// A thousand streams may wait for memory before others stall. It is no larger because h2 derives
/// its bound on small frames from it.
const CONNECTION_WINDOW: u32 = 128 * 1024 * 1024;

/// The address of one worker.
#[derive(Clone, Debug)]
pub(in crate::upstream) struct Address {
    /// `http://ip:port` or `unix:/path`: shown to operators and hashed by `affinity`.
    pub(in crate::upstream) text: String,
    /// The `:authority` of requests, if the worker was found by a name.
    pub(in crate::upstream) origin: Option<Uri>,
}

impl Address {
    /// A channel that connects on first use, and again whenever the connection is lost.
    pub(super) fn channel(&self, authority: Option<&Arc<WorkerCa>>) -> Result<Channel, Error> {
        let mut endpoint = Endpoint::from_shared(self.text.clone())?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            // A worker's last frames for cancelled calls arrive late. h2 counts them over the life
            // of a connection, and would close it at 1,024, with all its calls.
            .http2_max_local_error_reset_streams(None);
        if let Some(origin) = &self.origin {
            endpoint = endpoint.origin(origin.clone());
        }
        Ok(match (authority, self.host()) {
            (Some(authority), Some(host)) => tls::channel(&endpoint, authority, &host),
            _ => endpoint.connect_lazy(),
        })
    }

    /// What identifies a worker: its address and, with TLS, the name that its certificate is
    /// checked against. Without TLS one address is one worker, however many names resolve to it.
    pub(in crate::upstream) fn identity(&self, by_tls: bool) -> (String, Option<String>) {
        let name = by_tls.then(|| self.host()).flatten();
        (self.text.clone(), name)
    }

    /// The host that the operator named and the certificate is checked against. A unix socket has
    /// none.
    fn host(&self) -> Option<String> {
        if self.text.starts_with("unix:") {
            return None;
        }
        let origin = self.origin.clone().or_else(|| self.text.parse().ok());
        let host = origin.as_ref().and_then(Uri::host).unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        Some(bare.trim_end_matches('.').to_owned())
    }
}
