//! A circuit breaker against outages, as a pure state machine: closed (calls pass), open (calls are
//! refused), half-open (a few probes pass).
//!
//! Time is an argument; nothing here waits, locks, logs or counts metrics. [`Settings`] say how long
//! a circuit stays open and how it is probed; an [`OpenRule`] decides from the calls that ended when
//! a closed circuit opens. An admitted call holds an [`Admission`] and brings it back, with or
//! without a rating. What a reader would get wrong: a call may end long after the circuit that
//! admitted it opened or closed. Its admission then has an older epoch, and its rating is ignored.

use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

/// How long a circuit stays open, and how it is probed.
#[derive(Debug)]
pub struct Settings {
    /// The open time of a circuit that was closed.
    pub first_open_time: Duration,
    /// The open time doubles while probes fail, up to this.
    pub longest_open_time: Duration,
    /// Concurrent probes while half-open, and the successes that close the circuit.
    pub probes: u32,
    /// The wait stated to calls that arrive while all probes are running.
    pub probe_wait: Duration,
    /// After this time another probe is admitted, although the last one still runs. `None` for calls
    /// with short deadlines of their own.
    pub longest_probe: Option<Duration>,
}

/// Decides from the calls that ended when a closed circuit opens.
pub trait OpenRule {
    /// How one call ended.
    type Rating: Copy;

    /// The rule of a circuit that just closed: no call has ended yet.
    fn new(now: Instant) -> Self;

    /// Whether a call with this rating is a success: as a probe it helps to close the circuit, and
    /// it never opens one.
    fn is_success(rating: Self::Rating) -> bool;

    /// Counts a call that ended now.
    fn count(&mut self, rating: Self::Rating, now: Instant);

    /// Whether so many calls went wrong that the next ones should not be made.
    fn should_open(&self, now: Instant) -> bool;
}

/// The state of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CircuitState {
    /// Calls pass.
    Closed,
    /// A few probes pass.
    HalfOpen,
    /// Calls are refused.
    Open,
}

impl CircuitState {
    /// The name in failures, logs and `/status`.
    pub fn name(self) -> &'static str {
        match self {
            CircuitState::Closed => "closed",
            CircuitState::HalfOpen => "half-open",
            CircuitState::Open => "open",
        }
    }

    /// The value in metrics.
    pub fn number(self) -> i64 {
        match self {
            CircuitState::Closed => 0,
            CircuitState::HalfOpen => 1,
            CircuitState::Open => 2,
        }
    }
}

/// The circuit refused a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAdmitted {
    /// Open or half-open.
    pub state: CircuitState,
    /// Time after which the caller may try again.
    pub retry_after: Duration,
}

/// Held by an admitted call and brought back when the call ends. Never drop it: a probe's slot
/// would stay taken.
#[derive(Debug)]
#[must_use]
pub struct Admission {
    epoch: u64,
}

/// The state machine.
#[derive(Debug)]
pub struct Circuit<R: OpenRule> {
    settings: &'static Settings,
    phase: Phase,
    /// Incremented with every change of phase.
    epoch: u64,
    /// The current open time, or the last one.
    open_time: Duration,
    /// When it last opened from closed.
    opened_at: Option<Instant>,
    rule: R,
}

#[derive(Debug)]
enum Phase {
    Closed,
    Open {
        until: Instant,
    },
    HalfOpen {
        in_flight: u32,
        passed: u32,
        /// When the newest probe was admitted.
        probed: Instant,
    },
}

impl<R: OpenRule> Circuit<R> {
    /// A closed circuit.
    pub fn new(settings: &'static Settings, now: Instant) -> Self {
        Circuit {
            settings,
            phase: Phase::Closed,
            epoch: 0,
            open_time: settings.first_open_time,
            opened_at: None,
            rule: R::new(now),
        }
    }

    /// Admits a call.
    ///
    /// # Errors
    /// If the circuit is open, or half-open with all its probes in flight.
    pub fn admit(&mut self, now: Instant) -> Result<Admission, NotAdmitted> {
        if self.is_refusing(now) {
            return Err(NotAdmitted {
                state: self.state(now),
                retry_after: self.retry_after(now).unwrap_or(self.settings.probe_wait),
            });
        }
        if matches!(self.phase, Phase::Open { .. }) {
            self.enter(Phase::HalfOpen {
                in_flight: 0,
                passed: 0,
                probed: now,
            });
        }
        if let Phase::HalfOpen {
            in_flight, probed, ..
        } = &mut self.phase
        {
            *in_flight += 1;
            *probed = now;
        }
        Ok(Admission { epoch: self.epoch })
    }

