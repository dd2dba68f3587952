//! What a message costs whom, as a list of buckets: the same for the process' and the shared store.
//!
//! A bucket is one number, its theoretical arrival time (GCRA; ITU-T I.371, ATM Forum TM 4.0): when
//! it will be full again if nobody calls. How far that lies ahead is its *debt*, in microseconds of
//! its own refilling; a bucket holds a minute's worth, so a debt is at most 60 s. A store keeps these
//! numbers and does one thing with them, for all charges of a [`Bill`] or for none; what the numbers
//! mean to a caller is said here.
//!
//! What a reader would get wrong: all charges of a bill count the same call in different units. A
//! bucket that refills fast is in debt for a short time by the same cost.

use std::sync::Arc;

use aws_lc_rs::digest;
use uuid::Uuid;

use crate::{auth::Principal, session::SessionKey, terms::Level};

/// What a bucket holds, in microseconds of its refilling.
pub(crate) const FULL: u64 = 60_000_000;
/// The most charges of a bill: a tool's buckets at three levels, the totals of two or three.
pub(crate) const MOST_CHARGES: usize = 6;

/// What a message asks for.
#[derive(Clone, Debug)]
pub(crate) struct Price {
    /// Units of the totals; at least 1.
    pub(crate) weight: u32,
    /// What has limits of its own.
    pub(crate) tool: Option<Tariff>,
}

impl Price {
    /// Of whatever has no price of its own.
    pub(crate) const UNIT: Price = Price {
        weight: 1,
        tool: None,
    };
}

/// A tool or method whose calls are counted.
#[derive(Clone, Debug)]
pub(crate) struct Tariff {
    /// Its name: of the catalogue, never a caller's word.
    pub(crate) name: Arc<str>,
    /// The limit that it states itself, in calls a minute.
    pub(crate) per_minute: Option<u32>,
}

/// Which bucket, to a store: a hash, as a session's key is nobody's to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BucketId([u8; 16]);

impl BucketId {
    /// The bucket of `owner` for the tool, or for everything. What has no fixed length stands behind
    /// its length or at the end: no other bucket's bytes are the same.
    fn new(tenant: Uuid, level: Level, owner: &[u8], tool: Option<&str>) -> Self {
        let length = u32::try_from(owner.len()).unwrap_or(u32::MAX);
        let mut hash = digest::Context::new(&digest::SHA256);
        hash.update(tenant.as_bytes());
        hash.update(&[level as u8]);
        hash.update(&length.to_be_bytes());
        hash.update(owner);
        if let Some(tool) = tool {
            hash.update(b"/");
            hash.update(tool.as_bytes());
        }
        let mut id = [0; 16];
        id.copy_from_slice(
            hash.finish()
                .as_ref()
                .first_chunk::<16>()
                .unwrap_or(&[0; 16]),
        );
        BucketId(id)
    }

    /// The name in a shared store.
    pub(crate) fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// What one bucket is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    pub(crate) id: BucketId,
    pub(crate) level: Level,
    /// The weighted budget of everything, not the tool's.
    pub(crate) total: bool,
    /// Calls, or units of the total, a minute; at least 1.
    pub(crate) limit: u32,
    /// The debt that the call adds, in microseconds: 1 to [`FULL`].
    pub(crate) step: u64,
}

impl Charge {
    /// Whether a bucket of this debt can take the charge.
    pub(crate) fn fits(&self, debt: u64) -> bool {
        debt + self.step <= FULL
    }

    /// How long a bucket of this debt can't, in microseconds.
    pub(super) fn wait(&self, debt: u64) -> u64 {
        (debt + self.step).saturating_sub(FULL)
    }

    /// How many more calls of the same cost a bucket of this debt would take at once.
    pub(super) fn calls_left(&self, debt: u64) -> u64 {
        FULL.saturating_sub(debt) / self.step
    }

    /// The same in calls or units of its limit.
    pub(super) fn units_left(&self, debt: u64) -> u64 {
        FULL.saturating_sub(debt) * u64::from(self.limit) / FULL
    }
}

/// The debt that `cost` is to a bucket of `limit` a minute, in microseconds. What costs more than
/// the bucket holds empties it: a full one takes any call. Rounded down, so that a full bucket
/// takes its whole limit; by that a limit near a million a minute admits up to 2 % more.
fn step(cost: u32, limit: u32) -> u64 {
    let limit = limit.max(1);
    (u64::from(cost.clamp(1, limit)) * FULL / u64::from(limit)).max(1)
}

/// The debts of a bill's charges, in their order; nought where there is no charge.
pub(crate) type Debts = [u64; MOST_CHARGES];

/// What a store says to a bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All charges were spent; the debts with them.
    Passed(Debts),
    /// None was spent; the debts that say why.
    Refused(Debts),
}

/// All that one message costs: spent together, or not at all.
#[derive(Clone, Debug)]
pub(crate) struct Bill {
    /// Whose buckets all of them are.
    pub(crate) tenant: Uuid,
    /// At most [`MOST_CHARGES`]; none where every limit was lifted.
    pub(crate) charges: Vec<Charge>,
    /// What the charges that aren't of the total are of.
    pub(super) tool: Option<Arc<str>>,
}

impl Bill {
    /// What `price` costs this caller, in this session if it is known. `share` says how much of a limit a minute
    /// the store that gets the bill may give away.
    pub(crate) fn new(
        who: &Principal,
        session: Option<SessionKey>,
        price: &Price,
        share: impl Fn(u32) -> u32,
    ) -> Self {
        let (tenant, terms) = (who.tenant_id(), who.terms());
        let mut bill = Bill {
            tenant,
            charges: Vec::with_capacity(MOST_CHARGES),
            tool: price.tool.as_ref().map(|tool| tool.name.clone()),
        };
        for level in Level::ALL {
            let owner = match (level, &session) {
                (Level::Session, None) => continue,
                (Level::Session, Some(session)) => session.as_bytes().as_slice(),
                (Level::Key, _) => who.name().as_bytes(),
                (Level::Tenant, _) => &[],
            };
            let mut charge = |limit: Option<u32>, cost, tool: Option<&str>| {
                let limit = share(limit?);
                bill.charges.push(Charge {
                    id: BucketId::new(tenant, level, owner, tool),
                    level,
                    total: tool.is_none(),
                    limit,
                    step: step(cost, limit),
                });
                Some(())
            };
            if let Some(tool) = &price.tool {
                let limit = terms.of_tool(level, &tool.name, tool.per_minute);
                charge(limit.per_minute, 1, Some(&tool.name));
            }
            charge(terms.of_total(level).per_minute, price.weight, None);
        }
        bill
    }
}
