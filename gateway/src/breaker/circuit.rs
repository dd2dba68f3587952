//! One circuit, a plain state machine: closed (calls pass), open (they are refused), half-open (a
//! few pass, to see).
//!
//! It takes the time as an argument, waits for nothing and locks nothing. Whoever is admitted holds
//! an [`Admission`] and brings it back, with a rating or without. What a reader would get wrong: a
//! call may end long after the circuit that admitted it opened or closed. Its admission is of an
//! older epoch then, and its rating says nothing about the new one.

use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::window::{Counts, Rating, Window};

/// Calls that must have ended within the window before their shares mean anything. Below that, two
/// unlucky calls of a quiet hour would cut everybody off.
const FEWEST_CALLS: u32 = 10;
/// Faults that open a circuit, in percent of the calls that ended: with half of them gone, what
/// still works is not worth the waiting of the rest.
const MOST_FAULTS: u64 = 50;
/// Slow calls that open it, in percent. More than of faults, since a slow call did answer.
const MOST_SLOW: u64 = 80;
/// How long it rests when it opens: about what a worker takes to start again.
pub(super) const FIRST_REST: Duration = Duration::from_secs(5);
/// The rest doubles while probes fail, up to this.
pub(super) const LONGEST_REST: Duration = Duration::from_secs(60);
/// Calls let through at a time while half-open, and successes among them that close it.
pub(super) const PROBES: u32 = 3;
/// What those are told to wait who come while probes are under way.
const PROBING: Duration = Duration::from_secs(1);

/// Whether calls pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// They do.
    Closed,
    /// A few do.
    HalfOpen,
    /// They are refused.
    Open,
}

impl State {
    /// The name in failures, logs and `/status`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::Closed => "closed",
            State::HalfOpen => "half-open",
            State::Open => "open",
        }
    }

    /// The value in metrics.
    pub(super) fn number(self) -> i64 {
        match self {
            State::Closed => 0,
            State::HalfOpen => 1,
            State::Open => 2,
        }
    }
}

/// A call was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotAdmitted {
    pub(super) state: State,
    /// After how long it may try again.
    pub(super) retry_after: Duration,
}

impl NotAdmitted {
    /// Because others try whether it can be closed.
    pub(super) const PROBED: NotAdmitted = NotAdmitted {
        state: State::HalfOpen,
        retry_after: PROBING,
    };
}

/// What an admitted call brings back when it ended. Not to be dropped: a probe's would keep its
/// slot.
#[derive(Debug)]
#[must_use]
pub(super) struct Admission {
    epoch: u64,
}

/// The state machine.
#[derive(Debug)]
pub(super) struct Circuit {
    phase: Phase,
    /// Counts the phases.
    epoch: u64,
    /// The present rest, or the last one.
    rest: Duration,
    window: Window,
}

#[derive(Debug)]
enum Phase {
    Closed,
    Open { until: Instant },
    HalfOpen { in_flight: u32, passed: u32 },
}

impl Circuit {
    /// A closed one.
    pub(super) fn new(now: Instant) -> Self {
        Circuit {
            phase: Phase::Closed,
            epoch: 0,
            rest: FIRST_REST,
            window: Window::new(now),
        }
    }

    /// Lets a call through, or not.
    pub(super) fn admit(&mut self, now: Instant) -> Result<Admission, NotAdmitted> {
        if matches!(self.phase, Phase::Open { until } if until <= now) {
            self.enter(Phase::HalfOpen {
                in_flight: 0,
                passed: 0,
            });
        }
        match &mut self.phase {
            Phase::Closed => {}
            Phase::HalfOpen { in_flight, .. } if *in_flight < PROBES => *in_flight += 1,
            Phase::HalfOpen { .. } | Phase::Open { .. } => {
                return Err(NotAdmitted {
                    state: self.state(now),
                    retry_after: self.retry_after(now).unwrap_or(PROBING),
                });
            }
        }
        Ok(Admission { epoch: self.epoch })
    }

