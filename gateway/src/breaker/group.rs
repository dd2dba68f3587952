//! The circuits of one family in one pool: everybody's, and each tenant's own.
//!
//! A plain state machine, too: the time is an argument, and the lock stands round it (`circuits`).
//! Tenants come with their first call and are forgotten when they have not called for a while: soon
//! if their circuit is closed, else after some minutes.
//!
//! What a reader would miss: everybody's circuit takes its probes from several tenants. A call that runs
//! to its deadline says nothing to it, so the probes of one tenant could hang there, one after another,
//! and keep it half-open for all.

use std::{collections::HashMap, time::Duration};

use archway_proto::fault::Blame;
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    circuit::{Admission, Circuit, LONGEST_REST, NotAdmitted, PROBES, State},
    circuits::{Caller, CircuitOpen},
    window::{Rating, SPAN},
};
use crate::metrics::Kind;

/// Tenants kept in one group, at about 300 bytes each.
const MOST_TENANTS: usize = 10_000;
/// How often a group that is full looks for tenants that it can forget.
const FULL_SWEEP: Duration = Duration::from_secs(1);
/// For how long a tenant that no longer calls is kept while its circuit is not closed; and all of a
/// group that nobody calls.
const KEPT_OPEN: Duration = Duration::from_secs(2 * LONGEST_REST.as_secs());

/// Probes of everybody's circuit that one tenant may have under way: one is left to others.
const MOST_PROBES: u32 = PROBES - 1;

/// How a call ended, as far as circuits may know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With an answer, whatever it says.
    Answered {
        /// It took longer than it should.
        slow: bool,
    },
    /// Without one.
    Failed(Blame),
}

/// The circuits, and what they need to know of tenants.
pub(super) struct Inside {
    pub(super) shared: Circuit,
    tenants: HashMap<Uuid, Tenant>,
    swept: Instant,
    /// When the last call came.
    called: Instant,
}

/// One tenant's.
pub(super) struct Tenant {
    pub(super) slug: Box<str>,
    pub(super) circuit: Circuit,
    /// Calls that will bring an admission back.
    calls: u32,
    /// Those of them that probe everybody's circuit, and in which round.
    probes: (u64, u32),
    touched: Instant,
}

/// The admissions of one call.
pub(super) struct Admissions {
    shared: Admission,
    /// `None` where the tenant has no circuit.
    own: Option<Admission>,
}

impl Inside {
    /// Closed, and without tenants.
    pub(super) fn new(now: Instant) -> Self {
        Inside {
            shared: Circuit::new(now),
            tenants: HashMap::new(),
            swept: now,
            called: now,
        }
    }

    /// Whether nobody has called for so long that all of it can be forgotten.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        now >= self.called + KEPT_OPEN
    }

    /// Lets a call through both circuits, or through neither.
    pub(super) fn admit(
        &mut self,
        caller: Caller<'_>,
        now: Instant,
    ) -> Result<Admissions, CircuitOpen> {
        self.called = now;
        let refused = |kind| move |refused| CircuitOpen { kind, refused };
        let shared = self.shared.admit(now).map_err(refused(Kind::Shared))?;
        let round = self.shared.round(&shared);
        let Some(tenant) = self.tenant(caller, now) else {
            return Ok(Admissions { shared, own: None });
        };
        tenant.touched = now;
        if round.is_some_and(|round| tenant.probes_in(round) >= MOST_PROBES) {
            self.shared.give_back(shared);
            return Err(refused(Kind::Shared)(NotAdmitted::PROBED));
        }
        match tenant.circuit.admit(now) {
            Ok(own) => {
                tenant.calls += 1;
                if let Some(round) = round {
                    tenant.probes = (round, tenant.probes_in(round) + 1);
                }
                let own = Some(own);
                Ok(Admissions { shared, own })
            }
            Err(open) => {
                self.shared.give_back(shared);
                Err(refused(Kind::Tenant)(open))
            }
        }
    }

    /// The caller's tenant, which is there from its first call on, if there is room.
    fn tenant(&mut self, caller: Caller<'_>, now: Instant) -> Option<&mut Tenant> {
        let full = self.tenants.len() >= MOST_TENANTS;
        if now >= self.swept + if full { FULL_SWEEP } else { SPAN } {
            self.forget(now);
        }
        let full = self.tenants.len() >= MOST_TENANTS;
        if full && !self.tenants.contains_key(&caller.tenant) {
            return None;
        }
        let fresh = || Tenant {
            slug: caller.slug.into(),
            circuit: Circuit::new(now),
            calls: 0,
            probes: (0, 0),
            touched: now,
        };
        Some(self.tenants.entry(caller.tenant).or_insert_with(fresh))
    }

    /// Drops the tenants that need not be remembered.
    pub(super) fn forget(&mut self, now: Instant) {
        self.swept = now;
        self.tenants.retain(|_, tenant| {
            let kept = match tenant.circuit.state(now) {
                State::Closed => SPAN,
                State::HalfOpen | State::Open => KEPT_OPEN,
            };
            tenant.calls > 0 || now < tenant.touched + kept
        });
    }

    /// The tenants whose circuit is not closed.
    pub(super) fn not_closed(&self, now: Instant) -> impl Iterator<Item = (&Uuid, &Tenant)> {
        let all = self.tenants.iter();
        all.filter(move |(_, tenant)| tenant.circuit.state(now) != State::Closed)
    }

    /// Takes the admissions of a call that ended; `None` if it says nothing. The states that this
    /// brought about.
    pub(super) fn settle(
        &mut self,
        id: Uuid,
        held: Admissions,
        ended: Option<Ended>,
        now: Instant,
    ) -> (Option<State>, Option<State>) {
        let round = self.shared.round(&held.shared);
        let shared = match ended.and_then(Ended::for_shared) {
            Some(rating) => self.shared.settle(held.shared, rating, now),
            None => {
                self.shared.give_back(held.shared);
                None
            }
        };
        let tenant = self.tenants.get_mut(&id);
        let Some((admission, tenant)) = held.own.zip(tenant) else {
            return (shared, None);
        };
        tenant.calls = tenant.calls.saturating_sub(1);
        if let Some(round) = round {
            tenant.probes = (round, tenant.probes_in(round).saturating_sub(1));
        }
        tenant.touched = now;
        match ended.and_then(Ended::for_tenant) {
            Some(rating) => (shared, tenant.circuit.settle(admission, rating, now)),
            None => {
                tenant.circuit.give_back(admission);
                (shared, None)
            }
        }
    }
}

