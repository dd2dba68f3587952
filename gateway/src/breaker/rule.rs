//! When the circuits of calls open: by the share of faults and slow calls of the last ten seconds.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    circuit::{Circuit, OpenRule, Settings},
    window::{Rating, Window},
};

/// Calls that must have ended within the window before ratios mean anything. With fewer, two
/// unlucky calls of a quiet hour would open the circuit.
pub(super) const FEWEST_CALLS: u32 = 10;
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
};

/// A circuit of calls.
pub(super) type CallCircuit = Circuit<Window>;

impl OpenRule for Window {
    type Rating = Rating;
    type Time = Instant;

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
