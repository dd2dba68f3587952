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
/// Buckets remembered in a shard; 100,000 in all. Of more the store is asked again.
const MOST: usize = 6_250;

/// Buckets that the store says can't take a call.
pub(super) struct Refused([Mutex<HashMap<BucketId, u64>>; SHARDS]);

impl Refused {
    pub(super) fn new() -> Self {
        Refused(std::array::from_fn(|_| Mutex::default()))
    }

    /// The debts that refuse the bill, as far as they are known; `None` if the store is to be asked.
    pub(super) fn check(&self, bill: &Bill, now: u64) -> Option<Debts> {
        let mut known = self.shard(bill.tenant).lock();
        if known.is_empty() {
            return None;
        }
        let mut debts: Debts = [0; MOST_CHARGES];
        let mut fits = true;
        for (charge, debt) in bill.charges.iter().zip(&mut debts) {
            let Some(full) = known.get(&charge.id) else {
                continue;
            };
            *debt = full.saturating_sub(now);
            fits &= charge.fits(*debt);
            // One that can take a call again is the store's to judge.
            if charge.fits(*debt) {
                known.remove(&charge.id);
            }
        }
        (!fits).then_some(debts)
    }

    /// Remembers which buckets were why the store, asked at `asked`, refused the bill.
    pub(super) fn remember(&self, bill: &Bill, debts: &Debts, asked: u64) {
        let mut known = self.shard(bill.tenant).lock();
        if known.len() >= MOST {
            known.retain(|_, full| *full > asked);
        }
        for (charge, debt) in bill.charges.iter().zip(debts) {
            if !charge.fits(*debt) && known.len() < MOST {
                known.insert(charge.id, asked + debt);
            }
        }
    }

    /// Forgets everything: the store may have lost what it knew.
    pub(super) fn forget(&self) {
        for shard in &self.0 {
            shard.lock().clear();
        }
    }

    fn shard(&self, tenant: Uuid) -> &Mutex<HashMap<BucketId, u64>> {
        // Ids of tenants are random in their last bytes, whatever their version.
        let [.., last] = tenant.into_bytes();
        &self.0[usize::from(last) % SHARDS]
    }
}
