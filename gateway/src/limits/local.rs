//! The buckets of this process, charged when no shared store is used.
//!
//! Owns one number for each bucket that is not full. Buckets are sharded by tenant: all buckets of
//! a call are under one lock, and a busy tenant contends with few others. What a reader would miss:
//! no bucket is inspected before it is dropped. A bucket is full at most a minute after its last
//! charge, so each shard has two generations of buckets, and the older generation is dropped unread
//! once it is a minute old: by the next call, or by the sweep of idle shards.

use std::collections::HashMap;

use parking_lot::Mutex;
use prometheus_client::metrics::{counter::Counter, gauge::Gauge};
use uuid::Uuid;

use super::cost::{Bill, BucketId, Charge, Debts, FULL, MOST_CHARGES, Verdict};
use crate::terms::Level;

const SHARDS: usize = 64;
/// Session buckets in one generation of a shard: a table of this size grows in less than a
/// millisecond. Buckets of keys and tenants need no bound; there are at most keys times tools.
const MOST_SESSIONS: usize = 28_000;

/// All buckets that are not full.
pub(super) struct Buckets {
    shards: [Mutex<Shard>; SHARDS],
    count: Gauge,
    unbounded: Counter,
}

impl Buckets {
    /// Keeps the gauge `count` at the number of buckets, and counts in `unbounded` each charge of a
    /// session that got no bucket.
    pub(super) fn new(count: Gauge, unbounded: Counter) -> Self {
        Buckets {
            shards: std::array::from_fn(|_| Mutex::default()),
            count,
            unbounded,
        }
    }

    /// Applies all charges of the bill or none. `now` is in microseconds of a monotonic clock;
    /// threads may read it slightly out of order.
    pub(super) fn spend(&self, bill: &Bill, now: u64) -> Verdict {
        if bill.charges.is_empty() {
            return Verdict::Passed([0; MOST_CHARGES]);
        }
        let mut shard = self.shard(bill.tenant).lock();
        let before = shard.len();
        let verdict = shard.spend(&bill.charges, now, &self.unbounded);
        self.adjust_gauge(before, shard.len());
        verdict
    }

    /// The debts that would refuse the bill now. `None` if it would pass.
    pub(super) fn refusal(&self, bill: &Bill, now: u64) -> Option<Debts> {
        let debts = self.shard(bill.tenant).lock().debts(&bill.charges, now);
        let mut both = bill.charges.iter().zip(&debts);
        let fits = both.all(|(charge, debt)| charge.fits(*debt));
        (!fits).then_some(debts)
    }

    /// Drops expired generations of shards that get no calls.
    pub(super) fn sweep(&self, now: u64) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let before = shard.len();
            shard.rotate(now);
            self.adjust_gauge(before, shard.len());
        }
    }

    fn shard(&self, tenant: Uuid) -> &Mutex<Shard> {
        // The last byte of a tenant's id is random, whatever the UUID version.
        let [.., last] = tenant.into_bytes();
        &self.shards[usize::from(last) % SHARDS]
    }

    fn adjust_gauge(&self, before: usize, after: usize) {
        let change = i64::try_from(after).unwrap_or(i64::MAX) - i64::try_from(before).unwrap_or(0);
        if change != 0 {
            self.count.inc_by(change);
        }
    }
}

/// The buckets of the tenants of one shard.
#[derive(Default)]
struct Shard {
    /// When `young` last became `old`.
    rotated: u64,
    young: Generation,
    /// Buckets last charged before `rotated`.
    old: Generation,
}

/// Theoretical arrival times by bucket.
#[derive(Default)]
struct Generation {
    arrivals: HashMap<BucketId, u64>,
    /// How many of them belong to sessions.
    sessions: usize,
}

impl Shard {
    fn len(&self) -> usize {
        self.young.arrivals.len() + self.old.arrivals.len()
    }

    fn spend(&mut self, charges: &[Charge], now: u64, unbounded: &Counter) -> Verdict {
        self.rotate(now);
        let mut debts = self.debts(charges, now);
        let mut both = charges.iter().zip(&debts);
        if !both.all(|(charge, debt)| charge.fits(*debt)) {
            return Verdict::Refused(debts);
        }
        for (charge, debt) in charges.iter().zip(&mut debts) {
            *debt += charge.step;
            if !self.store(charge, now + *debt) {
                unbounded.inc();
            }
        }
        Verdict::Passed(debts)
    }

