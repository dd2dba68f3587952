//! A server that was away is left alone for a second: it would cost each call its deadline.
//!
//! After that one call finds out for all, a second at a time, until it is there again.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long nobody asks after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// When the server may be asked again; `None` while it is there.
#[derive(Debug, Default)]
pub(super) struct Pause {
    until: Mutex<Option<Instant>>,
}

impl Pause {
    /// Whether to ask now. Who is told to, while the server was away last, asks for all: others
    /// are told not to for another second.
    pub(super) fn admits(&self, now: Instant) -> bool {
        let mut until = self.until.lock();
        match *until {
            Some(end) if now < end => return false,
            Some(_over) => *until = Some(now + PAUSE),
            None => {}
        }
        true
    }

    /// The server answered.
    pub(super) fn end(&self) {
        *self.until.lock() = None;
    }

    /// The server was away.
    pub(super) fn begin(&self, now: Instant) {
        *self.until.lock() = Some(now + PAUSE);
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
    fn a_server_that_was_away_is_asked_by_one_a_second_until_it_answers() {
        let (pause, now) = (Pause::default(), Instant::now());
        pause.begin(now);
        assert!(!pause.admits(now) && !pause.admits(now + PAUSE / 2));
        let later = now + PAUSE;
        assert!(pause.admits(later), "one finds out");
        assert!(!pause.admits(later), "the others wait for it");
        assert!(pause.admits(later + PAUSE), "it never came back: the next");
        pause.end();
        assert!(pause.admits(later) && pause.admits(later));
    }
}
