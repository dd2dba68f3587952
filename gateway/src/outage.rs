//! Log lines about something that keeps failing: one when it begins, at most one a minute while it lasts,
//! and one when it is over.
//!
//! Beside the path. Without it each retry and each call would repeat the line for as long as Postgres
//! is away, and hide the one that says what to do.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Between two lines about failures. Holds across outages, too: one that comes and goes is no flood.
const BETWEEN: Duration = Duration::from_secs(60);

/// What was logged of one kind of failure.
#[derive(Debug, Default)]
pub(crate) struct Outage(Mutex<OutageState>);

#[derive(Debug, Default)]
struct OutageState {
    /// When a failure was logged last.
    logged: Option<Instant>,
    /// Whether the end of what was logged is still to be logged.
    lasts: bool,
}

impl Outage {
    /// Notes a failure. Returns whether to log it.
    pub(crate) fn failed(&self) -> bool {
        let mut state = self.0.lock();
        if state.logged.is_some_and(|at| at.elapsed() < BETWEEN) {
            return false;
        }
        *state = OutageState {
            logged: Some(Instant::now()),
            lasts: true,
        };
        true
    }

    /// Notes a success. Returns whether to log that it works again.
    pub(crate) fn ended(&self) -> bool {
        std::mem::take(&mut self.0.lock().lasts)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_logged_when_it_begins_each_minute_and_when_it_is_over() {
        let outage = Outage::default();
        assert!(!outage.ended(), "nothing failed yet");
        let mut logged = 0;
        for _ in 0..90 {
            logged += u32::from(outage.failed());
            advance(Duration::from_secs(2)).await;
        }
        assert_eq!(logged, 3, "of 90 failures in three minutes");
        assert!(outage.ended());
        assert!(!outage.ended(), "it is said once");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_that_come_and_go_are_logged_once_a_minute() {
        let outage = Outage::default();
        let mut lines = 0;
        for _ in 0..60 {
            lines += u32::from(outage.failed()) + u32::from(outage.ended());
            advance(Duration::from_secs(1)).await;
        }
        assert_eq!(lines, 2);
        assert!(outage.failed(), "the next minute has its own line");
    }
}
