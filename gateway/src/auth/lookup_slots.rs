//! Bounds and orders the key look-ups that a caller can cause with an id it made up.
//!
//! A look-up of an id that Postgres never confirmed needs a slot. There are fewer slots than
//! connections in the pool, so a flood of made-up keys leaves connections for good ones. Sources
//! that failed too often share one slot of their own, so they don't delay anybody else either.
//!
//! A look-up without a free slot waits. Each source enters the common queue with as many look-ups
//! as there are slots and keeps the rest in a queue of its own: a new source waits for a few
//! look-ups of each other source, however many those have waiting.
//!
//! What a reader would get wrong: the queue's bound is not a share per source. A source may have as
//! many look-ups as the queue has free places, so one source alone gets half of the queue, and a
//! source that comes later always finds places.

use std::time::Duration;

use tokio::time::timeout;

use super::address::Source;
use crate::fair_permits::{FairPermit, FairPermits};

/// Slots of sources in good standing: half of a default pool.
const SLOTS: usize = 4;
/// Look-ups of them in flight and waiting. Postgres answers about as many within [`PATIENCE`], at
/// 2 ms each.
const MOST_LOOKUPS: usize = 4096;
/// Slots of sources that failed too often, and their look-ups in flight and waiting.
const SUSPECT_SLOTS: usize = 1;
const MOST_SUSPECT_LOOKUPS: usize = 256;
/// How long a look-up waits for its slot. After a restart every key is looked up for the first time,
/// over a pool that has yet to connect.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where a look-up comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// `None` for a request that came through no listener.
    pub(crate) source: Option<Source>,
    /// Whether the source failed too often within the last minute.
    pub(crate) is_suspect: bool,
}

/// Returns the origin. A closure, since a cached key doesn't need it.
pub(crate) type OriginFn<'a> = &'a (dyn Fn() -> Origin + Sync);

/// The slots of all look-ups.
pub(super) struct LookupSlots {
    standard: Queue,
    suspect: Queue,
}

impl Default for LookupSlots {
    fn default() -> Self {
        LookupSlots {
            standard: Queue::new(SLOTS, MOST_LOOKUPS),
            suspect: Queue::new(SUSPECT_SLOTS, MOST_SUSPECT_LOOKUPS),
        }
    }
}

impl LookupSlots {
    /// Waits for a slot, for at most 2 s. Returns `None` on timeout, and at once if the queue is full.
    pub(super) async fn acquire(&self, origin: Origin) -> Option<SlotPermit<'_>> {
        let queue = match origin.is_suspect {
            true => &self.suspect,
            false => &self.standard,
        };
        queue.acquire(origin.source).await
    }
}

/// A slot, free again when this is dropped.
pub(super) type SlotPermit<'a> = FairPermit<'a, Option<Source>>;

/// Some slots and the look-ups that wait for them. One source may have all slots.
struct Queue {
    slots: FairPermits<Option<Source>>,
    most: usize,
}

impl Queue {
    fn new(size: usize, most: usize) -> Self {
        Queue {
            slots: FairPermits::new(size, size),
            most,
        }
    }

    async fn acquire(&self, source: Option<Source>) -> Option<SlotPermit<'_>> {
        // A source may have as many look-ups as places are free.
        let admits = |own, all| own < self.most - all;
        let lookup = self.slots.enter(source, admits)?;
        timeout(PATIENCE, lookup.permit()).await.ok()?
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use futures::future::poll_immediate;
    use tokio::time::{Instant, advance};

    use super::*;

    fn origin(source: u32, is_suspect: bool) -> Origin {
        let source = Some(Source::V4(source));
        Origin { source, is_suspect }
    }

    type Waiting<'a> = Pin<Box<dyn Future<Output = Option<SlotPermit<'a>>> + 'a>>;

    /// So many look-ups of a source, each polled once: those that wait, and the permits.
    async fn start(
        slots: &LookupSlots,
        origin: Origin,
        count: usize,
    ) -> (Vec<Waiting<'_>>, Vec<Option<SlotPermit<'_>>>) {
        let (mut waiting, mut done) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let mut lookup: Waiting<'_> = Box::pin(slots.acquire(origin));
            match poll_immediate(&mut lookup).await {
                Some(permit) => done.push(permit),
                None => waiting.push(lookup),
            }
        }
        (waiting, done)
    }

    #[tokio::test(start_paused = true)]
    async fn suspects_and_others_do_not_wait_for_each_other() {
        let slots = LookupSlots::default();
        let suspect = slots.acquire(origin(1, true)).await;
        assert!(suspect.is_some());
        let (_none, permits) = start(&slots, origin(2, false), SLOTS).await;
        assert_eq!(permits.iter().flatten().count(), SLOTS);
        let began = Instant::now();
        assert!(slots.acquire(origin(1, true)).await.is_none());
        assert_eq!(began.elapsed(), PATIENCE);
        assert!(slots.acquire(origin(2, false)).await.is_none());
        drop((suspect, permits));
        assert!(slots.acquire(origin(1, true)).await.is_some());
        assert!(slots.acquire(origin(2, false)).await.is_some());
        assert!(slots.standard.slots.is_idle(SLOTS) && slots.suspect.slots.is_idle(SUSPECT_SLOTS));
    }

    #[tokio::test(start_paused = true)]
    async fn a_hundred_first_look_ups_all_get_a_slot() {
        let slots = LookupSlots::default();
        let lookups = (0..100).map(|_| async {
            let permit = slots.acquire(origin(1, false)).await;
            tokio::time::sleep(Duration::from_millis(75)).await;
            permit.is_some()
        });
        let all = futures::future::join_all(lookups).await;
        assert!(all.into_iter().all(|has_slot| has_slot));
        assert!(slots.standard.slots.is_idle(SLOTS));
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_source_waits_for_one_round_of_another_and_no_more() {
        let slots = LookupSlots::default();
        let (_waiting, mut flood) = start(&slots, origin(1, false), 1000).await;
        assert_eq!(flood.len(), SLOTS);
        let mut other: Waiting<'_> = Box::pin(slots.acquire(origin(2, false)));
        assert!(poll_immediate(&mut other).await.is_none());
        flood.pop();
        let permit = poll_immediate(&mut other).await;
        assert!(permit.flatten().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_source_gets_half_of_the_queue_and_the_next_one_finds_places() {
        let slots = LookupSlots::default();
        let (waiting, done) = start(&slots, origin(1, false), MOST_LOOKUPS).await;
        let (permits, refused): (Vec<_>, Vec<_>) = done.into_iter().partition(Option::is_some);
        assert_eq!(waiting.len() + permits.len(), MOST_LOOKUPS / 2);
        assert_eq!(refused.len(), MOST_LOOKUPS / 2, "refused at once");
        let (others, none) = start(&slots, origin(2, false), 100).await;
        assert_eq!((others.len(), none.len()), (100, 0));
        advance(PATIENCE).await;
        drop((waiting, permits, others));
        assert!(slots.standard.slots.is_idle(SLOTS));
    }
}
