//! Skips queries for a moment after Postgres failed: over TCP each query to a server that is gone
//! would cost its caller the whole acquire timeout.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

const PAUSE: Duration = Duration::from_secs(1);

/// When Postgres last failed, unless it has answered since.
#[derive(Default)]
pub(super) struct Pause(Mutex<Option<Instant>>);

impl Pause {
    /// Records that Postgres failed.
    pub(super) fn failed(&self) {
        *self.0.lock() = Some(Instant::now());
    }

    /// Records that Postgres answered.
    pub(super) fn answered(&self) {
        *self.0.lock() = None;
    }

    /// Whether queries are to be skipped.
    pub(super) fn lasts(&self) -> bool {
        self.0.lock().is_some_and(|at| at.elapsed() < PAUSE)
    }
}
