//! When the next look at a work tree's dirtiness is due, and what the last one said.
//!
//! A look costs as much as a search, so calls never wait for one: one of them is told to run it
//! afterwards. What it said is about one commit, and says nothing of any other.

use gix::ObjectId;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

/// How old a look may be before the next one is due.
const AGE: Duration = Duration::from_secs(2);

/// After how long a look that was begun, and not ended, is given up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The last look at a work tree.
#[derive(Debug, Default)]
pub(super) struct Status(Mutex<Look>);

#[derive(Debug, Default)]
struct Look {
    begun: Option<Instant>,
    ended: Option<Instant>,
    said: Option<(ObjectId, bool)>,
}

impl Status {
    /// What the last look said, if it was about this commit.
    pub(super) fn of(&self, commit: ObjectId) -> Option<bool> {
        self.0
            .lock()
            .said
            .filter(|(about, _)| *about == commit)
            .map(|(_, dirty)| dirty)
    }

    /// True for one caller, who then has to look and call [`Status::end`].
    pub(super) fn claim(&self, commit: ObjectId) -> bool {
        let mut look = self.0.lock();
        let is_running = look.begun.is_some_and(|begun| begun.elapsed() < PATIENCE);
        let is_fresh = look.ended.is_some_and(|ended| ended.elapsed() < AGE)
            && look.said.is_some_and(|(about, _)| about == commit);
        if is_running || is_fresh {
            return false;
        }
        look.begun = Some(Instant::now());
        true
    }

    /// Records a look; one that failed says nothing.
    pub(super) fn end(&self, said: Option<(ObjectId, bool)>) {
        let mut look = self.0.lock();
        look.begun = None;
        look.ended = Some(Instant::now());
        look.said = said.or(look.said);
    }
}
