//! Permits for concurrent work, with a bound per tenant.
//!
//! A caller first waits for its tenant's bound, and only then in the common queue. So however much
//! one tenant requests, the queue holds no more of it than it may run at once.

use std::sync::Arc;

use moka::sync::Cache;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

/// Tenants that are tracked; work in flight of an evicted tenant no longer counts.
const MAX_TENANTS: u64 = 10_000;

/// Permits that all tenants share.
pub(super) struct TenantPermits {
    shared: Arc<Semaphore>,
    tenants: Cache<Uuid, Arc<Semaphore>>,
    per_tenant: usize,
}

/// Permission to work, released on drop.
pub(super) struct TenantPermit {
    _shared: OwnedSemaphorePermit,
    _tenant: OwnedSemaphorePermit,
}

impl TenantPermits {
    /// `total` permits in all, of which one tenant gets up to `per_tenant`.
    pub(super) fn new(total: usize, per_tenant: usize) -> TenantPermits {
        TenantPermits {
            shared: Arc::new(Semaphore::new(total)),
            tenants: Cache::new(MAX_TENANTS),
            per_tenant,
        }
    }

    /// Waits for a permit of the tenant, for as long as the caller polls.
    ///
    /// # Errors
    /// Never in practice: Tokio reports closed semaphores, and these are never closed.
    pub(super) async fn acquire(&self, tenant: Uuid) -> Result<TenantPermit, AcquireError> {
        let new = || Arc::new(Semaphore::new(self.per_tenant));
        let own = self.tenants.get_with(tenant, new);
        Ok(TenantPermit {
            _tenant: own.acquire_owned().await?,
            _shared: Arc::clone(&self.shared).acquire_owned().await?,
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn one_tenant_leaves_permits_to_others_within_the_total() {
        let permits = TenantPermits::new(3, 2);
        let [a, b, c] = [1, 2, 3].map(Uuid::from_u128);
        let first = permits.acquire(a).await.unwrap();
        let _second = permits.acquire(a).await.unwrap();
        let mut third = Box::pin(permits.acquire(a));
        assert!(third.as_mut().now_or_never().is_none());
        let other = permits.acquire(b).now_or_never().unwrap().unwrap();
        assert!(permits.acquire(c).now_or_never().is_none(), "all are taken");
        drop(first);
        third.await.unwrap();
        drop(other);
    }
}
