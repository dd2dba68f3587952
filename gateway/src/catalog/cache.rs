//! The catalogue in Postgres: what is listed while no worker is there.
//!
//! Read once, at the start, for as long as no worker gave another; written whenever a worker of the
//! default pool gave one that isn't there yet: what other pools list is not this pool's. All gateways of a pool write the same row, and a rolling update of its
//! workers may write it to and fro. Off the path of calls: whatever fails here is logged, tried
//! again, and delays nobody.

use std::time::Duration;

use archway_proto::chain::Chain;
use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::{Catalog, FIRST_RETRY, LONGEST_RETRY, Snapshot};
use crate::store::{LARGEST_CATALOG, StoreError, Stores};

/// How long Postgres is left alone after it took no catalogue: one is in force without it.
const REST: Duration = Duration::from_secs(10);

/// Where the catalogue of the default pool is kept.
pub(crate) struct CatalogCache {
    stores: Stores,
    pool: String,
}

impl CatalogCache {
    /// The row of this pool.
    pub(crate) fn new(stores: Stores, pool: String) -> Self {
        CatalogCache { stores, pool }
    }

    /// Puts what is kept in force unless a worker's is, and keeps what workers give, until
    /// `shutdown`.
    pub(crate) async fn keep(&self, catalog: &Catalog, shutdown: &CancellationToken) {
        let keeping = async {
            let kept = self.recall(catalog).await;
            self.follow(catalog, kept).await;
        };
        shutdown.run_until_cancelled(keeping).await;
    }

    /// Takes down what is kept; the bytes of it, whatever they are. Gives up once a worker's
    /// catalogue is in force.
    async fn recall(&self, catalog: &Catalog) -> Option<Bytes> {
        let mut wait = FIRST_RETRY;
        while catalog.snapshot().is_none() {
            match self.stores.catalog(&self.pool).await {
                Ok(Some(kept)) => {
                    let kept = Bytes::from(kept);
                    put_in_force(catalog, kept.clone());
                    return Some(kept);
                }
                Ok(None) => {
                    let pool = &self.pool;
                    tracing::info!(pool, "no tools are kept yet: the first worker gives them");
                    return None;
                }
                // `/readyz` tells of that.
                Err(error) => {
                    tracing::debug!(error = %Chain(&error), "last known tools not read");
                    wait = (wait * 2).min(LONGEST_RETRY);
                    tokio::time::sleep(wait).await;
                }
            }
        }
        None
    }

    /// Keeps every catalogue of the pool that is in force and isn't `kept` yet.
    async fn follow(&self, catalog: &Catalog, mut kept: Option<Bytes>) {
        loop {
            let source = catalog.other_than(kept.as_ref()).await;
            match self.write(&source).await {
                Ok(()) => kept = Some(source),
                Err(error) => {
                    tracing::warn!(error = %Chain(&error), "the tools in force are not kept yet");
                    tokio::time::sleep(REST).await;
                }
            }
        }
    }

    async fn write(&self, tools: &[u8]) -> Result<(), StoreError> {
        if tools.len() > LARGEST_CATALOG {
            tracing::warn!(bytes = tools.len(), "the catalogue is too large to be kept");
            return Ok(());
        }
        self.stores.keep_catalog(&self.pool, tools).await
    }
}

/// What is kept is believed no more than what a worker gives.
fn put_in_force(catalog: &Catalog, kept: Bytes) {
    match Snapshot::parse(kept) {
        Ok(snapshot) => {
            let tools = snapshot.tools.len();
            if catalog.take_if_none(snapshot) {
                tracing::info!(
                    tools,
                    "no worker was reached yet: listing the last known tools"
                );
            }
        }
        Err(error) => {
            tracing::warn!(error = %Chain(&error), "the last known tools are of no use");
        }
    }
}
