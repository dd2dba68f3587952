//! Lists connections that are due: what a host has becomes projects, and what it no longer has goes out of use.
//!
//! One process lists a connection for all, by a lease in Postgres.

mod listing;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::host_tokens::HostTokens;
use crate::host_work;
use crate::remote::AllowedProtocols;
use crate::store::SyncStore;

/// Lists what the database names.
pub(crate) struct Lister {
    pub(crate) store: SyncStore,
    pub(crate) tokens: HostTokens,
    pub(crate) allowed: AllowedProtocols,
}

impl Lister {
    /// Lists until `stop`.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let work = |leased| {
            let (lister, stop) = (Arc::clone(&self), stop.clone());
            async move { listing::run(&lister, &leased, &stop).await }
        };
        let lease = || {
            let store = self.store.clone();
            async move { store.lease_listing().await }
        };
        host_work::run(&stop, "listings", lease, work).await;
    }
}
