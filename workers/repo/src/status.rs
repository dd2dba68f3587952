//! When the next look at a work tree's dirtiness is due, and what the last one said.
//!
//! A look costs as much as a search, so calls never wait for one: one of them is told to run it
//! afterwards. What it said is about one commit, and says nothing of any other.

use gix::ObjectId;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

/// How old a look may be before the next one is due.
const AGE: Duration = Duration::from_secs(2);

/// The last look at a work tree.
#[derive(Debug, Default)]
pub(super) struct Status(Mutex<Look>);

#[derive(Debug, Default)]
struct Look {
    is_claimed: bool,
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

    /// True for one caller, who then has to [`Status::begin`].
    pub(super) fn claim(&self, commit: ObjectId) -> bool {
        let mut look = self.0.lock();
        let is_fresh = look.ended.is_some_and(|ended| ended.elapsed() < AGE)
            && look.said.is_some_and(|(about, _)| about == commit);
        if look.is_claimed || is_fresh {
            return false;
        }
        look.is_claimed = true;
        true
    }

    /// Begins the look that was claimed.
    pub(super) fn begin(&self) -> Looking<'_> {
        Looking {
            status: self,
            said: None,
        }
    }
}

/// A look that runs. It ends when this is dropped, however that comes; one that failed says
/// nothing.
pub(super) struct Looking<'a> {
    status: &'a Status,
    said: Option<(ObjectId, bool)>,
}

impl Looking<'_> {
    /// What was seen: whether the work tree of this commit is dirty.
    pub(super) fn says(&mut self, said: Option<(ObjectId, bool)>) {
        self.said = said;
    }
}

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        let mut look = self.status.0.lock();
        look.is_claimed = false;
        look.ended = Some(Instant::now());
        look.said = self.said.or(look.said);
    }
}
