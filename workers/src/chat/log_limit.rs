//! Logs failed requests at most once a minute, with the number of suppressed ones: agents must not
//! be able to fill the log. Metrics count all failures.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Minimum time between two log lines.
const PAUSE: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct LogLimit(Mutex<LogState>);

#[derive(Debug, Default)]
struct LogState {
    last: Option<Instant>,
    suppressed: u64,
}

impl LogLimit {
    /// Whether to log a failure now. Returns the number suppressed since the last logged one.
    pub(super) fn allow(&self) -> Option<u64> {
        let mut state = self.0.lock();
        if state.last.is_some_and(|at| at.elapsed() < PAUSE) {
            state.suppressed += 1;
            return None;
        }
        state.last = Some(Instant::now());
        Some(std::mem::take(&mut state.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_failure_a_minute_is_logged_and_the_others_are_counted() {
        let limit = LogLimit::default();
        assert_eq!(limit.allow(), Some(0));
        for _ in 0..7 {
            assert_eq!(limit.allow(), None);
        }
        advance(PAUSE).await;
        assert_eq!(limit.allow(), Some(7));
        assert_eq!(limit.allow(), None);
        advance(PAUSE * 10).await;
        assert_eq!(limit.allow(), Some(1));
    }
}
