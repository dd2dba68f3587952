//! Who is next: a number of turns, given round robin over tenants. Plain state, without waiting.
//!
//! A turn that comes free goes to the tenant that holds fewest; among equals to the one that has
//! waited longest since it came or was last given one; within a tenant in order of arrival. So a
//! tenant alone may hold all that one tenant may, and the first that comes beside it is next.
//!
//! No turn is ever free while somebody waits who may have it. A tenant is known only while it
//! holds or awaits a turn.

use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;

/// The turns of all tenants. `W` is how one who waits is told.
pub(super) struct Turns<W> {
    free: usize,
    /// What one tenant may hold.
    most_each: usize,
    tenants: HashMap<Uuid, Line<W>>,
    /// Counts arrivals and turns given: tickets, and the order of tenants.
    clock: u64,
}

/// One tenant's turns.
struct Line<W> {
    held: usize,
    /// By ticket, so oldest first.
    waiting: BTreeMap<u64, W>,
    /// When the tenant was last given a turn, or began to wait if that was later.
    since: u64,
}

impl<W> Turns<W> {
    /// `turns` at once, of which one tenant may hold `most_each`; both at least 1.
    pub(super) fn new(turns: usize, most_each: usize) -> Self {
        Turns {
            free: turns,
            most_each,
            tenants: HashMap::new(),
            clock: 0,
        }
    }

    /// Takes a turn for `tenant` if it may have one now.
    pub(super) fn take(&mut self, tenant: Uuid) -> bool {
        let held = self.tenants.get(&tenant).map_or(0, |line| line.held);
        let may = self.free > 0 && held < self.most_each;
        if may {
            self.grant(tenant);
        }
        may
    }

    /// Lets `waiter` wait, after [`Turns::take`] said no; its ticket.
    pub(super) fn wait(&mut self, tenant: Uuid, waiter: W) -> u64 {
        self.clock += 1;
        let line = self.tenants.entry(tenant).or_default();
        if line.waiting.is_empty() {
            line.since = self.clock;
        }
        line.waiting.insert(self.clock, waiter);
        self.clock
    }

    /// Ends the wait for `ticket`; nothing if its turn has come.
    pub(super) fn leave(&mut self, tenant: Uuid, ticket: u64) -> Option<W> {
        let left = self.tenants.get_mut(&tenant)?.waiting.remove(&ticket);
        self.forget_idle(tenant);
        left
    }

    /// Ends a turn of `tenant`: who has it now.
    pub(super) fn give_back(&mut self, tenant: Uuid) -> Option<(Uuid, W)> {
        self.free += 1;
        if let Some(line) = self.tenants.get_mut(&tenant) {
            line.held -= 1;
        }
        let next = self.hand_on();
        self.forget_idle(tenant);
        next
    }

    fn hand_on(&mut self) -> Option<(Uuid, W)> {
        let may = |line: &&mut Line<W>| !line.waiting.is_empty() && line.held < self.most_each;
        let lines = self.tenants.iter_mut();
        let (tenant, line) = lines
            .filter(|(_, line)| may(line))
            .min_by_key(|(_, line)| (line.held, line.since))?;
        let tenant = *tenant;
        let (_ticket, waiter) = line.waiting.pop_first()?;
        self.grant(tenant);
        Some((tenant, waiter))
    }

    fn grant(&mut self, tenant: Uuid) {
        self.free -= 1;
        self.clock += 1;
        let line = self.tenants.entry(tenant).or_default();
        line.held += 1;
        line.since = self.clock;
    }

    fn forget_idle(&mut self, tenant: Uuid) {
        let idle = |line: &Line<W>| line.held == 0 && line.waiting.is_empty();
        if self.tenants.get(&tenant).is_some_and(idle) {
            self.tenants.remove(&tenant);
        }
    }
}

