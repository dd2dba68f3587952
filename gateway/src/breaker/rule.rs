//! When the circuits of calls open: by the share of faults and slow calls of the last ten seconds.

use std::time::Duration;

use archway_resilience::{Circuit, OpenRule, Settings};
use tokio::time::Instant;

use super::window::{Rating, Window};

/// Calls that must have ended within the window before ratios mean anything. With fewer, two
/// unlucky calls of a quiet hour would open the circuit.
const FEWEST_CALLS: u32 = 10;
/// Percentage of faults that opens a circuit. With half of the calls failing, the rest are not
/// worth the callers' wait.
const MOST_FAULTS: u64 = 50;
/// Percentage of slow calls that opens it. Higher than that of faults, since a slow call did
/// answer.
const MOST_SLOW: u64 = 80;

/// The first open time is about the time that a worker takes to restart.
pub(super) const SETTINGS: Settings = Settings {
    first_open_time: Duration::from_secs(5),
    longest_open_time: Duration::from_secs(60),
    probes: 3,
    probe_wait: Duration::from_secs(1),
    longest_probe: None,
};

/// A circuit of calls.
pub(super) type CallCircuit = Circuit<Window>;

impl OpenRule for Window {
    type Rating = Rating;

    fn new(now: Instant) -> Self {
        Window::starting(now)
    }

    fn is_success(rating: Rating) -> bool {
        rating == Rating::Good
    }

    fn count(&mut self, rating: Rating, now: Instant) {
        self.add(rating, now);
    }

    /// In a circuit that counts slowness, a fault is a missed deadline: it counts as slow, too.
    fn should_open(&self, now: Instant) -> bool {
        let counts = self.counts(now);
        let calls = u64::from(counts.calls);
        let faults = u64::from(counts.faults);
        let slow = u64::from(counts.slow) + faults;
        counts.calls >= FEWEST_CALLS
            && (faults * 100 >= calls * MOST_FAULTS || slow * 100 >= calls * MOST_SLOW)
    }
}

#[cfg(test)]
mod tests {
    use archway_resilience::CircuitState;

    use super::*;

    /// A circuit and its clock.
    struct Fixture {
        circuit: CallCircuit,
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

        /// Runs calls one after the other.
        fn calls(&mut self, count: usize, rating: Rating) {
            for _ in 0..count {
                let admission = self.circuit.admit(self.now).unwrap();
                self.circuit.settle(admission, rating, self.now);
            }
        }

        fn state(&self) -> CircuitState {
            self.circuit.state(self.now)
        }
    }

    #[test]
    fn half_of_at_least_ten_calls_failing_opens_it() {
        let mut fixture = Fixture::new();
        fixture.calls(9, Rating::Fault);
        assert_eq!(fixture.state(), CircuitState::Closed);
        fixture.calls(1, Rating::Fault);
        let open_time = fixture.circuit.retry_after(fixture.now);
        assert_eq!(open_time, Some(SETTINGS.first_open_time));

        let mut fixture = Fixture::new();
        fixture.calls(11, Rating::Good);
        fixture.calls(10, Rating::Fault);
        assert_eq!(fixture.state(), CircuitState::Closed, "10 of 21");
        fixture.calls(1, Rating::Fault);
        assert_eq!(fixture.state(), CircuitState::Open, "11 of 22");
    }

    #[test]
    fn four_of_five_calls_being_slow_opens_it() {
        let mut fixture = Fixture::new();
        fixture.calls(3, Rating::Good);
        fixture.calls(11, Rating::Slow);
        assert_eq!(fixture.state(), CircuitState::Closed, "11 of 14");
        fixture.calls(1, Rating::Slow);
        assert_eq!(fixture.state(), CircuitState::Open, "12 of 15");
    }

    #[test]
    fn a_missed_deadline_counts_as_slow_too() {
        let mut fixture = Fixture::new();
        fixture.calls(2, Rating::Good);
        fixture.calls(4, Rating::Fault);
        fixture.calls(3, Rating::Slow);
        assert_eq!(fixture.state(), CircuitState::Closed);
        fixture.calls(1, Rating::Slow);
        assert_eq!(
            fixture.state(),
            CircuitState::Open,
            "4 faults and 4 slow of 10"
        );
    }

    #[test]
    fn faults_of_more_than_ten_seconds_ago_are_forgotten() {
        let mut fixture = Fixture::new();
        fixture.calls(9, Rating::Fault);
        fixture.now += Duration::from_secs(10);
        fixture.calls(9, Rating::Fault);
        assert_eq!(fixture.state(), CircuitState::Closed);
    }
}
