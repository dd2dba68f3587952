//! What a message costs, as a list of bucket charges. The local buckets and the shared store use
//! the same list.
//!
//! A bucket is one number, its theoretical arrival time (GCRA; ITU-T I.371, ATM Forum TM 4.0): the
//! moment at which it is full again if nobody calls. The distance to that moment is the bucket's
//! *debt*, in microseconds of its own refill time. A bucket holds one minute's worth, so a debt is
//! at most 60 s. A store keeps these numbers and applies all charges of a [`Bill`] or none; this
//! file defines what the numbers mean to a caller.
//!
//! What a reader would get wrong: the charges of one bill count the same call in different units.
//! The same cost puts a fast-refilling bucket into debt for a shorter time.

use std::sync::Arc;

use aws_lc_rs::digest;
use uuid::Uuid;

use crate::{
    caller::{Principal, SessionKey},
    terms::Level,
};

/// Capacity of a bucket, in microseconds of refill time.
pub(crate) const FULL: u64 = 60_000_000;
/// The most charges of a bill: a tool's buckets at three levels, plus the totals of up to three.
pub(crate) const MOST_CHARGES: usize = 6;

/// Initial capacity, in bytes, of the buffer that a bucket's id is hashed from. Longer names are
/// rare.
const LONGEST_NAME: usize = 128;

/// What a message costs.
#[derive(Clone, Debug)]
pub(crate) struct MessageCost {
    /// Units charged to the totals; at least 1.
    pub(crate) weight: u32,
    /// The tool or method whose own buckets are charged as well.
    pub(crate) tool: Option<CountedTool>,
}

impl MessageCost {
    /// The cost of a message whose method defines none.
    pub(crate) const UNIT: MessageCost = MessageCost {
        weight: 1,
        tool: None,
    };
}

/// A tool or method whose calls have limits of their own.
#[derive(Clone, Debug)]
pub(crate) struct CountedTool {
    /// The name from the catalog, never text that a caller sent.
    pub(crate) name: Arc<str>,
    /// The limit that the tool declares, in calls a minute.
    pub(crate) per_minute: Option<u32>,
}

/// Identifies a bucket to a store. A hash, because a session's key is secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BucketId([u8; 16]);

impl BucketId {
    /// The bucket of `owner` for the tool, or for the total. Variable-length parts are prefixed
    /// with their length or come last, so that no two buckets hash the same bytes.
    fn new(tenant: Uuid, level: Level, owner: &[u8], tool: Option<&str>) -> Self {
        let length = u32::try_from(owner.len()).unwrap_or(u32::MAX);
        // Hashed in one piece: feeding a digest piece by piece takes three times as long.
        let mut name = Vec::with_capacity(LONGEST_NAME);
        name.extend_from_slice(tenant.as_bytes());
        name.push(tag(level));
        name.extend_from_slice(&length.to_be_bytes());
        name.extend_from_slice(owner);
        if let Some(tool) = tool {
            name.push(b'/');
            name.extend_from_slice(tool.as_bytes());
        }
        let digest = digest::digest(&digest::SHA256, &name);
        let mut id = [0; 16];
        id.copy_from_slice(digest.as_ref().first_chunk::<16>().unwrap_or(&[0; 16]));
        BucketId(id)
    }

    /// The id in a shared store.
    pub(crate) fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// The byte that encodes a level in a bucket's id. Gateways of other builds share these buckets, so
/// the values never change.
fn tag(level: Level) -> u8 {
    match level {
        Level::Session => 0,
        Level::Key => 1,
        Level::Tenant => 2,
    }
}

/// A charge to one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    pub(crate) id: BucketId,
    pub(crate) level: Level,
    /// Whether this is the weighted total rather than the tool's own bucket.
    pub(crate) total: bool,
    /// Calls, or units of the total, a minute; at least 1.
    pub(crate) limit: u32,
    /// The debt that the call adds, in microseconds: 1 to [`FULL`].
    pub(crate) step: u64,
}

impl Charge {
    /// Whether a bucket with this debt can take the charge.
    pub(crate) fn fits(&self, debt: u64) -> bool {
        debt + self.step <= FULL
    }

    /// Time until a bucket with this debt can take the charge, in microseconds.
    pub(super) fn wait(&self, debt: u64) -> u64 {
        (debt + self.step).saturating_sub(FULL)
    }

    /// How many more calls of the same cost a bucket with this debt would admit at once.
    pub(super) fn calls_left(&self, debt: u64) -> u64 {
        FULL.saturating_sub(debt) / self.step
    }
}

/// The debt that `cost` adds to a bucket of `limit` a minute, in microseconds. A cost above the
/// limit empties the bucket, so a full bucket admits any single call. Rounded down, so that a full
/// bucket admits its whole limit; for limits near a million a minute this admits up to 2 % more.
fn step(cost: u32, limit: u32) -> u64 {
    let limit = limit.max(1);
    (u64::from(cost.clamp(1, limit)) * FULL / u64::from(limit)).max(1)
}

/// The debts of a bill's buckets, in the order of its charges; 0 where there is no charge.
pub(crate) type Debts = [u64; MOST_CHARGES];

/// A store's decision on a bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All charges were applied. Holds the debts afterwards.
    Passed(Debts),
    /// No charge was applied. Holds the debts that caused it.
    Refused(Debts),
}