impl<W> Default for Line<W> {
    fn default() -> Self {
        Line {
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

    /// Turns that are all held by A.
    fn full(turns: usize) -> Turns<&'static str> {
        let mut full = Turns::new(turns, turns);
        assert!((0..turns).all(|_| full.take(A)));
        assert!(!full.take(A) && !full.take(B));
        full
    }

    #[test]
    fn tenants_take_turns_and_each_in_order_of_arrival() {
        let mut turns = full(1);
        for (tenant, waiter) in [(A, "a1"), (A, "a2"), (B, "b1"), (B, "b2"), (C, "c1")] {
            turns.wait(tenant, waiter);
        }
        let mut held = A;
        let order = std::iter::from_fn(|| {
            let (tenant, waiter) = turns.give_back(held)?;
            held = tenant;
            Some(waiter)
        });
        assert_eq!(order.collect::<Vec<_>>(), ["a1", "b1", "c1", "a2", "b2"]);
        assert!(turns.tenants.is_empty());
    }

    #[test]
    fn the_next_free_turn_goes_to_whoever_holds_fewest() {
        let mut turns = full(3);
        for waiter in ["a1", "a2", "a3"] {
            turns.wait(A, waiter);
        }
        turns.wait(B, "b1");
        turns.wait(B, "b2");
        assert_eq!(turns.give_back(A), Some((B, "b1")));
        // One each: A was given its last before B was.
        assert_eq!(turns.give_back(A), Some((A, "a1")));
        assert_eq!(turns.give_back(A), Some((B, "b2")));
        assert_eq!(turns.give_back(A), Some((A, "a2")));
    }

    #[test]
    fn a_tenant_that_may_not_hold_more_leaves_turns_free_for_others() {
        let mut turns = Turns::new(4, 3);
        assert!((0..3).all(|_| turns.take(A)));
        assert!(!turns.take(A));
        turns.wait(A, "a1");
        assert!(turns.take(B));
        assert_eq!(turns.give_back(B), None);
        assert_eq!(turns.give_back(A), Some((A, "a1")));
    }

    #[test]
    fn who_left_is_passed_over() {
        let mut turns = full(1);
        let ticket = turns.wait(B, "b1");
        turns.wait(A, "a1");
        assert_eq!(turns.leave(B, ticket), Some("b1"));
        assert_eq!(turns.leave(B, ticket), None);
        assert_eq!(turns.give_back(A), Some((A, "a1")));
        assert_eq!(turns.give_back(A), None);
        assert!(turns.tenants.is_empty());
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

    /// What the steps did, as a caller sees it.
    struct Seen {
        turns: Turns<u64>,
        total: usize,
        most_each: usize,
        /// Tenants that hold a turn, one entry a turn.
        held: Vec<Uuid>,
        /// Who waits, oldest first: tenant, number, ticket.
        waiting: Vec<(Uuid, u64, u64)>,
        /// (who waits, who was given a turn meanwhile), while the first holds none.
        overtaken: Vec<(Uuid, Uuid)>,
        arrivals: u64,
    }

    impl Seen {
        fn holds(&self, tenant: Uuid) -> usize {
            self.held.iter().filter(|holder| **holder == tenant).count()
        }

        fn take(&mut self, step: &Step) {
            match step {
                Step::Arrive(tenant) => self.arrive(Uuid::from_u128(*tenant)),
                Step::Finish(index) if !self.held.is_empty() => {
                    let tenant = self.held.swap_remove(index.index(self.held.len()));
                    if let Some((next, number)) = self.turns.give_back(tenant) {
                        self.given(next, number);
                    }
                }
                Step::Leave(index) if !self.waiting.is_empty() => {
                    let at = index.index(self.waiting.len());
                    let (tenant, number, ticket) = self.waiting.remove(at);
                    assert_eq!(self.turns.leave(tenant, ticket), Some(number));
                    self.forget_overtaking(tenant);
                }
                Step::Finish(_) | Step::Leave(_) => {}
            }
        }

        fn arrive(&mut self, tenant: Uuid) {
            self.arrivals += 1;
            if self.turns.take(tenant) {
                self.held.push(tenant);
            } else {
                let ticket = self.turns.wait(tenant, self.arrivals);
                self.waiting.push((tenant, self.arrivals, ticket));
            }
        }

        fn given(&mut self, tenant: Uuid, number: u64) {
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
                    "waits for nothing"
                );
            }
            for tenant in self.turns.tenants.keys() {
                assert!(self.holds(*tenant) <= self.most_each);
                let waits = self.waiting.iter().any(|(other, ..)| other == tenant);
                assert!(waits || self.holds(*tenant) > 0, "an idle tenant is kept");
            }
        }
    }

    proptest! {
        #[test]
        fn turns_are_never_too_many_never_idle_and_fair(
            total in 1..6_usize,
            spare in 0..3_usize,
            steps in vec(step(), 1..200),
        ) {
            let most_each = total.saturating_sub(spare).max(1);
            let mut seen = Seen {
                turns: Turns::new(total, most_each),
                total,
                most_each,
                held: Vec::new(),
                waiting: Vec::new(),
                overtaken: Vec::new(),
                arrivals: 0,
            };
            for step in &steps {
                seen.take(step);
                seen.check();
            }
            while let Some(tenant) = seen.held.pop() {
                if let Some((next, number)) = seen.turns.give_back(tenant) {
                    seen.given(next, number);
                }
            }
            prop_assert!(seen.waiting.is_empty() && seen.turns.tenants.is_empty());
        }
    }
}