    /// Whether [`Circuit::admit`] would refuse a call now.
    pub fn is_refusing(&self, now: Instant) -> bool {
        match self.phase {
            Phase::Closed => false,
            Phase::Open { until } => until > now,
            Phase::HalfOpen {
                in_flight, probed, ..
            } => {
                let longest = self.settings.longest_probe;
                in_flight >= self.settings.probes
                    && longest.is_none_or(|longest| now < probed + longest)
            }
        }
    }

    /// The refusal of a call that would be a probe, for a caller whose probes suffice.
    pub fn probes_taken(&self) -> NotAdmitted {
        NotAdmitted {
            state: CircuitState::HalfOpen,
            retry_after: self.settings.probe_wait,
        }
    }

    /// The number of the probe round that this admission belongs to. `None` if it is no probe of
    /// the current round.
    pub fn round(&self, admission: &Admission) -> Option<u64> {
        let probing = matches!(self.phase, Phase::HalfOpen { .. });
        (probing && admission.epoch == self.epoch).then_some(self.epoch)
    }

    /// Counts a call that ended. Returns the new state if it changed.
    pub fn settle(
        &mut self,
        admission: Admission,
        rating: R::Rating,
        now: Instant,
    ) -> Option<CircuitState> {
        if admission.epoch != self.epoch {
            return None;
        }
        match &mut self.phase {
            Phase::Closed => {
                self.rule.count(rating, now);
                if R::is_success(rating) || !self.rule.should_open(now) {
                    return None;
                }
                self.opened_at = Some(now);
                self.open(self.settings.first_open_time, now);
            }
            Phase::HalfOpen {
                in_flight, passed, ..
            } => {
                *in_flight = in_flight.saturating_sub(1);
                if !R::is_success(rating) {
                    self.rule.count(rating, now);
                    let longest = self.settings.longest_open_time;
                    self.open((self.open_time * 2).min(longest), now);
                } else if *passed + 1 < self.settings.probes {
                    *passed += 1;
                    return None;
                } else {
                    self.rule = R::new(now);
                    self.enter(Phase::Closed);
                }
            }
            // Nothing is admitted while the circuit is open, so every admission is older.
            Phase::Open { .. } => return None,
        }
        Some(self.state(now))
    }

    /// Takes back the admission of a call that says nothing about this circuit: the client
    /// disconnected, or the call ended for an unrelated reason.
    pub fn give_back(&mut self, admission: Admission) {
        if let Phase::HalfOpen { in_flight, .. } = &mut self.phase
            && admission.epoch == self.epoch
        {
            *in_flight = in_flight.saturating_sub(1);
        }
    }

    /// The state at `now`. A circuit whose open time is over counts as half-open even before the
    /// first probe.
    pub fn state(&self, now: Instant) -> CircuitState {
        match self.phase {
            Phase::Closed => CircuitState::Closed,
            Phase::Open { until } if until > now => CircuitState::Open,
            Phase::Open { .. } | Phase::HalfOpen { .. } => CircuitState::HalfOpen,
        }
    }

    /// The open time that is left, while the circuit is open.
    pub fn retry_after(&self, now: Instant) -> Option<Duration> {
        match self.phase {
            Phase::Open { until } if until > now => Some(until - now),
            _ => None,
        }
    }

    /// When it last opened from closed. `None` if it never did.
    pub fn opened_at(&self) -> Option<Instant> {
        self.opened_at
    }

    /// The rule, with the calls that it counted.
    pub fn rule(&self) -> &R {
        &self.rule
    }

    /// Incremented with every change of state, and when an open time is over and a probe follows.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    fn open(&mut self, open_time: Duration, now: Instant) {
        self.open_time = open_time;
        self.enter(Phase::Open {
            until: now + open_time,
        });
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.epoch += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{FailuresInARow, Outcome};