    /// Drops generations in which every bucket is full: those last written a minute ago or earlier.
    fn rotate(&mut self, now: u64) {
        if now.saturating_sub(self.rotated) >= FULL {
            self.old = std::mem::take(&mut self.young);
            if now.saturating_sub(self.rotated) >= 2 * FULL {
                self.old = Generation::default();
            }
            self.rotated = now;
        }
    }

    fn debts(&self, charges: &[Charge], now: u64) -> Debts {
        let mut debts = [0; MOST_CHARGES];
        for (charge, debt) in charges.iter().zip(&mut debts) {
            let arrival = self.young.arrivals.get(&charge.id);
            let arrival = arrival.or_else(|| self.old.arrivals.get(&charge.id));
            // Clamped: a raised limit or an earlier clock reading must not leave a debt that never
            // ends.
            *debt = arrival.map_or(0, |at| at.saturating_sub(now).min(FULL));
        }
        debts
    }

    /// Stores a bucket's new arrival time. False if there was no room.
    fn store(&mut self, charge: &Charge, arrival: u64) -> bool {
        let young = &mut self.young;
        if let Some(at) = young.arrivals.get_mut(&charge.id) {
            *at = arrival;
            return true;
        }
        if charge.level == Level::Session {
            if young.sessions >= MOST_SESSIONS {
                return false;
            }
            young.sessions += 1;
        }
        young.arrivals.insert(charge.id, arrival);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, test_runner::TestCaseError};

    use super::*;

    const SECOND: u64 = 1_000_000;

    fn buckets() -> Buckets {
        Buckets::new(Gauge::default(), Counter::default())
    }

    fn passes(buckets: &Buckets, charges: &[Charge], now: u64) -> bool {
        let bill = Bill::for_tests(charges);
        matches!(buckets.spend(&bill, now), Verdict::Passed(_))
    }

    #[test]
    fn a_full_bucket_admits_its_limit_at_once_and_then_one_by_one() {
        let (buckets, charge) = (buckets(), [Charge::for_tests(1, Level::Key, 60, 1)]);
        let at_once = (0..100).filter(|_| passes(&buckets, &charge, 0)).count();
        assert_eq!(at_once, 60);
        assert!(!passes(&buckets, &charge, SECOND - 1));
        assert!(passes(&buckets, &charge, SECOND) && !passes(&buckets, &charge, SECOND));
    }

    #[test]
    fn a_refusal_is_predicted_without_a_charge() {
        let (buckets, charge) = (buckets(), [Charge::for_tests(1, Level::Key, 60, 30)]);
        let bill = Bill::for_tests(&charge);
        for left in [true, true, false] {
            assert_eq!(buckets.refusal(&bill, 0).is_none(), left);
            assert_eq!(buckets.refusal(&bill, 0).is_none(), left);
            assert_eq!(passes(&buckets, &charge, 0), left);
        }
        assert!(buckets.refusal(&bill, 30 * SECOND - 1).is_some());
        assert!(buckets.refusal(&bill, 30 * SECOND).is_none());
        assert!(buckets.refusal(&Bill::for_tests(&[]), 0).is_none());
    }

    #[test]
    fn a_refusal_charges_no_bucket() {
        let buckets = buckets();
        let wide = Charge::for_tests(1, Level::Tenant, 60, 1);
        let narrow = Charge::for_tests(2, Level::Session, 1, 1);
        assert!(passes(&buckets, &[narrow, wide], 0));
        for _ in 0..100 {
            assert!(!passes(&buckets, &[narrow, wide], 0));
        }
        let left = (0..100).filter(|_| passes(&buckets, &[wide], 0)).count();
        assert_eq!(left, 59);
    }

    #[test]
    fn sessions_beyond_the_bound_have_only_their_keys_limits() {
        let buckets = buckets();
        let session = |number| Charge::for_tests(0, Level::Session, 1, 1).numbered(number);
        let most = MOST_SESSIONS as u128;
        for number in 1..=most {
            assert!(passes(&buckets, &[session(number)], 0));
        }
        assert!(!passes(&buckets, &[session(most)], 0));
        let key = Charge::for_tests(0, Level::Key, 10, 1);
        let late = (0..100).filter(|_| passes(&buckets, &[session(most + 1), key], 0));
        assert_eq!(late.count(), 10);
        assert_eq!(buckets.unbounded.get(), 10);
        assert_eq!(buckets.count.get(), i64::try_from(most).unwrap() + 1);
    }

