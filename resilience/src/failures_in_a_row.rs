//! A rule for services that rarely fail: a circuit opens after some failures in a row, or after one
//! certain outage.

use tokio::time::Instant;

use super::OpenRule;

/// Opens after `LIMIT` failures without a success between them, and after one outage.
#[derive(Debug)]
pub struct FailuresInARow<const LIMIT: u32> {
    failures: u32,
}

/// How one call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The service answered.
    Success,
    /// The service failed, or the call did.
    Failure,
    /// The service is down for all callers.
    Outage,
}

impl<const LIMIT: u32> OpenRule for FailuresInARow<LIMIT> {
    type Rating = Outcome;

    fn new(_now: Instant) -> Self {
        FailuresInARow { failures: 0 }
    }

    fn is_success(outcome: Outcome) -> bool {
        outcome == Outcome::Success
    }

    fn count(&mut self, outcome: Outcome, _now: Instant) {
        self.failures = match outcome {
            Outcome::Success => 0,
            Outcome::Failure => self.failures.saturating_add(1),
            Outcome::Outage => LIMIT,
        };
    }

    fn should_open(&self, _now: Instant) -> bool {
        self.failures >= LIMIT
    }
}
