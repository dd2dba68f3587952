//! Who waits for a server that says nothing: a few searches. Whoever comes after them waits for a
//! sign of life first, which one request fetches for all, and goes away if none comes soon.
//!
//! A server that is only busy gives the sign at once, so a burst of searches is let in whole.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Duration, Instant};

/// Searches that may wait for a server of which nothing was heard lately.
pub(super) const FEW: usize = 8;
/// How long a sign of life counts.
const LATELY: Duration = Duration::from_millis(250);

/// The searches under way, and when the server was heard of.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    state: Mutex<State>,
    /// Told when the server was heard of, or did not give the sign.
    pub(super) news: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    heard: Option<Instant>,
    /// Somebody asks for a sign of life.
    is_asked: bool,
}

/// What a caller may do.
pub(super) enum Entry {
    /// Ask; the place is given back when it is dropped.
    Place(Place),
    /// Ask for a sign of life, for all.
    Ask,
    /// Wait for news.
    Wait,
}

/// A search that may be under way.
pub(super) struct Place(Arc<Crowd>);

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.waiting = state.waiting.saturating_sub(1);
    }
}

impl Crowd {
    /// What a search that comes now may do.
    pub(super) fn enter(self: &Arc<Self>, now: Instant) -> Entry {
        let mut state = self.state.lock();
        let is_there = state.heard.is_some_and(|heard| now < heard + LATELY);
        if is_there || state.waiting < FEW {
            state.waiting += 1;
            return Entry::Place(Place(Arc::clone(self)));
        }
        match std::mem::replace(&mut state.is_asked, true) {
            true => Entry::Wait,
            false => Entry::Ask,
        }
    }

    /// The server answered something.
    pub(super) fn heard(&self, now: Instant) {
        self.state.lock().heard = Some(now);
        self.news.notify_waiters();
    }

    /// The request for a sign of life ended, whatever came of it.
    pub(super) fn asked(&self) {
        self.state.lock().is_asked = false;
        self.news.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_in(entry: &Entry) -> bool {
        matches!(entry, Entry::Place(_))
    }

    #[test]
    fn few_wait_for_a_silent_server_and_one_of_the_others_asks_for_a_sign() {
        let (crowd, now) = (Arc::new(Crowd::default()), Instant::now());
        let mut places: Vec<Entry> = (0..FEW).map(|_| crowd.enter(now)).collect();
        assert!(places.iter().all(is_in));
        assert!(matches!(crowd.enter(now), Entry::Ask));
        assert!(matches!(crowd.enter(now), Entry::Wait));
        crowd.asked();
        assert!(matches!(crowd.enter(now), Entry::Ask), "it did not come");
        places.pop();
        assert!(is_in(&crowd.enter(now)), "a place was given back");
    }

    #[test]
    fn a_server_that_was_heard_of_is_asked_by_all() {
        let (crowd, now) = (Arc::new(Crowd::default()), Instant::now());
        crowd.heard(now);
        let places: Vec<Entry> = (0..10 * FEW).map(|_| crowd.enter(now)).collect();
        assert!(places.iter().all(is_in));
        assert!(!is_in(&crowd.enter(now + LATELY)), "that is long ago");
    }
}
