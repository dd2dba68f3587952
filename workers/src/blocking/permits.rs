//! A number of permits, granted round robin over tenants. Plain state, without waiting.
//!
//! A free permit goes to the tenant that holds fewest. Ties go to the tenant that has waited
//! longest since it arrived or was last granted a permit. Within a tenant, permits go in order of
//! arrival. So a tenant alone may hold as many as one tenant may, and the next permit goes to the
//! next tenant that arrives.
//!
//! No permit is free while a waiter may have it. A tenant is stored only while it holds or awaits a
//! permit.

use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;

/// The permits of all tenants. `W` is the handle that wakes a waiter.
pub(super) struct FairPermits<W> {
    free: usize,
    /// Maximum number of permits of one tenant.
    most_each: usize,
    tenants: HashMap<Uuid, TenantQueue<W>>,
    /// Counts arrivals and grants: it yields tickets and the order of tenants.
    clock: u64,
}

/// One tenant's permits and waiters.
struct TenantQueue<W> {
    held: usize,
    /// By ticket, so oldest first.
    waiting: BTreeMap<u64, W>,
    /// When the tenant was last granted a permit, or began to wait if that was later.
    since: u64,
}

impl<W> FairPermits<W> {
    /// `permits` permits, of which one tenant may hold `most_each`. Both are at least 1.
    pub(super) fn new(permits: usize, most_each: usize) -> Self {
        FairPermits {
            free: permits,
            most_each,
            tenants: HashMap::new(),
            clock: 0,
        }
    }

    /// Acquires a permit for `tenant` if it may have one now.
    pub(super) fn try_acquire(&mut self, tenant: Uuid) -> bool {
        let held = self.tenants.get(&tenant).map_or(0, |queue| queue.held);
        let may = self.free > 0 && held < self.most_each;
        if may {
            self.grant(tenant);
        }
        may
    }

    /// Adds `waiter` after [`FairPermits::try_acquire`] returned false. Returns its ticket.
    pub(super) fn wait(&mut self, tenant: Uuid, waiter: W) -> u64 {
        self.clock += 1;
        let queue = self.tenants.entry(tenant).or_default();
        if queue.waiting.is_empty() {
            queue.since = self.clock;
        }
        queue.waiting.insert(self.clock, waiter);
        self.clock
    }

    /// Removes the waiter of `ticket`. Returns `None` if it was granted a permit.
    pub(super) fn leave(&mut self, tenant: Uuid, ticket: u64) -> Option<W> {
        let left = self.tenants.get_mut(&tenant)?.waiting.remove(&ticket);
        self.forget_idle(tenant);
        left
    }

    /// Releases a permit of `tenant`. Returns the waiter that is granted one.
    pub(super) fn release(&mut self, tenant: Uuid) -> Option<(Uuid, W)> {
        self.free += 1;
        if let Some(queue) = self.tenants.get_mut(&tenant) {
            queue.held -= 1;
        }
        let next = self.grant_next();
        self.forget_idle(tenant);
        next
    }

    fn grant_next(&mut self) -> Option<(Uuid, W)> {
        let may =
            |queue: &&mut TenantQueue<W>| !queue.waiting.is_empty() && queue.held < self.most_each;
        let queues = self.tenants.iter_mut();
        let (tenant, queue) = queues
            .filter(|(_, queue)| may(queue))
            .min_by_key(|(_, queue)| (queue.held, queue.since))?;
        let tenant = *tenant;
        let (_ticket, waiter) = queue.waiting.pop_first()?;
        self.grant(tenant);
        Some((tenant, waiter))
    }

    fn grant(&mut self, tenant: Uuid) {
        self.free -= 1;
        self.clock += 1;
        let queue = self.tenants.entry(tenant).or_default();
        queue.held += 1;
        queue.since = self.clock;
    }

