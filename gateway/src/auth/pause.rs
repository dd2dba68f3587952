//! Leaves Postgres alone for a moment after it failed: over TCP every question to a server that is
//! gone costs its caller the whole acquire timeout.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

const PAUSE: Duration = Duration::from_secs(1);

/// When Postgres last failed, unless it answered since.
#[derive(Default)]
pub(super) struct Pause(Mutex<Option<Instant>>);

impl Pause {
    /// Notes that Postgres failed.
    pub(super) fn failed(&self) {
        *self.0.lock() = Some(Instant::now());
    }

    /// Notes that Postgres answered.
    pub(super) fn answered(&self) {
        *self.0.lock() = None;
    }

    /// Whether it is to be left alone yet.
    pub(super) fn lasts(&self) -> bool {
        self.0.lock().is_some_and(|at| at.elapsed() < PAUSE)
    }
}
