//! What the store refused last, so that who goes on calling is refused here.
//!
//! Owns, for each such bucket, when it is full again by this process' clock. Nobody but time makes a
//! debt smaller, and others can only add to it: what doesn't fit by what is known here would not fit
//! by what the store knows. The moment is counted from before the store was asked, so nobody is
//! refused for longer than the store would.

use std::collections::HashMap;

use parking_lot::Mutex;
use uuid::Uuid;

use crate::limits::charge::{Bill, BucketId, Debts, MOST_CHARGES};

const SHARDS: usize = 16;
/// Buckets remembered in a shard: 100,000 in all. Of more the store is asked again.
const MOST: usize = 6_250;
/// Between two looks at all buckets of a full shard for those that can be forgotten, in microseconds.
const SWEEP: u64 = 1_000_000;

/// Buckets that the store says can't take a call.
pub(super) struct KnownSpent([Mutex<Shard>; SHARDS]);

#[derive(Default)]
struct Shard {
    /// When each is full again.
    full: HashMap<BucketId, u64>,
    swept: u64,
}

impl KnownSpent {
    pub(super) fn new() -> Self {
        KnownSpent(std::array::from_fn(|_| Mutex::default()))
    }

    /// The debts that refuse the bill, as far as they are known; `None` if the store is to be asked.
    pub(super) fn check(&self, bill: &Bill, now: u64) -> Option<Debts> {
        let known = &self.shard(bill.tenant).lock().full;
        if known.is_empty() {
            return None;
        }
        let mut debts: Debts = [0; MOST_CHARGES];
        let mut fits = true;
        for (charge, debt) in bill.charges.iter().zip(&mut debts) {
            if let Some(full) = known.get(&charge.id) {
                *debt = full.saturating_sub(now);
                fits &= charge.fits(*debt);
            }
        }
        (!fits).then_some(debts)
    }

    /// Remembers which buckets were why the store, asked at `asked`, refused the bill.
    pub(super) fn remember(&self, bill: &Bill, debts: &Debts, asked: u64) {
        let mut shard = self.shard(bill.tenant).lock();
        if shard.full.len() + MOST_CHARGES > MOST && asked >= shard.swept + SWEEP {
            shard.swept = asked;
            shard.full.retain(|_, full| *full > asked);
        }
        let known = &mut shard.full;
        for (charge, debt) in bill.charges.iter().zip(debts) {
            if !charge.fits(*debt) && known.len() < MOST {
                // Another call may have heard of a later moment; it is as true as this one.
                let full = known.entry(charge.id).or_default();
                *full = (*full).max(asked + debt);
            }
        }
    }

    /// Forgets everything: the store may have lost what it knew.
    pub(super) fn forget(&self) {
        for shard in &self.0 {
            shard.lock().full.clear();
        }
    }

    fn shard(&self, tenant: Uuid) -> &Mutex<Shard> {
        // Ids of tenants are random in their last bytes, whatever their version.
        let [.., last] = tenant.into_bytes();
        &self.0[usize::from(last) % SHARDS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        limits::charge::{Charge, FULL},
        terms::Level,
    };

    const SECOND: u64 = 1_000_000;

    fn debts(first: u64, second: u64) -> Debts {
        [first, second, 0, 0, 0, 0]
    }

    #[test]
    fn a_refused_bucket_refuses_until_the_store_would_let_pass_and_not_a_moment_longer() {
        let known = KnownSpent::new();
        let charge = Charge::for_tests(1, Level::Key, 60, 1);
        let bill = Bill::for_tests(&[charge]);
        assert_eq!(known.check(&bill, 7), None);
        // By the store, asked at 7, one call more would fit in half a second.
        let debt = FULL - SECOND / 2;
        known.remember(&bill, &debts(debt, 0), 7);
        let last = 7 + SECOND / 2 - 1;
        assert_eq!(known.check(&bill, 7), Some(debts(debt, 0)));
        assert_eq!(known.check(&bill, last), Some(debts(FULL - SECOND + 1, 0)));
        assert_eq!(known.check(&bill, last + 1), None);
    }

    #[test]
    fn only_what_refused_is_remembered_and_what_costs_less_is_the_stores_to_judge() {
        let known = KnownSpent::new();
        let (spent, free) = (
            Charge::for_tests(1, Level::Key, 60, 10),
            Charge::for_tests(2, Level::Tenant, 60, 1),
        );
        let debt = FULL - 5 * SECOND;
        known.remember(&Bill::for_tests(&[spent, free]), &debts(debt, debt), 0);
        assert_eq!(known.check(&Bill::for_tests(&[free]), 0), None);
        let both = Bill::for_tests(&[free, spent]);
        assert_eq!(known.check(&both, 0), Some(debts(0, debt)));
        let cheaper = Charge::for_tests(1, Level::Key, 60, 1);
        assert_eq!(known.check(&Bill::for_tests(&[cheaper]), 0), None);
    }

    #[test]
    fn a_limit_that_was_raised_is_in_force_as_soon_as_the_store_says_so() {
        let known = KnownSpent::new();
        let before = Charge::for_tests(1, Level::Key, 1, 1);
        known.remember(&Bill::for_tests(&[before]), &debts(FULL, 0), 0);
        let raised = Bill::for_tests(&[Charge::for_tests(1, Level::Key, 600, 1)]);
        assert!(known.check(&raised, SECOND / 10 - 1).is_some());
        assert!(known.check(&raised, SECOND / 10).is_none());
    }

    #[test]
    fn no_more_is_remembered_than_the_bound_and_what_is_over_makes_room() {
        let known = KnownSpent::new();
        let charge = Charge::for_tests(1, Level::Session, 60, 1);
        let bill = |number: u128| Bill::for_tests(&[charge.numbered(number)]);
        let most = u128::try_from(MOST).unwrap();
        for number in 0..most + 100 {
            known.remember(&bill(number), &debts(FULL, 0), 0);
        }
        let kept = |from: u128, now| {
            (from..from + 100)
                .filter(|n| known.check(&bill(*n), now).is_some())
                .count()
        };
        assert_eq!((kept(0, 0), kept(most, 0)), (100, 0));
        // Who finds no room looks for some once a second.
        known.remember(&bill(most), &debts(FULL, 0), SWEEP);
        known.remember(&bill(most), &debts(FULL, 0), SWEEP + 1);
        assert_eq!(known.shard(bill(0).tenant).lock().swept, SWEEP);
        // A minute later all of them are full.
        for number in most..most + 100 {
            known.remember(&bill(number), &debts(FULL, 0), FULL);
        }
        assert_eq!((kept(0, FULL), kept(most, FULL)), (0, 100));
        known.forget();
        assert_eq!(kept(most, FULL), 0);
    }
}
