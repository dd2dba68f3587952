//! Where a worker is, under which name, and how it is connected to.

use std::{sync::Arc, time::Duration};

use http::Uri;
use tonic::transport::{Channel, Endpoint, Error};

use super::super::secured::{self, Authority};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a worker is asked whether it is there, and how long it has to answer: a frozen one is
/// found within 5 s, while calls on it have half of their 10 s left.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(3);
/// A result of 64 KiB arrives without waiting for a window update. One that waits for room holds no
/// more than this.
const STREAM_WINDOW: u32 = 128 * 1024;
/// A thousand streams may wait for room before others are held up. It is no larger, since h2 derives its
/// bound on small frames from it.
const CONNECTION_WINDOW: u32 = 128 * 1024 * 1024;

/// Where one worker is.
#[derive(Clone, Debug)]
pub(in crate::upstream) struct Address {
    /// `http://ip:port` or `unix:/path`: what the operator reads and the choice hashes.
    pub(in crate::upstream) text: String,
    /// What the worker is called in requests, if it was found by a name.
    pub(in crate::upstream) origin: Option<Uri>,
}

impl Address {
    /// A channel that connects when it is first used, and again whenever it has to.
    pub(super) fn channel(&self, authority: Option<&Arc<Authority>>) -> Result<Channel, Error> {
        let mut endpoint = Endpoint::from_shared(self.text.clone())?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            // A worker's last frames of calls that were cancelled. h2 counts those that come late
            // for as long as a connection lives, and would end it at 1,024, with all its calls.
            .http2_max_local_error_reset_streams(None);
        if let Some(origin) = &self.origin {
            endpoint = endpoint.origin(origin.clone());
        }
        Ok(match (authority, self.host()) {
            (Some(authority), Some(host)) => secured::channel(&endpoint, authority, &host),
            _ => endpoint.connect_lazy(),
        })
    }

    /// What tells workers apart: the address, and by TLS the name, too, that a certificate is held
    /// against. In the clear one address is one worker, however many names lead to it.
    pub(in crate::upstream) fn identity(&self, by_tls: bool) -> (String, Option<String>) {
        let name = by_tls.then(|| self.host()).flatten();
        (self.text.clone(), name)
    }

    /// The host that the operator named, which a certificate is held against. A unix socket has
    /// none, and needs none.
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