    /// The number of the round of probes that this admission is of, if it is a probe's that still
    /// counts.
    pub(super) fn round(&self, admission: &Admission) -> Option<u64> {
        let probing = matches!(self.phase, Phase::HalfOpen { .. });
        (probing && admission.epoch == self.epoch).then_some(self.epoch)
    }

    /// Takes the admission of a call that ended. Returns the state that this brought about, if it
    /// changed.
    pub(super) fn settle(
        &mut self,
        admission: Admission,
        rating: Rating,
        now: Instant,
    ) -> Option<State> {
        if admission.epoch != self.epoch {
            return None;
        }
        match &mut self.phase {
            Phase::Closed => {
                self.window.count(rating, now);
                if rating == Rating::Good || !is_ill(self.window.counts(now)) {
                    return None;
                }
                self.open(FIRST_REST, now);
            }
            Phase::HalfOpen { in_flight, passed } => {
                *in_flight = in_flight.saturating_sub(1);
                if rating != Rating::Good {
                    self.window.count(rating, now);
                    self.open((self.rest * 2).min(LONGEST_REST), now);
                } else if *passed + 1 < PROBES {
                    *passed += 1;
                    return None;
                } else {
                    self.window = Window::new(now);
                    self.enter(Phase::Closed);
                }
            }
            // Nobody is admitted while it is open, and all admissions are older.
            Phase::Open { .. } => return None,
        }
        Some(self.state(now))
    }

    /// Takes the admission of a call that says nothing: who made it went away, or it ended for a
    /// reason that is none of this circuit's.
    pub(super) fn give_back(&mut self, admission: Admission) {
        if let Phase::HalfOpen { in_flight, .. } = &mut self.phase
            && admission.epoch == self.epoch
        {
            *in_flight = in_flight.saturating_sub(1);
        }
    }

    /// The state at this moment. One whose rest is over is half-open, though nobody came yet.
    pub(super) fn state(&self, now: Instant) -> State {
        match self.phase {
            Phase::Closed => State::Closed,
            Phase::Open { until } if until > now => State::Open,
            Phase::Open { .. } | Phase::HalfOpen { .. } => State::HalfOpen,
        }
    }

    /// What is left of its rest, while it is open.
    pub(super) fn retry_after(&self, now: Instant) -> Option<Duration> {
        match self.phase {
            Phase::Open { until } if until > now => Some(until - now),
            _ => None,
        }
    }

    /// How the calls of the last ten seconds ended.
    pub(super) fn counts(&self, now: Instant) -> Counts {
        self.window.counts(now)
    }

    fn open(&mut self, rest: Duration, now: Instant) {
        self.rest = rest;
        self.enter(Phase::Open { until: now + rest });
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.epoch += 1;
    }
}

