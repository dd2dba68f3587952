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
pub(super) struct Status(Mutex<LastCheck>);

#[derive(Debug, Default)]
struct LastCheck {
    is_claimed: bool,
    ended: Option<Instant>,
    result: Option<(ObjectId, bool)>,
}

impl Status {
    /// What the last look said, if it was about this commit.
    pub(super) fn of(&self, commit: ObjectId) -> Option<bool> {
        self.0
            .lock()
            .result
            .filter(|(about, _)| *about == commit)
            .map(|(_, dirty)| dirty)
    }

    /// True for one caller, who then has to [`Status::begin`].
    pub(super) fn claim(&self, commit: ObjectId) -> bool {
        let mut last = self.0.lock();
        let is_fresh = last.ended.is_some_and(|ended| ended.elapsed() < AGE)
            && last.result.is_some_and(|(about, _)| about == commit);
        if last.is_claimed || is_fresh {
            return false;
        }
        last.is_claimed = true;
        true
    }

    /// Begins the look that was claimed.
    pub(super) fn begin(&self) -> StatusCheck<'_> {
        StatusCheck {
            status: self,
            result: None,
        }
    }
}

/// A look that runs. It ends when this is dropped, however that comes; one that failed says
/// nothing.
pub(super) struct StatusCheck<'a> {
    status: &'a Status,
    result: Option<(ObjectId, bool)>,
}

impl StatusCheck<'_> {
    /// What was seen: whether the work tree of this commit is dirty.
    pub(super) fn record(&mut self, result: Option<(ObjectId, bool)>) {
        self.result = result;
    }
}

impl Drop for StatusCheck<'_> {
    fn drop(&mut self) {
        let mut last = self.status.0.lock();
        last.is_claimed = false;
        last.ended = Some(Instant::now());
        last.result = self.result.or(last.result);
    }
}
