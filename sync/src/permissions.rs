//! Asks hosts who may read the private repositories of connections with `permissions: host`.
//!
//! One process asks for all, by a lease in Postgres, and one question at a time for a connection. What a webhook asked for
//! comes first, then what was never listed, then what was listed longest ago.

mod round;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::host_tokens::HostTokens;
use crate::host_work;
use crate::remote::AllowedProtocols;
use crate::store::SyncStore;

/// Asks about what the database names.
pub(crate) struct Permissions {
    pub(crate) store: SyncStore,
    pub(crate) tokens: HostTokens,
    pub(crate) allowed: AllowedProtocols,
}

impl Permissions {
    /// Asks until `stop`.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let work = |leased| {
            let (permissions, stop) = (Arc::clone(&self), stop.clone());
            async move { round::run(&permissions, &leased, &stop).await }
        };
        let lease = || {
            let store = self.store.clone();
            async move { store.lease_permissions().await }
        };
        host_work::run(&stop, "permissions", lease, work).await;
    }
}
