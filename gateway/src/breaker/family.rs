//! The circuits of one family in one pool: the shared one, and one for each tenant.
//!
//! A plain state machine, too: time is an argument, and `circuits` holds the lock. A tenant is
//! added by its first call and dropped when it has not called for a while: soon if its circuit is
//! closed, otherwise after some minutes.
//!
//! What a reader would miss: the shared circuit takes its probes from several tenants. A call that
//! runs to its deadline says nothing about the workers, so probes of a single tenant could hang one
//! after another and keep the circuit half-open for everyone.

use std::{collections::HashMap, time::Duration};

use archway_proto::fault::Blame;
use archway_resilience::{Admission, Circuit, CircuitState};
use tokio::time::Instant;
use uuid::Uuid;

use super::{
    circuits::{CallTarget, CircuitOpen},
    rule::{CallCircuit, SETTINGS},
    window::{CallCounts, Rating, SPAN},
};
use crate::metrics::CircuitKind;

/// Tenants of one family, at about 300 bytes each.
const MOST_TENANTS: usize = 10_000;
/// Interval of sweeps while the table of tenants is full.
const FULL_SWEEP: Duration = Duration::from_secs(1);
/// How long an idle tenant is kept while its circuit is not closed, and how long a family without
/// calls is kept.
const KEPT_OPEN: Duration = Duration::from_secs(2 * SETTINGS.longest_open_time.as_secs());

/// Concurrent probes of the shared circuit from one tenant: one slot is left to others.
const MOST_PROBES: u32 = SETTINGS.probes - 1;

/// How a call ended, as far as circuits need to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallEnd {
    /// With an answer, whatever it says.
    Answered {
        /// Whether it took longer than half of its time.
        slow: bool,
    },
    /// Without an answer.
    Failed(Blame),
}

/// A circuit's new state, and what led to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StateChange {
    pub(super) state: CircuitState,
    /// Since it opened from closed: zero if it opened so now, more if a failed probe opened it
    /// again or it closed.
    pub(super) since_opening: Duration,
    /// The calls of the last ten seconds.
    pub(super) counts: CallCounts,
    /// How long it stays open; `None` if it closed.
    pub(super) open_time: Option<Duration>,
}

/// The circuits of one family and the tenants that used them.
pub(super) struct FamilyCircuits {
    pub(super) shared: CallCircuit,
    tenants: HashMap<Uuid, Tenant>,
    swept: Instant,
    /// When the last call arrived.
    called: Instant,
}

/// One tenant's circuit.
pub(super) struct Tenant {
    pub(super) slug: Box<str>,
    pub(super) circuit: CallCircuit,
    /// Calls that hold an admission.
    calls: u32,
    /// The current probe round of the shared circuit, and this tenant's probes in it.
    probes: (u64, u32),
    last_used: Instant,
}

/// Both admissions of one call.
pub(super) struct Admissions {
    shared: Admission,
    /// `None` if the table of tenants is full.
    own: Option<Admission>,
}

impl FamilyCircuits {
    /// Closed, without tenants.
    pub(super) fn new(now: Instant) -> Self {
        FamilyCircuits {
            shared: Circuit::new(&SETTINGS, now),
            tenants: HashMap::new(),
            swept: now,
            called: now,
        }
    }

