//! Buckets that the store refused lately, so that repeated calls are refused without the store.
//!
//! Maps each such bucket to the moment at which it is full, by this process's clock. A debt shrinks
//! only with time, and other gateways can only add to it: a charge that does not fit this debt
//! would not fit the store's either. The moment is computed from the time before the store was
//! asked, so no call is refused for longer than the store would refuse it.

use std::collections::HashMap;

use parking_lot::Mutex;
use uuid::Uuid;

use crate::limits::cost::{Bill, BucketId, Debts, MOST_CHARGES};

const SHARDS: usize = 16;
/// Cached buckets of one shard: 100,000 in all. The store decides about further ones.
const MOST: usize = 6_250;
/// Least time between sweeps of a full shard, in microseconds.
const SWEEP: u64 = 1_000_000;

/// Buckets that the store says cannot take a call.
pub(super) struct SpentCache([Mutex<Shard>; SHARDS]);

#[derive(Default)]
struct Shard {
    /// When each bucket is full again.
    full: HashMap<BucketId, u64>,
    swept: u64,
}

impl SpentCache {
    pub(super) fn new() -> Self {
        SpentCache(std::array::from_fn(|_| Mutex::default()))
    }

    /// The cached debts that refuse the bill. `None` if the store has to decide.
    pub(super) fn check(&self, bill: &Bill, now: u64) -> Option<Debts> {
        let cache = &self.shard(bill.tenant).lock().full;
        if cache.is_empty() {
            return None;
        }
        let mut debts: Debts = [0; MOST_CHARGES];
        let mut fits = true;
        for (charge, debt) in bill.charges.iter().zip(&mut debts) {
            if let Some(full) = cache.get(&charge.id) {
                *debt = full.saturating_sub(now);
                fits &= charge.fits(*debt);
            }
        }
        (!fits).then_some(debts)
    }

    /// Caches the buckets that made the store refuse the bill. `asked` is when the store was asked.
    pub(super) fn insert(&self, bill: &Bill, debts: &Debts, asked: u64) {
        let mut shard = self.shard(bill.tenant).lock();
        if shard.full.len() + MOST_CHARGES > MOST && asked >= shard.swept + SWEEP {
            shard.swept = asked;
            shard.full.retain(|_, full| *full > asked);
        }
        let cache = &mut shard.full;
        for (charge, debt) in bill.charges.iter().zip(debts) {
            if !charge.fits(*debt) && cache.len() < MOST {
                // Another call may have cached a later moment; both are true, so the later one
                // wins.
                let full = cache.entry(charge.id).or_default();
                *full = (*full).max(asked + debt);
            }
        }
    }

    /// Empties the cache: the store may have lost its state.
    pub(super) fn clear(&self) {
        for shard in &self.0 {
            shard.lock().full.clear();
        }
    }

    fn shard(&self, tenant: Uuid) -> &Mutex<Shard> {
        // The last byte of a tenant's id is random, whatever the UUID version.
        let [.., last] = tenant.into_bytes();
        &self.0[usize::from(last) % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        limits::cost::{Charge, FULL},
        terms::Level,
    };

    const SECOND: u64 = 1_000_000;

    fn debts(first: u64, second: u64) -> Debts {
        [first, second, 0, 0, 0, 0]
    }

    #[test]
    fn a_cached_bucket_refuses_exactly_as_long_as_the_store_would() {
        let cache = SpentCache::new();
        let charge = Charge::for_tests(1, Level::Key, 60, 1);
        let bill = Bill::for_tests(&[charge]);
        assert_eq!(cache.check(&bill, 7), None);
        // The store, asked at 7, says that one more call fits in half a second.
        let debt = FULL - SECOND / 2;
        cache.insert(&bill, &debts(debt, 0), 7);
        let last = 7 + SECOND / 2 - 1;
        assert_eq!(cache.check(&bill, 7), Some(debts(debt, 0)));
        assert_eq!(cache.check(&bill, last), Some(debts(FULL - SECOND + 1, 0)));
        assert_eq!(cache.check(&bill, last + 1), None);
    }

    #[test]
    fn only_refusing_buckets_are_cached_and_cheaper_calls_ask_the_store() {
        let cache = SpentCache::new();
        let (spent, free) = (
            Charge::for_tests(1, Level::Key, 60, 10),
            Charge::for_tests(2, Level::Tenant, 60, 1),
        );
        let debt = FULL - 5 * SECOND;
        cache.insert(&Bill::for_tests(&[spent, free]), &debts(debt, debt), 0);
        assert_eq!(cache.check(&Bill::for_tests(&[free]), 0), None);
        let both = Bill::for_tests(&[free, spent]);
        assert_eq!(cache.check(&both, 0), Some(debts(0, debt)));
        let cheaper = Charge::for_tests(1, Level::Key, 60, 1);
        assert_eq!(cache.check(&Bill::for_tests(&[cheaper]), 0), None);
    }

    #[test]
    fn a_raised_limit_admits_calls_as_early_as_the_store_would() {
        let cache = SpentCache::new();
        let before = Charge::for_tests(1, Level::Key, 1, 1);
        cache.insert(&Bill::for_tests(&[before]), &debts(FULL, 0), 0);
        let raised = Bill::for_tests(&[Charge::for_tests(1, Level::Key, 600, 1)]);
        assert!(cache.check(&raised, SECOND / 10 - 1).is_some());
        assert!(cache.check(&raised, SECOND / 10).is_none());
    }

    #[test]
    fn the_cache_is_bounded_and_expired_entries_make_room() {
        let cache = SpentCache::new();
        let charge = Charge::for_tests(1, Level::Session, 60, 1);
        let bill = |number: u128| Bill::for_tests(&[charge.numbered(number)]);
        let most = u128::try_from(MOST).unwrap();
        for number in 0..most + 100 {
            cache.insert(&bill(number), &debts(FULL, 0), 0);
        }
        let kept = |from: u128, now| {
            (from..from + 100)
                .filter(|n| cache.check(&bill(*n), now).is_some())
                .count()
        };
        assert_eq!((kept(0, 0), kept(most, 0)), (100, 0));
        // A full shard is swept at most once a second.
        cache.insert(&bill(most), &debts(FULL, 0), SWEEP);
        cache.insert(&bill(most), &debts(FULL, 0), SWEEP + 1);
        assert_eq!(cache.shard(bill(0).tenant).lock().swept, SWEEP);
        // A minute later all of them are full.
        for number in most..most + 100 {
            cache.insert(&bill(number), &debts(FULL, 0), FULL);
        }
        assert_eq!((kept(0, FULL), kept(most, FULL)), (0, 100));
        cache.clear();
        assert_eq!(kept(most, FULL), 0);
    }
}
