//! Bounds the searches that wait for a silent server: only a few do. Later ones first wait for a
//! sign of life, which one health check fetches for all, and fail if it does not come soon.
//!
//! A server that is merely busy passes the check at once, so a burst of searches is admitted whole.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

/// Searches in flight while nothing was heard from the server recently.
pub(super) const WHILE_SILENT: usize = 8;
/// How long an answer of the server counts as recent.
const RECENT: Duration = Duration::from_millis(250);

/// Searches in flight, and when the server last answered.
#[derive(Debug, Default)]
pub(super) struct SearchPermits {
    state: Mutex<State>,
    /// Notified when the server answers, and when a health check ends.
    pub(super) changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    searches: usize,
    last_answer: Option<Instant>,
    /// A health check is in flight.
    is_checking: bool,
}

/// The next step of an arriving search.
pub(super) enum Admission {
    /// Run.
    Permit(SearchPermit),
    /// Check the server's health, on behalf of all waiting searches.
    CheckHealth,
    /// Wait for a notification.
    Wait,
}

/// Admission of one search, released on drop.
pub(super) struct SearchPermit(Arc<SearchPermits>);

impl Drop for SearchPermit {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.searches = state.searches.saturating_sub(1);
    }
}

impl SearchPermits {
    /// Decides for a search that arrives now.
    pub(super) fn enter(self: &Arc<Self>, now: Instant) -> Admission {
        let mut state = self.state.lock();
        let is_alive = state
            .last_answer
            .is_some_and(|answer| now < answer + RECENT);
        if is_alive || state.searches < WHILE_SILENT {
            state.searches += 1;
            return Admission::Permit(SearchPermit(Arc::clone(self)));
        }
        match std::mem::replace(&mut state.is_checking, true) {
            true => Admission::Wait,
            false => Admission::CheckHealth,
        }
    }

    /// The server answered a request.
    pub(super) fn answered(&self, now: Instant) {
        self.state.lock().last_answer = Some(now);
        self.changed.notify_waiters();
    }

    /// The health check ended, with either outcome.
    pub(super) fn check_ended(&self) {
        self.state.lock().is_checking = false;
        self.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_admitted(admission: &Admission) -> bool {
        matches!(admission, Admission::Permit(_))
    }

    #[test]
    fn few_wait_for_a_silent_server_and_one_more_checks_its_health() {
        let (permits, now) = (Arc::new(SearchPermits::default()), Instant::now());
        let mut admissions: Vec<Admission> =
            (0..WHILE_SILENT).map(|_| permits.enter(now)).collect();
        assert!(admissions.iter().all(is_admitted));
        assert!(matches!(permits.enter(now), Admission::CheckHealth));
        assert!(matches!(permits.enter(now), Admission::Wait));
        permits.check_ended();
        assert!(
            matches!(permits.enter(now), Admission::CheckHealth),
            "the check failed"
        );
        admissions.pop();
        assert!(is_admitted(&permits.enter(now)), "a permit was released");
    }

    #[test]
    fn a_server_that_answered_recently_gets_all_searches() {
        let (permits, now) = (Arc::new(SearchPermits::default()), Instant::now());
        permits.answered(now);
        let admissions: Vec<Admission> =
            (0..10 * WHILE_SILENT).map(|_| permits.enter(now)).collect();
        assert!(admissions.iter().all(is_admitted));
        assert!(
            !is_admitted(&permits.enter(now + RECENT)),
            "no longer recent"
        );
    }
}