/// Everything that one message is charged: applied together or not at all.
#[derive(Clone, Debug)]
pub(crate) struct Bill {
    /// The tenant that owns all the buckets.
    pub(crate) tenant: Uuid,
    /// At most [`MOST_CHARGES`]; empty where every limit was lifted.
    pub(crate) charges: Vec<Charge>,
    /// The tool or method of the charges that are not of the total.
    pub(super) tool: Option<Arc<str>>,
}

impl Bill {
    /// The charges of `cost` for this caller, and for its session if that is known. `share` maps a
    /// limit a minute to the part that the charged store may grant.
    pub(crate) fn new(
        who: &Principal,
        session: Option<SessionKey>,
        price: &MessageCost,
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use archway_proto::catalog::Scope;

    use super::*;
    use crate::session::Session;

    impl Charge {
        /// A charge to one of a few buckets.
        pub(in crate::limits) fn for_tests(
            bucket: u8,
            level: Level,
            limit: u32,
            cost: u32,
        ) -> Self {
            Charge {
                id: BucketId([bucket; 16]),
                level,
                total: false,
                limit,
                step: step(cost, limit),
            }
        }

        /// The same charge to another bucket.
        pub(in crate::limits) fn numbered(mut self, bucket: u128) -> Self {
            self.id = BucketId(bucket.to_be_bytes());
            self
        }
    }

    impl Bill {
        pub(in crate::limits) fn for_tests(charges: &[Charge]) -> Self {
            Bill {
                tenant: Uuid::from_u128(1),
                charges: charges.to_vec(),
                tool: Some(Arc::from("hello")),
            }
        }
    }

    fn price(tool: &str, weight: u32) -> MessageCost {
        MessageCost {
            weight,
            tool: Some(CountedTool {
                name: Arc::from(tool),
                per_minute: Some(60),
            }),
        }
    }

    fn bill(who: &Principal, price: &MessageCost) -> Bill {
        let session = Session::own(who).key;
        Bill::new(who, Some(session), price, |limit| limit)
    }

    #[test]
    fn a_full_bucket_admits_exactly_its_limit_and_any_single_call() {
        for limit in [1, 2, 7, 59, 60, 100, 1_200, 12_000, 1_000_000] {
            let step = step(1, limit);
            let (all, one_more) = (u64::from(limit) * step, u64::from(limit + 1) * step);
            assert!(all <= FULL && one_more > FULL, "{limit}");
        }
        assert_eq!((step(10, 3), step(0, 60)), (FULL, step(1, 60)));
        assert_eq!((step(1, u32::MAX), step(1, 0)), (1, FULL));
    }

    #[test]
    fn a_call_is_charged_to_its_tool_and_the_total_at_each_level() {
        let who = Principal::for_tests(&[Scope::ToolsRead], None);
        let charged = bill(&who, &price("grep_codebase", 5));
        let charged: Vec<_> = charged
            .charges
            .iter()
            .map(|charge| (charge.level, charge.total, charge.limit, charge.step))
            .collect();
        let expected = [
            (Level::Session, false, 60, 1_000_000),
            (Level::Key, false, 60, 1_000_000),
            (Level::Key, true, 1_200, 250_000),
            (Level::Tenant, false, 600, 100_000),
            (Level::Tenant, true, 12_000, 25_000),
        ];
        assert_eq!(charged, expected);
    }

    #[test]
    fn buckets_differ_by_owner_level_and_tool_only() {
        let who = Principal::for_tests(&[Scope::ToolsRead], None);
        let other = Principal::named_for_tests("key:2");
        let ids = |who: &Principal, tool: &str| -> Vec<BucketId> {
            let bill = bill(who, &price(tool, 1));
            bill.charges.iter().map(|charge| charge.id).collect()
        };
        assert_eq!(ids(&who, "a"), ids(&who, "a"));
        let mut all: Vec<_> = ids(&who, "a");
        all.extend(ids(&who, "total"));
        all.extend(ids(&other, "a"));
        // 15 ids in all. The key's total occurs twice, the tenant's total three times, and the
        // tenant's bucket of tool `a` twice.
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 11);
    }

    #[test]
    fn a_buckets_id_is_the_same_in_every_build() {
        let id = |level, owner, tool| {
            let id = BucketId::new(Uuid::from_u128(7), level, owner, tool);
            u128::from_be_bytes(*id.as_bytes())
        };
        let session = id(Level::Session, &[5; 3], Some("hello"));
        assert_eq!(session, 0x2e4b_9383_8031_fd9e_aa5c_f939_66a9_0724);
        let key = id(Level::Key, b"key:1", Some("hello"));
        assert_eq!(key, 0x42f0_65dc_50d6_9607_9221_d59a_0d57_3804);
        assert_eq!(
            id(Level::Tenant, &[], None),
            0xed63_3599_fb00_53e5_222e_ac89_f531_48d7
        );
    }

    #[test]
    fn a_message_without_a_session_is_charged_to_its_key_and_tenant() {
        let who = Principal::for_tests(&[Scope::ToolsRead], None);
        let bill = Bill::new(&who, None, &price("hello", 1), |limit| limit / 2);
        let limits: Vec<_> = bill.charges.iter().map(|charge| charge.limit).collect();
        assert_eq!(limits, [30, 600, 300, 6_000]);
    }
}