    const SECOND: Duration = Duration::from_secs(1);
    const LIMIT: u32 = 3;
    const SETTINGS: Settings = Settings {
        first_open_time: Duration::from_secs(5),
        longest_open_time: Duration::from_secs(60),
        probes: 3,
        probe_wait: SECOND,
        longest_probe: None,
    };

    /// A circuit and its clock.
    struct Fixture {
        circuit: Circuit<FailuresInARow<LIMIT>>,
        now: Instant,
    }

    impl Fixture {
        fn new() -> Self {
            let now = Instant::now();
            Fixture {
                circuit: Circuit::new(&SETTINGS, now),
                now,
            }
        }

        fn opened() -> Self {
            let mut fixture = Fixture::new();
            fixture.calls(LIMIT, Outcome::Failure);
            assert_eq!(fixture.state(), CircuitState::Open);
            fixture
        }

        fn wait(&mut self, time: Duration) {
            self.now += time;
        }

        fn admit(&mut self) -> Result<Admission, NotAdmitted> {
            self.circuit.admit(self.now)
        }

        fn settle(&mut self, admission: Admission, rating: Outcome) -> Option<CircuitState> {
            self.circuit.settle(admission, rating, self.now)
        }

        /// Runs calls one after the other.
        fn calls(&mut self, count: u32, rating: Outcome) {
            for _ in 0..count {
                let admission = self.admit().unwrap();
                self.settle(admission, rating);
            }
        }

        fn state(&self) -> CircuitState {
            self.circuit.state(self.now)
        }

        fn rest(&mut self) -> Duration {
            let refused = self.admit().unwrap_err();
            assert_eq!(refused.state, CircuitState::Open);
            refused.retry_after
        }
    }

    #[test]
    fn half_open_admits_three_probes_and_three_successes_close_it() {
        let mut fixture = Fixture::opened();
        fixture.wait(5 * SECOND - Duration::from_millis(1));
        assert_eq!(fixture.rest(), Duration::from_millis(1));
        fixture.wait(Duration::from_millis(1));
        assert_eq!(fixture.state(), CircuitState::HalfOpen);
        let [first, second, third] = [(); 3].map(|()| fixture.admit().unwrap());
        let refused = fixture.admit().unwrap_err();
        assert_eq!(refused.state, CircuitState::HalfOpen);
        assert_eq!(refused.retry_after, SECOND);
        assert_eq!(fixture.settle(first, Outcome::Success), None);
        // The slot is free again: a probe that hangs blocks no other.
        let fourth = fixture.admit().unwrap();
        assert!(fixture.admit().is_err());
        assert_eq!(fixture.settle(second, Outcome::Success), None);
        assert_eq!(
            fixture.settle(fourth, Outcome::Success),
            Some(CircuitState::Closed)
        );
        assert_eq!(
            fixture.settle(third, Outcome::Failure),
            None,
            "an older epoch"
        );
        fixture.calls(LIMIT - 1, Outcome::Failure);
        assert_eq!(fixture.state(), CircuitState::Closed, "it counts anew");
    }

    #[test]
    fn a_failed_probe_doubles_the_open_time_up_to_a_minute() {
        let mut fixture = Fixture::opened();
        let opened_at = fixture.circuit.opened_at();
        assert_eq!(opened_at, Some(fixture.now));
        for (rest, rating) in [
            (5, Outcome::Failure),
            (10, Outcome::Outage),
            (20, Outcome::Failure),
            (40, Outcome::Failure),
            (60, Outcome::Failure),
            (60, Outcome::Failure),
        ] {
            assert_eq!(fixture.rest(), rest * SECOND);
            fixture.wait(rest * SECOND);
            let probe = fixture.admit().unwrap();
            assert_eq!(fixture.settle(probe, rating), Some(CircuitState::Open));
        }
        fixture.wait(60 * SECOND);
        fixture.calls(3, Outcome::Success);
        assert_eq!(fixture.state(), CircuitState::Closed);
        assert_eq!(fixture.circuit.opened_at(), opened_at, "it opened once");
        fixture.calls(LIMIT, Outcome::Failure);
        assert_eq!(fixture.rest(), 5 * SECOND, "it closed in between");
        assert_eq!(fixture.circuit.opened_at(), Some(fixture.now));
    }

