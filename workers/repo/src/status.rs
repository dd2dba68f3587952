//! The last dirty check of a work tree, and when the next is due.
//!
//! A check costs as much as a search, so calls never wait for one: one of them claims it and runs
//! it afterwards. A result is checked one commit only.

use gix::ObjectId;
use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

/// Age of a result after which the next check is due.
const AGE: Duration = Duration::from_secs(2);

/// The last check of a work tree.
#[derive(Debug, Default)]
pub(super) struct Status(Mutex<LastCheck>);

#[derive(Debug, Default)]
struct LastCheck {
    is_claimed: bool,
    ended: Option<Instant>,
    result: Option<(ObjectId, bool)>,
}

impl Status {
    /// The result of the last check, if it was checked this commit.
    pub(super) fn of(&self, commit: ObjectId) -> Option<bool> {
        self.0
            .lock()
            .result
            .filter(|(checked, _)| *checked == commit)
            .map(|(_, dirty)| dirty)
    }

    /// Claims a due check. True for one caller, which then has to call [`Status::begin`].
    pub(super) fn claim(&self, commit: ObjectId) -> bool {
        let mut last = self.0.lock();
        let is_fresh = last.ended.is_some_and(|ended| ended.elapsed() < AGE)
            && last.result.is_some_and(|(checked, _)| checked == commit);
        if last.is_claimed || is_fresh {
            return false;
        }
        last.is_claimed = true;
        true
    }

    /// Begins the claimed check.
    pub(super) fn begin(&self) -> StatusCheck<'_> {
        StatusCheck {
            status: self,
            result: None,
        }
    }
}

/// A running check. It ends on drop, in every case; a failed check records no result.
pub(super) struct StatusCheck<'a> {
    status: &'a Status,
    result: Option<(ObjectId, bool)>,
}

impl StatusCheck<'_> {
    /// Records whether the work tree of a commit is dirty.
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
