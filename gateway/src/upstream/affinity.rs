//! Which workers a project's calls go to: rendezvous hashing, so that worker caches stay warm.
//!
//! Every gateway picks the same two workers of a pool for a project, and a worker that joins or
//! leaves moves only the projects that it gains or had. The hash is FNV-1a over the bytes, finished
//! by `SplitMix64`'s mixer; both are fixed and unkeyed, because gateways of all builds must agree.
//! A tenant gains nothing by choosing project names for their hash: it only concentrates its own
//! calls.

use uuid::Uuid;

/// FNV-1a's offset basis and prime for 64 bits.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The hash of a tenant's project: its calls are fastest on workers that served it before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Affinity(u64);

impl Affinity {
    /// The affinity of a tenant's project, or of its calls that name no project.
    pub(super) fn of(tenant: Uuid, project: Option<&str>) -> Self {
        let tenant = fnv(BASIS, tenant.as_bytes());
        let marked = fnv(tenant, &[u8::from(project.is_some())]);
        Affinity(fnv(marked, project.unwrap_or_default().as_bytes()))
    }

    /// The affinity of calls that belong to no tenant.
    pub(super) fn none() -> Self {
        Affinity(BASIS)
    }

    /// The weight of a worker for this affinity: the two heaviest workers serve it.
    pub(super) fn weight(self, worker: WorkerHash) -> u64 {
        mix(self.0 ^ worker.0)
    }
}

/// A worker's part of the weight, computed once from its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkerHash(u64);

impl WorkerHash {
    pub(super) fn of(address: &str) -> Self {
        WorkerHash(mix(fnv(BASIS, address.as_bytes())))
    }
}

/// The heaviest and the second heaviest item; among equals the first.
pub(super) fn heaviest_two<T>(weighed: impl Iterator<Item = (u64, T)>) -> (Option<T>, Option<T>) {
    let (mut first, mut second) = (None, None);
    for (weight, item) in weighed {
        let over = |held: &Option<(u64, T)>| held.as_ref().is_none_or(|held| weight > held.0);
        if over(&first) {
            second = first.replace((weight, item));
        } else if over(&second) {
            second = Some((weight, item));
        }
    }
    (first.map(|(_, item)| item), second.map(|(_, item)| item))
}

fn fnv(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |state, byte| {
        (state ^ u64::from(*byte)).wrapping_mul(PRIME)
    })
}

/// The finalizer of `SplitMix64` (Steele, Lea, Flood 2014).
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::{collection::btree_set, prelude::*};

    use super::*;

    fn two(affinity: Affinity, workers: &BTreeSet<u32>) -> Vec<u32> {
        let weighed = workers.iter().map(|&worker| {
            let address = format!("http://10.0.0.{worker}:7000");
            (affinity.weight(WorkerHash::of(&address)), worker)
        });
        let (first, second) = heaviest_two(weighed);
        first.into_iter().chain(second).collect()
    }

    proptest! {
        #[test]
        fn a_new_worker_takes_projects_and_moves_no_others(
            workers in btree_set(0..1000u32, 1..20), new in 1000..2000u32, tenant: u128, project: String,
        ) {
            let affinity = Affinity::of(Uuid::from_u128(tenant), Some(&project));
            let before = two(affinity, &workers);
            let mut more = workers.clone();
            more.insert(new);
            let after = two(affinity, &more);
            // The workers chosen now are the ones from before, in the same order, or the new one.
            let stayed: Vec<_> = after.iter().filter(|worker| **worker != new).collect();
            prop_assert!(before.iter().zip(&stayed).all(|(before, stayed)| before == *stayed));
        }

        #[test]
        fn a_removed_worker_moves_only_its_own_projects(
            workers in btree_set(0..1000u32, 3..20), gone in any::<prop::sample::Index>(),
            tenant: u128,
        ) {
            let affinity = Affinity::of(Uuid::from_u128(tenant), None);
            let gone = *gone.get(&workers.iter().copied().collect::<Vec<_>>());
            let before = two(affinity, &workers);
            let mut fewer = workers.clone();
            fewer.remove(&gone);
            let after = two(affinity, &fewer);
            if before.contains(&gone) {
                let left = before.iter().find(|worker| **worker != gone).unwrap();
                prop_assert!(after.contains(left));
            } else {
                prop_assert_eq!(before, after);
            }
        }

        #[test]
        fn the_two_heaviest_are_chosen(weights in prop::collection::vec(any::<u64>(), 0..12)) {
            let (first, second) = heaviest_two(weights.iter().map(|weight| (*weight, *weight)));
            let mut sorted = weights.clone();
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            prop_assert_eq!(first, sorted.first().copied());
            prop_assert_eq!(second, sorted.get(1).copied());
        }
    }

    #[test]
    fn projects_spread_over_the_workers() {
        let workers: BTreeSet<u32> = (0..10).collect();
        let mut had = [0u32; 10];
        for project in 0..10_000 {
            let affinity = Affinity::of(Uuid::from_u128(1), Some(&format!("project-{project}")));
            had[two(affinity, &workers)[0] as usize] += 1;
        }
        assert!(
            had.iter().all(|count| (850..1150).contains(count)),
            "{had:?}"
        );
    }

    #[test]
    fn the_hash_is_the_same_in_every_build() {
        let affinity = Affinity::of(Uuid::from_u128(7), Some("web"));
        let weight = affinity.weight(WorkerHash::of("http://10.0.0.1:7000"));
        assert_eq!(weight, 14_155_690_613_563_110_079);
        assert_ne!(
            Affinity::of(Uuid::nil(), None),
            Affinity::of(Uuid::nil(), Some(""))
        );
    }
}
