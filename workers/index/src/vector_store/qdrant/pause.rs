//! A server that was away is left alone for a second: it would cost each call its deadline. A request
//! that it did not answer is no proof of that, several in a row are.
//!
//! After that one call finds out for all, a second at a time, until it is there again.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long nobody asks after a failure.
const PAUSE: Duration = Duration::from_secs(1);
/// How many requests in a row it leaves without an answer until it counts as away.
const DOUBTS: u32 = 3;

/// Whether the server is there.
#[derive(Debug, Default)]
pub(super) struct Pause(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// When it may be asked again; `None` while it is there.
    until: Option<Instant>,
    /// Requests without an answer since it gave the last one.
    doubts: u32,
}

impl Pause {
    /// Whether to ask now. Who is told to, while the server was away last, asks for all: others
    /// are told not to for another second.
    pub(super) fn admits(&self, now: Instant) -> bool {
        let mut state = self.0.lock();
        match state.until {
            Some(end) if now < end => return false,
            Some(_over) => state.until = Some(now + PAUSE),
            None => {}
        }
        true
    }

    /// Whether nobody is to ask now. Unlike [`Pause::admits`], lets nobody in.
    pub(super) fn is_on(&self, now: Instant) -> bool {
        self.0.lock().until.is_some_and(|end| now < end)
    }

    /// The server answered.
    pub(super) fn end(&self) {
        *self.0.lock() = State::default();
    }

    /// The server was away.
    pub(super) fn begin(&self, now: Instant) {
        self.0.lock().until = Some(now + PAUSE);
    }

    /// There was no answer, which may be the request's doing.
    pub(super) fn doubt(&self, now: Instant) {
        let mut state = self.0.lock();
        state.doubts = state.doubts.saturating_add(1);
        if state.doubts >= DOUBTS {
            state.until = Some(now + PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_there_is_asked_by_all() {
        let (pause, now) = (Pause::default(), Instant::now());
        assert!(pause.admits(now) && pause.admits(now));
    }

    #[test]
    fn only_several_requests_in_a_row_without_an_answer_make_a_server_one_that_is_away() {
        let (pause, now) = (Pause::default(), Instant::now());
        for _ in 0..4 {
            pause.doubt(now);
            pause.doubt(now);
            assert!(pause.admits(now));
            pause.end();
        }
        (0..3).for_each(|_| pause.doubt(now));
        assert!(!pause.admits(now));
        assert!(pause.admits(now + PAUSE), "one finds out");
        pause.doubt(now + PAUSE);
        assert!(!pause.admits(now + PAUSE + PAUSE / 2));
        pause.end();
        assert!(pause.admits(now));
    }

    #[test]
    fn a_server_that_was_away_is_asked_by_one_a_second_until_it_answers() {
        let (pause, now) = (Pause::default(), Instant::now());
        pause.begin(now);
        assert!(!pause.admits(now) && !pause.admits(now + PAUSE / 2));
        let later = now + PAUSE;
        assert!(
            pause.is_on(now) && !pause.is_on(later),
            "looking costs no turn"
        );
        assert!(pause.admits(later), "one finds out");
        assert!(!pause.admits(later), "the others wait for it");
        assert!(pause.admits(later + PAUSE), "it never came back: the next");
        pause.end();
        assert!(pause.admits(later) && pause.admits(later));
    }
}
