//! The copy of the catalogue in Postgres, which is listed while no worker is reachable.
//!
//! Read once at the start, unless a worker sends its catalogue first. Written whenever a worker of
//! the default pool sends one that is not stored yet; other pools have other tools. All gateways of
//! a pool write the same row, and a rolling update of its workers may change it back and forth. Not
//! on the path of calls: failures are logged and retried, and delay nothing.

use std::time::Duration;

use archway_proto::chain::Chain;
use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::{Catalog, FIRST_RETRY, LONGEST_RETRY, ToolSet};
use crate::store::{LARGEST_CATALOG, StoreError, Stores};

/// Delay after Postgres failed to store a catalogue, which is not urgent.
const RETRY_DELAY: Duration = Duration::from_secs(10);

/// Stores the catalogue of the default pool.
pub(crate) struct CatalogCache {
    stores: Stores,
    pool: String,
}

impl CatalogCache {
    /// The row of this pool.
    pub(crate) fn new(stores: Stores, pool: String) -> Self {
        CatalogCache { stores, pool }
    }

    /// Uses the stored catalogue until a worker sends one, then stores what workers send, until
    /// `shutdown`.
    pub(crate) async fn run(&self, catalog: &Catalog, shutdown: &CancellationToken) {
        let running = async {
            let stored = self.load(catalog).await;
            self.follow(catalog, stored).await;
        };
        shutdown.run_until_cancelled(running).await;
    }

    /// Reads the stored catalogue, makes it current if it is valid, and returns its bytes. Stops
    /// once a worker's catalogue is current.
    async fn load(&self, catalog: &Catalog) -> Option<Bytes> {
        let mut wait = FIRST_RETRY;
        while catalog.tools().is_none() {
            match self.stores.catalog(&self.pool).await {
                Ok(Some(stored)) => {
                    let stored = Bytes::from(stored);
                    use_stored(catalog, stored.clone());
                    return Some(stored);
                }
                Ok(None) => {
                    let pool = &self.pool;
                    tracing::info!(
                        pool,
                        "no catalogue is stored yet: waiting for the first worker"
                    );
                    return None;
                }
                // `/readyz` reports the cause.
                Err(error) => {
                    tracing::debug!(error = %Chain(&error), "stored catalogue could not be read");
                    wait = (wait * 2).min(LONGEST_RETRY);
                    tokio::time::sleep(wait).await;
                }
            }
        }
        None
    }

    /// Stores every current catalogue of the pool that differs from `stored`.
    async fn follow(&self, catalog: &Catalog, mut stored: Option<Bytes>) {
        loop {
            let source = catalog.other_than(stored.as_ref()).await;
            match self.write(&source).await {
                Ok(()) => stored = Some(source),
                Err(error) => {
                    tracing::warn!(error = %Chain(&error), "catalogue could not be stored yet");
                    tokio::time::sleep(RETRY_DELAY).await;
                }
            }
        }
    }

    async fn write(&self, tools: &[u8]) -> Result<(), StoreError> {
        if tools.len() > LARGEST_CATALOG {
            tracing::warn!(bytes = tools.len(), "catalogue is too large to be stored");
            return Ok(());
        }
        self.stores.keep_catalog(&self.pool, tools).await
    }
}

/// A stored catalogue is validated like one from a worker.
fn use_stored(catalog: &Catalog, stored: Bytes) {
    match ToolSet::parse(stored) {
        Ok(tool_set) => {
            let tools = tool_set.tools.len();
            if catalog.set_if_none(tool_set) {
                tracing::info!(
                    tools,
                    "no worker was reached yet: listing the stored catalogue"
                );
            }
        }
        Err(error) => {
            tracing::warn!(error = %Chain(&error), "stored catalogue is invalid");
        }
    }
}
