//! How many bodies are read at once, in all and of one connection.
//!
//! Anybody can send a body slowly. Whoever does so to one connection takes no more than its share from the
//! others. All names that no connection has share one.

use std::sync::Arc;
use std::time::Duration;

use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use uuid::Uuid;

use super::refusal::HookRefusal;

/// Bodies that are read at once.
pub(super) const MAX_BODIES: usize = 256;
/// The same of one connection.
pub(super) const MAX_BODIES_OF_ONE: usize = 32;
/// How long a delivery waits for its turn.
const DEADLINE: Duration = Duration::from_secs(2);
/// Connections whose share is known.
const MAX_SHARES: u64 = 10_000;
/// A share that nobody asked for so long is forgotten. A body takes at most half of it.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// Gives turns.
#[derive(Debug)]
pub(super) struct Turns {
    all: Arc<Semaphore>,
    shares: Cache<Uuid, Arc<Semaphore>>,
}

/// The right to read one body, given back on drop.
pub(super) struct Turn {
    _of_share: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Default for Turns {
    fn default() -> Turns {
        let shares = Cache::builder()
            .max_capacity(MAX_SHARES)
            .time_to_idle(FORGOTTEN_AFTER)
            .eviction_policy(EvictionPolicy::lru())
            .build();
        Turns {
            all: Arc::new(Semaphore::new(MAX_BODIES)),
            shares,
        }
    }
}

impl Turns {
    /// A turn for a connection, or for a name that none has.
    pub(super) async fn take(&self, connection: Option<Uuid>) -> Result<Turn, HookRefusal> {
        let share = || Arc::new(Semaphore::new(MAX_BODIES_OF_ONE));
        let share = self.shares.get_with(connection.unwrap_or_default(), share);
        let turn = timeout(DEADLINE, async {
            // The share first: who waits for it holds nothing of the others'.
            let (of_share, of_all) = (share.acquire_owned().await, self.all.clone());
            Some(Turn {
                _of_share: of_share.ok()?,
                _of_all: of_all.acquire_owned().await.ok()?,
            })
        });
        turn.await.ok().flatten().ok_or(HookRefusal::Busy)
    }
}