    #[test]
    fn a_returned_probe_frees_its_slot_and_counts_nothing() {
        let mut fixture = Fixture::opened();
        fixture.wait(5 * SECOND);
        for _ in 0..10 {
            let probes = [(); 3].map(|()| fixture.admit().unwrap());
            assert!(fixture.admit().is_err());
            for probe in probes {
                fixture.circuit.give_back(probe);
            }
        }
        assert_eq!(fixture.state(), CircuitState::HalfOpen);
        fixture.calls(2, Outcome::Success);
        assert_eq!(fixture.state(), CircuitState::HalfOpen);
    }

    #[test]
    fn admissions_from_before_it_opened_change_nothing() {
        let mut fixture = Fixture::new();
        let old = [(); 4].map(|()| fixture.admit().unwrap());
        fixture.calls(LIMIT, Outcome::Failure);
        fixture.wait(5 * SECOND);
        let probe = fixture.admit().unwrap();
        for (admission, rating) in old
            .into_iter()
            .zip([Outcome::Success, Outcome::Failure].iter().cycle())
        {
            assert_eq!(fixture.settle(admission, *rating), None);
        }
        // Nor does it free a probe's slot.
        let more = [fixture.admit().unwrap(), fixture.admit().unwrap()];
        assert!(fixture.admit().is_err());
        for admission in [probe].into_iter().chain(more) {
            fixture.circuit.give_back(admission);
        }
    }

    #[test]
    fn a_probe_that_hangs_for_too_long_holds_back_no_other() {
        const PATIENT: Settings = Settings {
            probes: 1,
            longest_probe: Some(SECOND),
            ..SETTINGS
        };
        let mut fixture = Fixture::opened();
        fixture.circuit.settings = &PATIENT;
        fixture.wait(5 * SECOND);
        let hanging = fixture.admit().unwrap();
        assert!(fixture.admit().is_err());
        fixture.wait(SECOND);
        let second = fixture.admit().unwrap();
        assert!(fixture.admit().is_err());
        fixture.circuit.give_back(second);
        assert!(fixture.admit().is_err(), "the second began just now");
        let closed = Some(CircuitState::Closed);
        assert_eq!(fixture.settle(hanging, Outcome::Success), closed);
    }

    #[derive(Clone, Debug)]
    enum Act {
        Admit,
        End(usize, Option<Outcome>),
        Wait(u64),
    }

    fn act() -> impl Strategy<Value = Act> {
        let rating = prop_oneof![
            Just(None),
            Just(Some(Outcome::Success)),
            Just(Some(Outcome::Outage)),
            Just(Some(Outcome::Failure)),
        ];
        prop_oneof![
            4 => Just(Act::Admit),
            4 => (any::<usize>(), rating).prop_map(|(which, rating)| Act::End(which, rating)),
            1 => (0..20_000_u64).prop_map(Act::Wait),
        ]
    }

    proptest! {
        #[test]
        fn probes_are_bounded_and_it_never_opens_without_a_failure(
            acts in prop::collection::vec(act(), 1..400)
        ) {
            let mut fixture = Fixture::new();
            let mut running = Vec::new();
            let mut failures = 0;
            for act in acts {
                match act {
                    Act::Admit => running.extend(fixture.admit()),
                    Act::End(which, rating) if !running.is_empty() => {
                        let admission = running.swap_remove(which % running.len());
                        match rating {
                            None => fixture.circuit.give_back(admission),
                            Some(rating) => {
                                failures += u32::from(rating != Outcome::Success);
                                let became = fixture.settle(admission, rating);
                                prop_assert!(became != Some(CircuitState::Open) || rating != Outcome::Success);
                            }
                        }
                    }
                    Act::End(..) => {}
                    Act::Wait(millis) => fixture.wait(Duration::from_millis(millis)),
                }
                let epoch = fixture.circuit.epoch;
                let of_now = running.iter().filter(|admission| admission.epoch == epoch).count();
                match &fixture.circuit.phase {
                    Phase::HalfOpen { in_flight, passed, .. } => {
                        prop_assert_eq!(of_now, *in_flight as usize);
                        prop_assert!(*in_flight <= SETTINGS.probes && *passed < SETTINGS.probes);
                    }
                    Phase::Open { .. } => prop_assert_eq!(of_now, 0),
                    Phase::Closed => {}
                }
                prop_assert!(failures > 0 || fixture.state() == CircuitState::Closed);
            }
        }
    }
}
