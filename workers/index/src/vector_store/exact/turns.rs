//! How much this home does at once, and how much of that for one tenant.
//!
//! Who waits for its own tenant's turn is not yet in the line of all: however much one asks for, the
//! others wait behind no more of it than it may have at once.

use std::sync::Arc;

use moka::sync::Cache;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

/// How many tenants are remembered: of one that is forgotten, what is under way no longer counts.
const MAX_TENANTS: u64 = 10_000;

/// Turns that all tenants share.
pub(super) struct Turns {
    all: Arc<Semaphore>,
    of_tenants: Cache<Uuid, Arc<Semaphore>>,
    most_each: usize,
}

/// A turn. Dropped, it goes to whoever is next.
pub(super) struct Turn {
    _of_all: OwnedSemaphorePermit,
    _of_tenant: OwnedSemaphorePermit,
}

impl Turns {
    /// So many at once, of which one tenant may have `most_each`.
    pub(super) fn new(most: usize, most_each: usize) -> Turns {
        Turns {
            all: Arc::new(Semaphore::new(most)),
            of_tenants: Cache::new(MAX_TENANTS),
            most_each,
        }
    }

    /// A tenant's turn. Waits for as long as it is polled.
    ///
    /// # Errors
    /// None: turns are never closed.
    pub(super) async fn take(&self, tenant: Uuid) -> Result<Turn, AcquireError> {
        let new = || Arc::new(Semaphore::new(self.most_each));
        let own = self.of_tenants.get_with(tenant, new);
        Ok(Turn {
            _of_tenant: own.acquire_owned().await?,
            _of_all: Arc::clone(&self.all).acquire_owned().await?,
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn one_tenant_leaves_turns_to_others_and_no_more_than_all_are_had() {
        let turns = Turns::new(3, 2);
        let [a, b, c] = [1, 2, 3].map(Uuid::from_u128);
        let first = turns.take(a).await.unwrap();
        let _second = turns.take(a).await.unwrap();
        let mut third = Box::pin(turns.take(a));
        assert!(third.as_mut().now_or_never().is_none());
        let other = turns.take(b).now_or_never().unwrap().unwrap();
        assert!(turns.take(c).now_or_never().is_none(), "all are had");
        drop(first);
        third.await.unwrap();
        drop(other);
    }
}