    /// Whether the last call is so long ago that the family can be dropped.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        now >= self.called + KEPT_OPEN
    }

    /// Both circuits admit the call, or neither does.
    pub(super) fn admit(
        &mut self,
        caller: CallTarget<'_>,
        now: Instant,
    ) -> Result<Admissions, CircuitOpen> {
        self.called = now;
        let refused = |kind| move |refused| CircuitOpen { kind, refused };
        let shared = self
            .shared
            .admit(now)
            .map_err(refused(CircuitKind::Shared))?;
        let round = self.shared.round(&shared);
        let Some(tenant) = self.tenant(caller, now) else {
            return Ok(Admissions { shared, own: None });
        };
        tenant.last_used = now;
        if round.is_some_and(|round| tenant.probes_in(round) >= MOST_PROBES) {
            self.shared.give_back(shared);
            return Err(refused(CircuitKind::Shared)(self.shared.probes_taken()));
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
                Err(refused(CircuitKind::Tenant)(open))
            }
        }
    }

    /// The tenant's entry, created by its first call. `None` if the table is full.
    fn tenant(&mut self, caller: CallTarget<'_>, now: Instant) -> Option<&mut Tenant> {
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
            circuit: Circuit::new(&SETTINGS, now),
            calls: 0,
            probes: (0, 0),
            last_used: now,
        };
        Some(self.tenants.entry(caller.tenant).or_insert_with(fresh))
    }

    /// Drops tenants that are idle.
    pub(super) fn forget(&mut self, now: Instant) {
        self.swept = now;
        self.tenants.retain(|_, tenant| {
            let kept = match tenant.circuit.state(now) {
                CircuitState::Closed => SPAN,
                CircuitState::HalfOpen | CircuitState::Open => KEPT_OPEN,
            };
            tenant.calls > 0 || now < tenant.last_used + kept
        });
    }

    /// The tenants whose circuit is not closed.
    pub(super) fn not_closed(&self, now: Instant) -> impl Iterator<Item = (&Uuid, &Tenant)> {
        let all = self.tenants.iter();
        all.filter(move |(_, tenant)| tenant.circuit.state(now) != CircuitState::Closed)
    }

    /// Counts a call that ended; `None` if it says nothing. Returns what changed of the shared and
    /// of the tenant's circuit.
    pub(super) fn settle(
        &mut self,
        id: Uuid,
        admissions: Admissions,
        ended: Option<CallEnd>,
        now: Instant,
    ) -> (Option<StateChange>, Option<StateChange>) {
        let round = self.shared.round(&admissions.shared);
        let shared = match ended.and_then(CallEnd::for_shared) {
            Some(rating) => settled(&mut self.shared, admissions.shared, rating, now),
            None => {
                self.shared.give_back(admissions.shared);
                None
            }
        };
        let tenant = self.tenants.get_mut(&id);
        let Some((admission, tenant)) = admissions.own.zip(tenant) else {
            return (shared, None);
        };
        tenant.calls = tenant.calls.saturating_sub(1);
        if let Some(round) = round {
            tenant.probes = (round, tenant.probes_in(round).saturating_sub(1));
        }
        tenant.last_used = now;
        match ended.and_then(CallEnd::for_tenant) {
            Some(rating) => {
                let own = settled(&mut tenant.circuit, admission, rating, now);
                (shared, own)
            }
            None => {
                tenant.circuit.give_back(admission);
                (shared, None)
            }
        }
    }
}

fn settled(
    circuit: &mut CallCircuit,
    admission: Admission,
    rating: Rating,
    now: Instant,
) -> Option<StateChange> {
    let state = circuit.settle(admission, rating, now)?;
    let opened_at = circuit.opened_at().unwrap_or(now);
    Some(StateChange {
        state,
        since_opening: now.saturating_duration_since(opened_at),
        counts: circuit.rule().counts(now),
        open_time: circuit.retry_after(now),
    })
}

impl Tenant {
    /// This tenant's probes of the shared circuit in this round.
    fn probes_in(&self, round: u64) -> u32 {
        let (of, probes) = self.probes;
        if of == round { probes } else { 0 }
    }
}

impl CallEnd {
    /// What the end of a call says about the workers. A missed deadline says nothing: the work
    /// itself may be too large.
    fn for_shared(self) -> Option<Rating> {
        match self {
            CallEnd::Answered { .. } => Some(Rating::Good),
            CallEnd::Failed(Blame::Callee) => Some(Rating::Fault),
            CallEnd::Failed(Blame::Work | Blame::Caller) => None,
        }
    }

