//! Where questions about ids that were never confirmed wait for their turn at Postgres.
//!
//! They have few places of their own, so that a flood of invented keys takes none of a good one's;
//! and those from sources that failed too often have one place beside them, so that a flood from
//! few addresses takes none of a stranger's either.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Places of everybody: half of a default pool.
const STRANGERS: usize = 4;
/// How long a question waits for its place. Each takes a millisecond: this is enough for every
/// key's first call after a restart, and little to hold the callers of a flood for.
const WAIT: Duration = Duration::from_millis(250);

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Anybody.
    Strangers,
    /// A source that failed too often.
    Suspects,
}

/// Says who asks; itself asked only where that matters.
pub(crate) type Who<'a> = &'a (dyn Fn() -> Lane + Sync);

/// The places.
pub(super) struct Lanes {
    strangers: Semaphore,
    suspects: Semaphore,
}

impl Default for Lanes {
    fn default() -> Self {
        Lanes {
            strangers: Semaphore::new(STRANGERS),
            suspects: Semaphore::new(1),
        }
    }
}

impl Lanes {
    /// A place, or `None` if none was free in time.
    pub(super) async fn place(&self, lane: Lane) -> Option<SemaphorePermit<'_>> {
        let places = match lane {
            Lane::Strangers => &self.strangers,
            Lane::Suspects => &self.suspects,
        };
        // Neither is ever closed.
        tokio::time::timeout(WAIT, places.acquire())
            .await
            .ok()?
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_full_lane_stops_its_own_for_a_moment_and_the_other_not_at_all() {
        let lanes = Lanes::default();
        let suspect = lanes.place(Lane::Suspects).await;
        assert!(suspect.is_some());
        assert!(lanes.place(Lane::Suspects).await.is_none());
        let mut strangers = Vec::new();
        for _ in 0..STRANGERS {
            strangers.push(lanes.place(Lane::Strangers).await.unwrap());
        }
        assert!(lanes.place(Lane::Strangers).await.is_none());
        drop((suspect, strangers));
        assert!(lanes.place(Lane::Suspects).await.is_some());
        assert!(lanes.place(Lane::Strangers).await.is_some());
    }
}