/// Whether so many calls went wrong that the next ones should not be made. What failed where
/// slowness is counted, too, failed by its deadline: it was slow.
fn is_ill(counts: Counts) -> bool {
    let calls = u64::from(counts.calls);
    let faults = u64::from(counts.faults);
    let slow = u64::from(counts.slow) + faults;
    counts.calls >= FEWEST_CALLS
        && (faults * 100 >= calls * MOST_FAULTS || slow * 100 >= calls * MOST_SLOW)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A circuit and its clock.
    struct Bench {
        circuit: Circuit,
        now: Instant,
    }

    impl Bench {
        fn new() -> Self {
            let now = Instant::now();
            Bench {
                circuit: Circuit::new(now),
                now,
            }
        }

        fn opened() -> Self {
            let mut bench = Bench::new();
            bench.calls(10, Rating::Fault);
            assert_eq!(bench.state(), State::Open);
            bench
        }

        fn wait(&mut self, time: Duration) {
            self.now += time;
        }

        fn admit(&mut self) -> Result<Admission, NotAdmitted> {
            self.circuit.admit(self.now)
        }

        fn settle(&mut self, admission: Admission, rating: Rating) -> Option<State> {
            self.circuit.settle(admission, rating, self.now)
        }

        /// Calls one after the other.
        fn calls(&mut self, count: usize, rating: Rating) {
            for _ in 0..count {
                let admission = self.admit().unwrap();
                self.settle(admission, rating);
            }
        }

        fn state(&self) -> State {
            self.circuit.state(self.now)
        }

        fn rest(&mut self) -> Duration {
            let refused = self.admit().unwrap_err();
            assert_eq!(refused.state, State::Open);
            refused.retry_after
        }
    }

    #[test]
    fn half_of_the_calls_failing_opens_it_once_there_were_enough() {
        let mut bench = Bench::new();
        bench.calls(9, Rating::Fault);
        assert_eq!(bench.state(), State::Closed);
        let admission = bench.admit().unwrap();
        assert_eq!(bench.settle(admission, Rating::Fault), Some(State::Open));
        assert_eq!(bench.rest(), 5 * SECOND);

        let mut bench = Bench::new();
        bench.calls(11, Rating::Good);
        bench.calls(10, Rating::Fault);
        assert_eq!(bench.state(), State::Closed, "10 of 21");
        bench.calls(1, Rating::Fault);
        assert_eq!(bench.state(), State::Open, "11 of 22");
    }

    #[test]
    fn four_of_five_calls_being_slow_opens_it_without_a_fault() {
        let mut bench = Bench::new();
        bench.calls(3, Rating::Good);
        bench.calls(11, Rating::Slow);
        assert_eq!(bench.state(), State::Closed, "11 of 14");
        bench.calls(1, Rating::Slow);
        assert_eq!(bench.state(), State::Open, "12 of 15");
    }

    #[test]
    fn a_call_that_failed_by_its_deadline_was_slow_too() {
        let mut bench = Bench::new();
        bench.calls(2, Rating::Good);
        bench.calls(4, Rating::Fault);
        bench.calls(3, Rating::Slow);
        assert_eq!(bench.state(), State::Closed);
        bench.calls(1, Rating::Slow);
        assert_eq!(bench.state(), State::Open, "4 faults and 4 slow of 10");
    }

    #[test]
    fn faults_of_more_than_ten_seconds_ago_are_forgotten() {
        let mut bench = Bench::new();
        bench.calls(9, Rating::Fault);
        bench.wait(10 * SECOND);
        bench.calls(9, Rating::Fault);
        assert_eq!(bench.state(), State::Closed);
    }

    #[test]
    fn after_its_rest_three_probes_pass_at_a_time_and_three_successes_close_it() {
        let mut bench = Bench::opened();
        bench.wait(5 * SECOND - Duration::from_millis(1));
        assert_eq!(bench.rest(), Duration::from_millis(1));
        bench.wait(Duration::from_millis(1));
        assert_eq!(bench.state(), State::HalfOpen);
        let [first, second, third] = [(); 3].map(|()| bench.admit().unwrap());
        let refused = bench.admit().unwrap_err();
        assert_eq!(refused.state, State::HalfOpen);
        assert_eq!(refused.retry_after, SECOND);
        assert_eq!(bench.settle(first, Rating::Good), None);
        // Its slot is free again: a probe that hangs holds up nobody.
        let fourth = bench.admit().unwrap();
        assert!(bench.admit().is_err());
        assert_eq!(bench.settle(second, Rating::Good), None);
        assert_eq!(bench.settle(fourth, Rating::Good), Some(State::Closed));
        assert_eq!(bench.settle(third, Rating::Fault), None, "an older epoch");
        assert_eq!(bench.circuit.counts(bench.now), Counts::default());
    }

    #[test]
    fn a_probe_that_fails_or_is_slow_opens_it_for_twice_as_long_up_to_a_minute() {
        let mut bench = Bench::opened();
        for (rest, rating) in [
            (5, Rating::Fault),
            (10, Rating::Slow),
            (20, Rating::Fault),
            (40, Rating::Fault),
            (60, Rating::Fault),
            (60, Rating::Fault),
        ] {
            assert_eq!(bench.rest(), rest * SECOND);
            bench.wait(rest * SECOND);
            let probe = bench.admit().unwrap();
            assert_eq!(bench.settle(probe, rating), Some(State::Open));
        }
        bench.wait(60 * SECOND);
        bench.calls(3, Rating::Good);
        assert_eq!(bench.state(), State::Closed);
        bench.calls(10, Rating::Fault);
        assert_eq!(bench.rest(), 5 * SECOND, "it closed in between");
    }

    #[test]
    fn a_probe_that_is_given_back_frees_its_slot_and_counts_nothing() {
        let mut bench = Bench::opened();
        bench.wait(5 * SECOND);
        for _ in 0..10 {
            let probes = [(); 3].map(|()| bench.admit().unwrap());
            assert!(bench.admit().is_err());
            for probe in probes {
                bench.circuit.give_back(probe);
            }
        }
        assert_eq!(bench.state(), State::HalfOpen);
        bench.calls(2, Rating::Good);
        assert_eq!(bench.state(), State::HalfOpen);
    }

    #[test]
    fn calls_from_before_it_opened_change_nothing_when_they_end() {
        let mut bench = Bench::new();
        let old = [(); 4].map(|()| bench.admit().unwrap());
        bench.calls(10, Rating::Fault);
        bench.wait(5 * SECOND);
        let probe = bench.admit().unwrap();
        for (admission, rating) in old
            .into_iter()
            .zip([Rating::Good, Rating::Fault].iter().cycle())
        {
            assert_eq!(bench.settle(admission, *rating), None);
        }
        // Nor does it free a probe's slot.
        let more = [bench.admit().unwrap(), bench.admit().unwrap()];
        assert!(bench.admit().is_err());
        for admission in [probe].into_iter().chain(more) {
            bench.circuit.give_back(admission);
        }
    }

    #[derive(Clone, Debug)]
    enum Act {
        Admit,
        End(usize, Option<Rating>),
        Wait(u64),
    }

    fn act() -> impl Strategy<Value = Act> {
        let rating = prop_oneof![
            Just(None),
            Just(Some(Rating::Good)),
            Just(Some(Rating::Slow)),
            Just(Some(Rating::Fault)),
        ];
        prop_oneof![
            4 => Just(Act::Admit),
            4 => (any::<usize>(), rating).prop_map(|(which, rating)| Act::End(which, rating)),
            1 => (0..20_000_u64).prop_map(Act::Wait),
        ]
    }

    proptest! {
        #[test]
        fn never_more_probes_than_there_may_be_and_never_open_without_a_fault(
            acts in prop::collection::vec(act(), 1..400)
        ) {
            let mut bench = Bench::new();
            let mut running = Vec::new();
            let mut faults = 0;
            for act in acts {
                match act {
                    Act::Admit => running.extend(bench.admit()),
                    Act::End(which, rating) if !running.is_empty() => {
                        let admission = running.swap_remove(which % running.len());
                        match rating {
                            None => bench.circuit.give_back(admission),
                            Some(rating) => {
                                faults += u32::from(rating != Rating::Good);
                                let became = bench.settle(admission, rating);
                                prop_assert!(became != Some(State::Open) || rating != Rating::Good);
                            }
                        }
                    }
                    Act::End(..) => {}
                    Act::Wait(millis) => bench.wait(Duration::from_millis(millis)),
                }
                let epoch = bench.circuit.epoch;
                let of_now = running.iter().filter(|admission| admission.epoch == epoch).count();
                match &bench.circuit.phase {
                    Phase::HalfOpen { in_flight, passed } => {
                        prop_assert_eq!(of_now, *in_flight as usize);
                        prop_assert!(*in_flight <= PROBES && *passed < PROBES);
                    }
                    Phase::Open { .. } => prop_assert_eq!(of_now, 0),
                    Phase::Closed => {}
                }
                prop_assert!(faults >= FEWEST_CALLS / 2 || bench.state() == State::Closed);
            }
        }
    }
}
