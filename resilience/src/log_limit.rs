//! Bounds log lines that clients or retries could repeat without end, and hide the others.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use super::Bucket;

/// Admits one log line per interval and counts those between.
#[derive(Debug)]
pub struct LogLimit {
    lines: Bucket,
    suppressed: AtomicU64,
}

impl LogLimit {
    /// Admits one line per `interval`.
    pub fn every(interval: Duration) -> Self {
        LogLimit {
            lines: Bucket::new(NonZeroU32::MIN, interval),
            suppressed: AtomicU64::new(0),
        }
    }

    /// Whether to log now. Returns the number of lines suppressed since the last logged one.
    pub fn allow(&self) -> Option<u64> {
        if self.lines.take(1) {
            return Some(self.suppressed.swap(0, Ordering::Relaxed));
        }
        self.suppressed.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_line_per_interval_is_logged_and_the_others_are_counted() {
        let interval = Duration::from_secs(60);
        let limit = LogLimit::every(interval);
        assert_eq!(limit.allow(), Some(0));
        for _ in 0..7 {
            assert_eq!(limit.allow(), None);
        }
        advance(interval).await;
        assert_eq!(limit.allow(), Some(7));
        assert_eq!(limit.allow(), None);
        advance(interval * 10).await;
        assert_eq!(limit.allow(), Some(1));
    }
}
