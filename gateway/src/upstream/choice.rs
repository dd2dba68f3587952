//! Which workers a project's calls go to: rendezvous hashing, so that caches stay warm.
//!
//! Every gateway gives a project the same two workers of the same pool, and a worker that comes or
//! goes moves only the projects it takes or had. The hash is FNV-1a over the bytes, finished by
//! `SplitMix64`'s mixer; both are fixed, without keys: gateways of all builds have to agree.
//! Nobody gains by steering it: a tenant's choice of project names only crowds its own calls.

use uuid::Uuid;

/// FNV-1a's offset basis and prime, for 64 bits.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// What is served best by the workers that served it before: a project of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Affinity(u64);

impl Affinity {
    /// Of a tenant's project, or of its calls that name none.
    pub(super) fn of(tenant: Uuid, project: Option<&str>) -> Self {
        let tenant = fnv(BASIS, tenant.as_bytes());
        let marked = fnv(tenant, &[u8::from(project.is_some())]);
        Affinity(fnv(marked, project.unwrap_or_default().as_bytes()))
    }

    /// Of what belongs to nobody.
    pub(super) fn none() -> Self {
        Affinity(BASIS)
    }

    /// How much a worker weighs for it: the heaviest are its own.
    pub(super) fn weight(self, worker: WorkerHash) -> u64 {
        mix(self.0 ^ worker.0)
    }
}

/// A worker's part of the weight: made once from its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkerHash(u64);

impl WorkerHash {
    pub(super) fn of(address: &str) -> Self {
        WorkerHash(mix(fnv(BASIS, address.as_bytes())))
    }
}

/// The heaviest and the second heaviest of what is given; of equals the first.
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

/// The finaliser of `SplitMix64` (Steele, Lea, Flood 2014).
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
        fn a_worker_that_comes_takes_projects_and_moves_no_others(
            workers in btree_set(0..1000u32, 1..20), new in 1000..2000u32, tenant: u128, project: String,
        ) {
            let affinity = Affinity::of(Uuid::from_u128(tenant), Some(&project));
            let before = two(affinity, &workers);
            let mut more = workers.clone();
            more.insert(new);
            let after = two(affinity, &more);
            // Whoever is there now was there before, in the same order, or is the new one.
            let stayed: Vec<_> = after.iter().filter(|worker| **worker != new).collect();
            prop_assert!(before.iter().zip(&stayed).all(|(before, stayed)| before == *stayed));
        }

        #[test]
        fn a_worker_that_goes_moves_only_its_own_projects(
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
        fn the_two_are_the_heaviest(weights in prop::collection::vec(any::<u64>(), 0..12)) {
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