    #[test]
    fn a_flood_of_sessions_fills_two_generations_at_most() {
        let buckets = buckets();
        for number in 0..200_000_u32 {
            let session = Charge::for_tests(0, Level::Session, 1, 1).numbered(number.into());
            assert!(passes(&buckets, &[session], u64::from(number) * 1_000));
        }
        let count = usize::try_from(buckets.count.get()).unwrap();
        assert!(count <= 2 * MOST_SESSIONS, "{count}");
        // Two tables of 32,768 slots, each an entry and a control byte: 1.6 MiB.
        assert_eq!(size_of::<(BucketId, u64)>(), 24);
    }

    #[test]
    fn full_buckets_are_dropped_by_calls_and_by_the_sweep() {
        let (buckets, charge) = (buckets(), [Charge::for_tests(1, Level::Key, 1, 1)]);
        assert!(passes(&buckets, &charge, 70 * SECOND));
        assert_eq!(buckets.count.get(), 1);
        // A generation rotates by its youngest bucket, so this one stays for another minute.
        buckets.sweep(129 * SECOND);
        assert!(!passes(&buckets, &charge, 129 * SECOND));
        buckets.sweep(130 * SECOND);
        buckets.sweep(190 * SECOND);
        assert_eq!(buckets.count.get(), 0);
        assert!(passes(&buckets, &charge, 190 * SECOND));
    }

    /// Which of four buckets (with fixed limits and costs) to charge, as bits, and milliseconds to
    /// wait before.
    fn asked() -> impl Strategy<Value = Vec<(u8, u64)>> {
        let pause = prop_oneof![8 => 0..300_u64, 1 => 0..20_000_u64, 1 => 50_000..130_000_u64];
        vec((1..16_u8, pause), 1..200)
    }

    fn charges(of: u8) -> Vec<Charge> {
        let all = [
            Charge::for_tests(1, Level::Session, 3, 1),
            Charge::for_tests(2, Level::Key, 7, 1),
            Charge::for_tests(3, Level::Key, 60, 5),
            Charge::for_tests(4, Level::Tenant, 1_200, 100),
        ];
        let of = all
            .into_iter()
            .enumerate()
            .filter(|(bit, _)| of & (1 << bit) != 0);
        of.map(|(_, charge)| charge).collect()
    }

    proptest! {
        /// Compared with a model that never forgets and always applies the charges.
        #[test]
        fn all_charges_apply_or_none_and_dropped_buckets_admit_no_more(asked in asked()) {
            let (buckets, mut arrivals) = (buckets(), HashMap::<BucketId, u64>::new());
            let mut now = 0;
            for (of, pause) in asked {
                now += pause * 1_000;
                let charges = charges(of);
                let after = |charge: &Charge| {
                    arrivals.get(&charge.id).map_or(now, |at| now.max(*at)) + charge.step
                };
                let after: Vec<_> = charges.iter().map(after).collect();
                let expected = after.iter().all(|at| *at <= now + FULL);
                prop_assert_eq!(passes(&buckets, &charges, now), expected);
                if expected {
                    arrivals.extend(charges.iter().map(|charge| charge.id).zip(after));
                }
            }
        }

        #[test]
        fn no_window_admits_more_than_the_limit_plus_the_refill(asked in asked()) {
            let (buckets, mut passed) = (buckets(), HashMap::<BucketId, Vec<(u64, u64)>>::new());
            let mut now = 0;
            for (of, pause) in asked {
                now += pause * 1_000;
                let charges = charges(of);
                if passes(&buckets, &charges, now) {
                    for charge in charges {
                        passed.entry(charge.id).or_default().push((now, charge.step));
                    }
                }
            }
            for calls in passed.values() {
                windows_hold(calls)?;
            }
        }
    }

    /// `calls` are moments and the charges applied then, in microseconds.
    fn windows_hold(calls: &[(u64, u64)]) -> Result<(), TestCaseError> {
        for (first, (begin, _)) in calls.iter().enumerate() {
            let mut spent = 0;
            for (at, step) in calls.iter().skip(first) {
                spent += step;
                prop_assert!(
                    spent <= FULL + (at - begin),
                    "{} µs in {}",
                    spent,
                    at - begin
                );
            }
        }
        Ok(())
    }
}