    fn forget_idle(&mut self, tenant: Uuid) {
        let idle = |queue: &TenantQueue<W>| queue.held == 0 && queue.waiting.is_empty();
        if self.tenants.get(&tenant).is_some_and(idle) {
            self.tenants.remove(&tenant);
        }
    }
}

impl<W> Default for TenantQueue<W> {
    fn default() -> Self {
        TenantQueue {
            held: 0,
            waiting: BTreeMap::new(),
            since: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const A: Uuid = Uuid::from_u128(1);
    const B: Uuid = Uuid::from_u128(2);
    const C: Uuid = Uuid::from_u128(3);

    /// Permits that are all held by A.
    fn full(permits: usize) -> FairPermits<&'static str> {
        let mut full = FairPermits::new(permits, permits);
        assert!((0..permits).all(|_| full.try_acquire(A)));
        assert!(!full.try_acquire(A) && !full.try_acquire(B));
        full
    }

    #[test]
    fn permits_go_round_robin_over_tenants_in_order_of_arrival() {
        let mut permits = full(1);
        for (tenant, waiter) in [(A, "a1"), (A, "a2"), (B, "b1"), (B, "b2"), (C, "c1")] {
            permits.wait(tenant, waiter);
        }
        let mut held = A;
        let order = std::iter::from_fn(|| {
            let (tenant, waiter) = permits.release(held)?;
            held = tenant;
            Some(waiter)
        });
        assert_eq!(order.collect::<Vec<_>>(), ["a1", "b1", "c1", "a2", "b2"]);
        assert!(permits.tenants.is_empty());
    }

    #[test]
    fn the_next_free_permit_goes_to_the_tenant_that_holds_fewest() {
        let mut permits = full(3);
        for waiter in ["a1", "a2", "a3"] {
            permits.wait(A, waiter);
        }
        permits.wait(B, "b1");
        permits.wait(B, "b2");
        assert_eq!(permits.release(A), Some((B, "b1")));
        // One each: A's last grant was before B's.
        assert_eq!(permits.release(A), Some((A, "a1")));
        assert_eq!(permits.release(A), Some((B, "b2")));
        assert_eq!(permits.release(A), Some((A, "a2")));
    }

    #[test]
    fn a_tenant_at_its_maximum_leaves_permits_free_for_others() {
        let mut permits = FairPermits::new(4, 3);
        assert!((0..3).all(|_| permits.try_acquire(A)));
        assert!(!permits.try_acquire(A));
        permits.wait(A, "a1");
        assert!(permits.try_acquire(B));
        assert_eq!(permits.release(B), None);
        assert_eq!(permits.release(A), Some((A, "a1")));
    }

    #[test]
    fn a_waiter_that_left_is_skipped() {
        let mut permits = full(1);
        let ticket = permits.wait(B, "b1");
        permits.wait(A, "a1");
        assert_eq!(permits.leave(B, ticket), Some("b1"));
        assert_eq!(permits.leave(B, ticket), None);
        assert_eq!(permits.release(A), Some((A, "a1")));
        assert_eq!(permits.release(A), None);
        assert!(permits.tenants.is_empty());
    }

    #[derive(Clone, Debug)]
    enum Step {
        Arrive(u128),
        Finish(prop::sample::Index),
        Leave(prop::sample::Index),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0..5_u128).prop_map(Step::Arrive),
            2 => any::<prop::sample::Index>().prop_map(Step::Finish),
            1 => any::<prop::sample::Index>().prop_map(Step::Leave),
        ]
    }

    /// The effect of the steps, as callers observe it.
    struct Simulation {
        permits: FairPermits<u64>,
        total: usize,
        most_each: usize,
        /// The tenant of each held permit.
        held: Vec<Uuid>,
        /// Waiters, oldest first: tenant, number, ticket.
        waiting: Vec<(Uuid, u64, u64)>,
        /// (waiter, tenant that was granted a permit meanwhile), while the first holds none.
        overtaken: Vec<(Uuid, Uuid)>,
        arrivals: u64,
    }

    impl Simulation {
        fn holds(&self, tenant: Uuid) -> usize {
            self.held.iter().filter(|holder| **holder == tenant).count()
        }

        fn try_acquire(&mut self, step: &Step) {
            match step {
                Step::Arrive(tenant) => self.arrive(Uuid::from_u128(*tenant)),
                Step::Finish(index) if !self.held.is_empty() => {
                    let tenant = self.held.swap_remove(index.index(self.held.len()));
                    if let Some((next, number)) = self.permits.release(tenant) {
                        self.granted(next, number);
                    }
                }
                Step::Leave(index) if !self.waiting.is_empty() => {
                    let at = index.index(self.waiting.len());
                    let (tenant, number, ticket) = self.waiting.remove(at);
                    assert_eq!(self.permits.leave(tenant, ticket), Some(number));
                    self.forget_overtaking(tenant);
                }
                Step::Finish(_) | Step::Leave(_) => {}
            }
        }

        fn arrive(&mut self, tenant: Uuid) {
            self.arrivals += 1;
            if self.permits.try_acquire(tenant) {
                self.held.push(tenant);
            } else {
                let ticket = self.permits.wait(tenant, self.arrivals);
                self.waiting.push((tenant, self.arrivals, ticket));
            }
        }

        fn granted(&mut self, tenant: Uuid, number: u64) {
            let fewest = self
                .waiting
                .iter()
                .map(|(other, ..)| self.holds(*other))
                .min();
            assert_eq!(Some(self.holds(tenant)), fewest, "another held fewer");
            let oldest = self.waiting.iter().position(|(other, ..)| *other == tenant);
            let (_, first, _) = self.waiting.remove(oldest.unwrap());
            assert_eq!(first, number, "not the tenant's oldest");
            self.held.push(tenant);
            self.overtaken.retain(|(waits, _)| *waits != tenant);
            let mut others: Vec<Uuid> = self.waiting.iter().map(|(other, ..)| *other).collect();
            others.sort_unstable();
            others.dedup();
            for other in others {
                if other != tenant && self.holds(other) == 0 {
                    assert!(
                        !self.overtaken.contains(&(other, tenant)),
                        "overtaken twice"
                    );
                    self.overtaken.push((other, tenant));
                }
            }
        }

        fn forget_overtaking(&mut self, tenant: Uuid) {
            if self.waiting.iter().all(|(other, ..)| *other != tenant) {
                self.overtaken.retain(|(waits, _)| *waits != tenant);
            }
        }

        fn check(&self) {
            assert!(self.held.len() <= self.total);
            let full = self.held.len() == self.total;
            for (tenant, ..) in &self.waiting {
                assert!(
                    full || self.holds(*tenant) == self.most_each,
                    "waits although a permit is free"
                );
            }
            for tenant in self.permits.tenants.keys() {
                assert!(self.holds(*tenant) <= self.most_each);
                let waits = self.waiting.iter().any(|(other, ..)| other == tenant);
                assert!(waits || self.holds(*tenant) > 0, "an idle tenant is stored");
            }
        }
    }

    proptest! {
        #[test]
        fn permits_are_bounded_never_idle_and_fair(
            total in 1..6_usize,
            spare in 0..3_usize,
            steps in vec(step(), 1..200),
        ) {
            let most_each = total.saturating_sub(spare).max(1);
            let mut simulation = Simulation {
                permits: FairPermits::new(total, most_each),
                total,
                most_each,
                held: Vec::new(),
                waiting: Vec::new(),
                overtaken: Vec::new(),
                arrivals: 0,
            };
            for step in &steps {
                simulation.try_acquire(step);
                simulation.check();
            }
            while let Some(tenant) = simulation.held.pop() {
                if let Some((next, number)) = simulation.permits.release(tenant) {
                    simulation.granted(next, number);
                }
            }
            prop_assert!(simulation.waiting.is_empty() && simulation.permits.tenants.is_empty());
        }
    }
}
