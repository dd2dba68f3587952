//! The weight of a value in a cache that weighs it only when it is inserted.

use std::sync::atomic::{AtomicU32, Ordering};

/// The weight with which a value was inserted.
#[derive(Debug, Default)]
pub(super) struct CachedWeight(AtomicU32);

impl CachedWeight {
    /// Records the weight, and returns it as the cache takes it.
    pub(super) fn record(&self, weight: usize) -> u32 {
        let weight = u32::try_from(weight).unwrap_or(u32::MAX);
        self.0.store(weight, Ordering::Relaxed);
        weight
    }

    /// Whether the value weighs a quarter more than when it was inserted: insert it again.
    pub(super) fn is_outgrown_by(&self, weight: usize) -> bool {
        let last = self.0.load(Ordering::Relaxed);
        u32::try_from(weight).unwrap_or(u32::MAX) > last.saturating_add(last / 4)
    }
}
