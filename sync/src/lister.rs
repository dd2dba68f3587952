//! Lists connections that are due: what a host has becomes projects, and what it no longer has goes out of use.
//!
//! One process lists a connection for all, by a lease in Postgres.

mod listing;

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
/// Connections that are listed at once.
const AT_ONCE: usize = 4;

/// Lists what the database names.
pub(crate) struct Lister {
    pub(crate) store: SyncStore,
    pub(crate) tokens: HostTokens,
    pub(crate) allowed: AllowedProtocols,
}

impl Lister {
    /// Lists until `stop`.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut running = JoinSet::new();
        while !stop.is_cancelled() {
            let mut pause = INTERVAL;
            while running.len() < AT_ONCE {
                match self.store.lease_listing().await {
                    Ok(Some(leased)) => {
                        let (lister, stop) = (Arc::clone(&self), stop.clone());
                        running.spawn(async move { listing::run(&lister, &leased, &stop).await });
                    }
                    Ok(None) => break,
                    Err(error) => {
                        tracing::debug!(error = %Chain(&error), "the database does not say which listing is due");
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
