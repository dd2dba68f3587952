//! How the calls of the last ten seconds ended: what a circuit judges by.
//!
//! Whole seconds, so that a count is one addition and memory does not follow the calls. A second
//! that slid out of the window is cleared when its place is needed again, not by a timer.

use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

/// What the window spans.
pub(super) const SPAN: Duration = Duration::from_secs(SECONDS as u64);
const SECONDS: u32 = 10;

/// How one call ended, as far as a circuit cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rating {
    /// In good time.
    Good,
    /// Well, but it took longer than half of its time.
    Slow,
    /// Ill.
    Fault,
}

/// Ended calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// All of them.
    pub(crate) calls: u32,
    /// Those that failed by a fault of whoever was called.
    pub(crate) faults: u32,
    /// Those that were slow and did not fail.
    pub(crate) slow: u32,
}

/// The last ten seconds.
#[derive(Debug)]
pub(super) struct Window {
    /// From where the seconds are numbered.
    origin: Instant,
    seconds: [Second; SECONDS as usize],
}

#[derive(Clone, Copy, Debug, Default)]
struct Second {
    number: u32,
    counts: Counts,
}

impl Window {
    /// Nothing has ended yet.
    pub(super) fn new(now: Instant) -> Self {
        Window {
            origin: now,
            seconds: Default::default(),
        }
    }

    /// Counts a call that ended now.
    pub(super) fn count(&mut self, rating: Rating, now: Instant) {
        let number = self.number(now);
        let second = &mut self.seconds[(number % SECONDS) as usize];
        if second.number < number {
            *second = Second {
                number,
                counts: Counts::default(),
            };
        }
        second.counts.count(rating);
    }

    /// What ended within the window.
    pub(super) fn counts(&self, now: Instant) -> Counts {
        let number = self.number(now);
        let within = self.seconds.iter();
        within
            .filter(|second| second.number + SECONDS > number)
            .fold(Counts::default(), |sum, second| sum.plus(second.counts))
    }

    fn number(&self, now: Instant) -> u32 {
        let passed = now.saturating_duration_since(self.origin).as_secs();
        u32::try_from(passed).unwrap_or(u32::MAX)
    }
}

impl Counts {
    fn count(&mut self, rating: Rating) {
        self.calls = self.calls.saturating_add(1);
        match rating {
            Rating::Good => {}
            Rating::Slow => self.slow = self.slow.saturating_add(1),
            Rating::Fault => self.faults = self.faults.saturating_add(1),
        }
    }

    fn plus(self, other: Counts) -> Counts {
        Counts {
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
    fn what_ended_longer_ago_than_the_window_is_not_counted() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut window = Window::new(start);
        window.count(Rating::Fault, at(0));
        window.count(Rating::Slow, at(4));
        window.count(Rating::Good, at(9));
        let counts = |calls, faults, slow| Counts {
            calls,
            faults,
            slow,
        };
        assert_eq!(window.counts(at(9)), counts(3, 1, 1));
        assert_eq!(window.counts(at(10)), counts(2, 0, 1));
        // The place of second 4 is taken again.
        window.count(Rating::Good, at(14));
        assert_eq!(window.counts(at(14)), counts(2, 0, 0));
        assert_eq!(window.counts(at(1_000)), counts(0, 0, 0));
    }
}
