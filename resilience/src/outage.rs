//! Log lines about a service that keeps failing: one when the outage begins, at most one a minute
//! while it lasts, and one when it is over.
//!
//! Without this, each retry and each call would repeat the line and hide others.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use super::LogLimit;

/// Between two lines about failures. Failures that come and go share it.
const INTERVAL: Duration = Duration::from_secs(60);

/// The log state of one kind of failure.
#[derive(Debug)]
pub struct Outage {
    lines: LogLimit,
    /// A failure was logged, and its end is not logged yet.
    lasts: AtomicBool,
}

impl Default for Outage {
    fn default() -> Self {
        Outage {
            lines: LogLimit::every(INTERVAL),
            lasts: AtomicBool::new(false),
        }
    }
}

impl Outage {
    /// Notes a failure. Returns whether to log it.
    pub fn failed(&self) -> bool {
        let is_logged = self.lines.allow().is_some();
        if is_logged {
            self.lasts.store(true, Ordering::Relaxed);
        }
        is_logged
    }

    /// Notes a success. Returns whether to log that it works again.
    pub fn ended(&self) -> bool {
        self.lasts.load(Ordering::Relaxed) && self.lasts.swap(false, Ordering::Relaxed)
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
        assert!(!outage.ended(), "once");
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