impl Tenant {
    /// Its probes of everybody's circuit in this round.
    fn probes_in(&self, round: u64) -> u32 {
        let (of, probes) = self.probes;
        if of == round { probes } else { 0 }
    }
}

impl Ended {
    /// What it says of the workers. A call that ran out of time says nothing: it may have been its
    /// own doing.
    fn for_shared(self) -> Option<Rating> {
        match self {
            Ended::Answered { .. } => Some(Rating::Good),
            Ended::Failed(Blame::Callee) => Some(Rating::Fault),
            Ended::Failed(Blame::Work | Blame::Caller) => None,
        }
    }

    /// What it says of the tenant's work. Nothing, if the workers were ill.
    fn for_tenant(self) -> Option<Rating> {
        match self {
            Ended::Answered { slow: false } => Some(Rating::Good),
            Ended::Answered { slow: true } => Some(Rating::Slow),
            Ended::Failed(Blame::Work) => Some(Rating::Fault),
            Ended::Failed(Blame::Callee | Blame::Caller) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker::circuit::FIRST_REST;

    const GOOD: Option<Ended> = Some(Ended::Answered { slow: false });
    const LATE: Option<Ended> = Some(Ended::Failed(Blame::Work));
    const ILL: Option<Ended> = Some(Ended::Failed(Blame::Callee));

    /// A group and its clock.
    struct Bench {
        inside: Inside,
        now: Instant,
    }

    impl Bench {
        /// One whose shared circuit is half-open.
        fn half_open() -> Self {
            let now = Instant::now();
            let inside = Inside::new(now);
            let mut bench = Bench { inside, now };
            for tenant in 0..10 {
                bench.call(tenant, ILL);
            }
            bench.rest(FIRST_REST);
            bench
        }

        fn rest(&mut self, time: Duration) {
            assert_eq!(self.state(), State::Open);
            self.now += time;
            assert_eq!(self.state(), State::HalfOpen);
        }

        fn admit(&mut self, tenant: u128) -> Result<Admissions, CircuitOpen> {
            let caller = Caller {
                pool: "shared",
                family: "search",
                tenant: Uuid::from_u128(tenant),
                slug: "acme",
            };
            self.inside.admit(caller, self.now)
        }

        fn settle(&mut self, tenant: u128, held: Admissions, ended: Option<Ended>) {
            let tenant = Uuid::from_u128(tenant);
            self.inside.settle(tenant, held, ended, self.now);
        }

        fn call(&mut self, tenant: u128, ended: Option<Ended>) {
            let held = self.admit(tenant).ok().unwrap();
            self.settle(tenant, held, ended);
        }

        fn state(&self) -> State {
            self.inside.shared.state(self.now)
        }
    }

    #[test]
    fn a_tenant_whose_calls_run_to_their_deadline_keeps_no_shared_circuit_half_open() {
        let mut bench = Bench::half_open();
        let first = bench.admit(1).ok().unwrap();
        let second = bench.admit(1).ok().unwrap();
        let refused = bench.admit(1).err().unwrap();
        assert_eq!(refused.kind, Kind::Shared);
        assert_eq!(refused.refused, NotAdmitted::PROBED);
        // The third is for others, and they are enough to close it.
        for tenant in [2, 3, 2] {
            assert_eq!(bench.state(), State::HalfOpen);
            bench.call(tenant, GOOD);
        }
        assert_eq!(bench.state(), State::Closed);
        for held in [first, second] {
            bench.settle(1, held, LATE);
        }
        let held: Vec<_> = (0..5).map(|_| bench.admit(1).ok().unwrap()).collect();
        assert_eq!(held.len(), 5);
    }

    #[test]
    fn a_probe_that_ended_frees_its_tenants_slot_in_its_own_round_only() {
        let mut bench = Bench::half_open();
        let [first, second] = [(); 2].map(|()| bench.admit(1).ok().unwrap());
        bench.settle(1, first, LATE);
        let third = bench.admit(1).ok().unwrap();
        assert!(bench.admit(1).is_err());
        // Another's fails: the circuit rests, and probes begin anew.
        bench.call(2, ILL);
        bench.rest(2 * FIRST_REST);
        let fourth = bench.admit(1).ok().unwrap();
        bench.settle(1, second, LATE);
        bench.settle(1, third, GOOD);
        let fifth = bench.admit(1).ok().unwrap();
        assert!(bench.admit(1).is_err());
        for held in [fourth, fifth] {
            bench.settle(1, held, None);
        }
        // Alone, a tenant closes it, too.
        for _ in 0..3 {
            bench.call(1, GOOD);
        }
        assert_eq!(bench.state(), State::Closed);
    }
}