    /// What the end of a call says about the tenant's work. Nothing if the workers failed.
    fn for_tenant(self) -> Option<Rating> {
        match self {
            CallEnd::Answered { slow: false } => Some(Rating::Good),
            CallEnd::Answered { slow: true } => Some(Rating::Slow),
            CallEnd::Failed(Blame::Work) => Some(Rating::Fault),
            CallEnd::Failed(Blame::Callee | Blame::Caller) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Option<CallEnd> = Some(CallEnd::Answered { slow: false });
    const LATE: Option<CallEnd> = Some(CallEnd::Failed(Blame::Work));
    const ILL: Option<CallEnd> = Some(CallEnd::Failed(Blame::Callee));

    /// A family and its clock.
    struct Fixture {
        circuits: FamilyCircuits,
        now: Instant,
    }

    impl Fixture {
        /// A family whose shared circuit is half-open.
        fn half_open() -> Self {
            let now = Instant::now();
            let circuits = FamilyCircuits::new(now);
            let mut fixture = Fixture { circuits, now };
            for tenant in 0..10 {
                fixture.call(tenant, ILL);
            }
            fixture.rest(SETTINGS.first_open_time);
            fixture
        }

        fn rest(&mut self, time: Duration) {
            assert_eq!(self.state(), CircuitState::Open);
            self.now += time;
            assert_eq!(self.state(), CircuitState::HalfOpen);
        }

        fn admit(&mut self, tenant: u128) -> Result<Admissions, CircuitOpen> {
            let caller = CallTarget {
                pool: "shared",
                family: "search",
                tenant: Uuid::from_u128(tenant),
                slug: "acme",
            };
            self.circuits.admit(caller, self.now)
        }

        fn settle(&mut self, tenant: u128, admissions: Admissions, ended: Option<CallEnd>) {
            let tenant = Uuid::from_u128(tenant);
            self.circuits.settle(tenant, admissions, ended, self.now);
        }

        fn call(&mut self, tenant: u128, ended: Option<CallEnd>) {
            let admissions = self.admit(tenant).ok().unwrap();
            self.settle(tenant, admissions, ended);
        }

        fn state(&self) -> CircuitState {
            self.circuits.shared.state(self.now)
        }
    }

    #[test]
    fn hanging_probes_of_one_tenant_leave_a_probe_slot_to_others() {
        let mut fixture = Fixture::half_open();
        let first = fixture.admit(1).ok().unwrap();
        let second = fixture.admit(1).ok().unwrap();
        let refused = fixture.admit(1).err().unwrap();
        assert_eq!(refused.kind, CircuitKind::Shared);
        assert_eq!(refused.refused, fixture.circuits.shared.probes_taken());
        // The third slot is for other tenants, whose probes suffice to close the circuit.
        for tenant in [2, 3, 2] {
            assert_eq!(fixture.state(), CircuitState::HalfOpen);
            fixture.call(tenant, GOOD);
        }
        assert_eq!(fixture.state(), CircuitState::Closed);
        for admissions in [first, second] {
            fixture.settle(1, admissions, LATE);
        }
        let admissions: Vec<_> = (0..5).map(|_| fixture.admit(1).ok().unwrap()).collect();
        assert_eq!(admissions.len(), 5);
    }

    #[test]
    fn an_ended_probe_frees_its_tenants_slot_only_in_its_own_round() {
        let mut fixture = Fixture::half_open();
        let [first, second] = [(); 2].map(|()| fixture.admit(1).ok().unwrap());
        fixture.settle(1, first, LATE);
        let third = fixture.admit(1).ok().unwrap();
        assert!(fixture.admit(1).is_err());
        // Another tenant's probe fails: the circuit opens, and a new round begins later.
        fixture.call(2, ILL);
        fixture.rest(2 * SETTINGS.first_open_time);
        let fourth = fixture.admit(1).ok().unwrap();
        fixture.settle(1, second, LATE);
        fixture.settle(1, third, GOOD);
        let fifth = fixture.admit(1).ok().unwrap();
        assert!(fixture.admit(1).is_err());
        for admissions in [fourth, fifth] {
            fixture.settle(1, admissions, None);
        }
        // A single tenant can close it as well.
        for _ in 0..3 {
            fixture.call(1, GOOD);
        }
        assert_eq!(fixture.state(), CircuitState::Closed);
    }
}
