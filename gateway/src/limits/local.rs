//! The buckets of this process: what is spent when no store is shared.
//!
//! Owns one number a bucket that is not full. They stand in shards by tenant: all buckets of a call
//! are under one lock, and a tenant that calls a lot is in the way of few others. What a reader would
//! miss is a sweep: a bucket is full at most a minute after its last call, so each shard has two
//! generations of buckets, and every minute the older is dropped as a whole, unread.

use std::collections::HashMap;

use parking_lot::Mutex;
use prometheus_client::metrics::{counter::Counter, gauge::Gauge};
use uuid::Uuid;

use super::charge::{Bill, BucketId, Charge, Debts, FULL, MOST_CHARGES, Verdict};
use crate::terms::Level;

const SHARDS: usize = 64;
/// Session buckets of a generation of one shard: a table of these grows in less than a millisecond.
/// Buckets of keys and tenants are few: there are no more than keys times tools.
const MOST_SESSIONS: usize = 28_000;

/// All buckets that are not full.
pub(super) struct Buckets {
    shards: [Mutex<Shard>; SHARDS],
    kept: Gauge,
    unbounded: Counter,
}

impl Buckets {
    /// Tells `kept` how many buckets there are, and `unbounded` of each call of a session that found
    /// no place for a bucket.
    pub(super) fn new(kept: Gauge, unbounded: Counter) -> Self {
        Buckets {
            shards: std::array::from_fn(|_| Mutex::default()),
            kept,
            unbounded,
        }
    }

    /// Spends all charges of the bill or none. `now` is in microseconds of a clock that never goes
    /// back; a little back between threads is no harm.
    pub(super) fn spend(&self, bill: &Bill, now: u64) -> Verdict {
        if bill.charges.is_empty() {
            return Verdict::Passed([0; MOST_CHARGES]);
        }
        let mut shard = self.shard(bill.tenant).lock();
        let before = shard.len();
        let verdict = shard.spend(&bill.charges, now, &self.unbounded);
        self.tell(before, shard.len());
        verdict
    }

    /// Drops the buckets of shards in which nobody spends any more.
    pub(super) fn sweep(&self, now: u64) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let before = shard.len();
            shard.turn(now);
            self.tell(before, shard.len());
        }
    }

    fn shard(&self, tenant: Uuid) -> &Mutex<Shard> {
        // Ids of tenants are random in their last bytes, whatever their version.
        let [.., last] = tenant.into_bytes();
        &self.shards[usize::from(last) % SHARDS]
    }

    fn tell(&self, before: usize, after: usize) {
        let change = i64::try_from(after).unwrap_or(i64::MAX) - i64::try_from(before).unwrap_or(0);
        if change != 0 {
            self.kept.inc_by(change);
        }
    }
}

/// The buckets of some tenants.
#[derive(Default)]
struct Shard {
    /// When the generations last moved on.
    turned: u64,
    young: Generation,
    /// Written before `turned`, if at all.
    old: Generation,
}

/// The arrival times of buckets.
#[derive(Default)]
struct Generation {
    arrivals: HashMap<BucketId, u64>,
    /// How many of them are a session's.
    sessions: usize,
}

impl Shard {
    fn len(&self) -> usize {
        self.young.arrivals.len() + self.old.arrivals.len()
    }

    fn spend(&mut self, charges: &[Charge], now: u64, unbounded: &Counter) -> Verdict {
        self.turn(now);
        let mut debts = self.debts(charges, now);
        let mut both = charges.iter().zip(&debts);
        if !both.all(|(charge, debt)| charge.fits(*debt)) {
            return Verdict::Refused(debts);
        }
        for (charge, debt) in charges.iter().zip(&mut debts) {
            *debt += charge.step;
            if !self.note(charge, now + *debt) {
                unbounded.inc();
            }
        }
        Verdict::Passed(debts)
    }

    /// Drops what has been full since a minute after it was written.
    fn turn(&mut self, now: u64) {
        if now.saturating_sub(self.turned) >= FULL {
            self.old = std::mem::take(&mut self.young);
            if now.saturating_sub(self.turned) >= 2 * FULL {
                self.old = Generation::default();
            }
            self.turned = now;
        }
    }

    fn debts(&self, charges: &[Charge], now: u64) -> Debts {
        let mut debts = [0; MOST_CHARGES];
        for (charge, debt) in charges.iter().zip(&mut debts) {
            let arrival = self.young.arrivals.get(&charge.id);
            let arrival = arrival.or_else(|| self.old.arrivals.get(&charge.id));
            // A limit that was raised or a clock read earlier must not make a debt that never ends.
            *debt = arrival.map_or(0, |at| at.saturating_sub(now).min(FULL));
        }
        debts
    }

    /// Keeps the arrival time of a charge that was spent; whether there was a place.
    fn note(&mut self, charge: &Charge, arrival: u64) -> bool {
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
