//! Progress of a run, reported when its lease is renewed.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Progress of a run.
#[derive(Default)]
pub(crate) struct Progress {
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Progress {
    /// Sets the number of indexed texts, and of all texts.
    pub(super) fn begin(&self, done: usize, total: usize) {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
    }

    /// Adds uploaded texts.
    pub(super) fn add(&self, texts: usize) {
        self.done.fetch_add(texts, Ordering::Relaxed);
    }

    /// Indexed texts, and all texts.
    pub(crate) fn read(&self) -> (usize, usize) {
        let [done, total] = [&self.done, &self.total];
        (done.load(Ordering::Relaxed), total.load(Ordering::Relaxed))
    }
}
