//! What the log is told of questions in vain: one a minute, and how many others there were. What
//! agents ask must not fill it; metrics count all.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The time from one to the next.
const PAUSE: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Complaints(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    told: Option<Instant>,
    untold: u64,
}

impl Complaints {
    /// Whether the log is to be told of one now: then, how many it was not told of since the last.
    pub(super) fn tell(&self) -> Option<u64> {
        let mut state = self.0.lock();
        if state.told.is_some_and(|at| at.elapsed() < PAUSE) {
            state.untold += 1;
            return None;
        }
        state.told = Some(Instant::now());
        Some(std::mem::take(&mut state.untold))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_a_minute_is_told_and_the_others_are_counted() {
        let complaints = Complaints::default();
        assert_eq!(complaints.tell(), Some(0));
        for _ in 0..7 {
            assert_eq!(complaints.tell(), None);
        }
        advance(PAUSE).await;
        assert_eq!(complaints.tell(), Some(7));
        assert_eq!(complaints.tell(), None);
        advance(PAUSE * 10).await;
        assert_eq!(complaints.tell(), Some(1));
    }
}
