//! Asks hosts who may read the private repositories of connections with `permissions: host`.
//!
//! One process asks for all, by a lease in Postgres, and one question at a time for a connection. What a webhook asked for
//! comes first, then what was never listed, then what was listed longest ago.

mod round;

use std::sync::Arc;

use archway_proto::chain::Chain;
use tokio::task::JoinSet;
use tokio::time::Duration;
use tokio_util::sync::CancellationToken;

use crate::host_tokens::HostTokens;
use crate::remote::AllowedProtocols;
use crate::store::SyncStore;

/// How often the database is asked for what is due.
const INTERVAL: Duration = Duration::from_secs(1);
/// Pause after the database did not answer.
const RETRY: Duration = Duration::from_secs(5);
/// Connections that are asked about at once.
const AT_ONCE: usize = 4;

/// Asks about what the database names.
pub(crate) struct Permissions {
    pub(crate) store: SyncStore,
    pub(crate) tokens: HostTokens,
    pub(crate) allowed: AllowedProtocols,
}

impl Permissions {
    /// Asks until `stop`.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut running = JoinSet::new();
        while !stop.is_cancelled() {
            let mut pause = INTERVAL;
            while running.len() < AT_ONCE {
                match self.store.lease_permissions().await {
                    Ok(Some(leased)) => {
                        let (permissions, stop) = (Arc::clone(&self), stop.clone());
                        running
                            .spawn(async move { round::run(&permissions, &leased, &stop).await });
                    }
                    Ok(None) => break,
                    Err(error) => {
                        tracing::debug!(error = %Chain(&error), "the database does not say whose permissions are due");
                        pause = RETRY;
                        break;
                    }
                }
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
                Some(_ended) = running.join_next() => {}
            }
        }
        while running.join_next().await.is_some() {}
    }
}
