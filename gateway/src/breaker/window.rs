//! How the calls of the last ten seconds ended: the basis of a circuit's decisions.
//!
//! Counts are per whole second, so that counting is one addition and memory does not grow with
//! calls. A second that left the window is cleared when its slot is reused, without a timer.

use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

/// Length of the window.
pub(super) const SPAN: Duration = Duration::from_secs(SECONDS as u64);
const SECONDS: u32 = 10;

/// How one call ended, as a circuit rates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rating {
    /// Answered in good time.
    Good,
    /// Answered, but took longer than half of its time.
    Slow,
    /// Failed.
    Fault,
}

/// Calls that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct CallCounts {
    /// All of them.
    pub(crate) calls: u32,
    /// Those that failed through a fault of the callee, or missed their deadline in a tenant's
    /// circuit.
    pub(crate) faults: u32,
    /// Those that were slow and did not fail.
    pub(crate) slow: u32,
}

/// The last ten seconds.
#[derive(Debug)]
pub(super) struct Window {
    /// The start of second 0.
    origin: Instant,
    seconds: [Second; SECONDS as usize],
}

#[derive(Clone, Copy, Debug, Default)]
struct Second {
    number: u32,
    counts: CallCounts,
}

impl Window {
    /// An empty window.
    pub(super) fn starting(now: Instant) -> Self {
        Window {
            origin: now,
            seconds: Default::default(),
        }
    }

    /// Counts a call that ended now.
    pub(super) fn add(&mut self, rating: Rating, now: Instant) {
        let number = self.number(now);
        let second = &mut self.seconds[(number % SECONDS) as usize];
        if second.number < number {
            *second = Second {
                number,
                counts: CallCounts::default(),
            };
        }
        second.counts.add(rating);
    }

    /// The calls that ended within the window.
    pub(super) fn counts(&self, now: Instant) -> CallCounts {
        let number = self.number(now);
        let within = self.seconds.iter();
        within
            .filter(|second| second.number + SECONDS > number)
            .fold(CallCounts::default(), |sum, second| sum.plus(second.counts))
    }

    fn number(&self, now: Instant) -> u32 {
        let passed = now.saturating_duration_since(self.origin).as_secs();
        u32::try_from(passed).unwrap_or(u32::MAX)
    }
}

impl CallCounts {
    fn add(&mut self, rating: Rating) {
        self.calls = self.calls.saturating_add(1);
        match rating {
            Rating::Good => {}
            Rating::Slow => self.slow = self.slow.saturating_add(1),
            Rating::Fault => self.faults = self.faults.saturating_add(1),
        }
    }

    fn plus(self, other: CallCounts) -> CallCounts {
        CallCounts {
            calls: self.calls.saturating_add(other.calls),
            faults: self.faults.saturating_add(other.faults),
            slow: self.slow.saturating_add(other.slow),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_older_than_the_window_are_not_counted() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut window = Window::starting(start);
        window.add(Rating::Fault, at(0));
        window.add(Rating::Slow, at(4));
        window.add(Rating::Good, at(9));
        let counts = |calls, faults, slow| CallCounts {
            calls,
            faults,
            slow,
        };
        assert_eq!(window.counts(at(9)), counts(3, 1, 1));
        assert_eq!(window.counts(at(10)), counts(2, 0, 1));
        // The slot of second 4 is reused.
        window.add(Rating::Good, at(14));
        assert_eq!(window.counts(at(14)), counts(2, 0, 0));
        assert_eq!(window.counts(at(1_000)), counts(0, 0, 0));
    }
}
