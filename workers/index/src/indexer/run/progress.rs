//! How far a run is, for who keeps its lease.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How far a run is.
#[derive(Default)]
pub(crate) struct Progress {
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Progress {
    /// So many texts are at home already, of so many.
    pub(super) fn begin(&self, done: usize, total: usize) {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
    }

    /// So many more are.
    pub(super) fn brought(&self, texts: usize) {
        self.done.fetch_add(texts, Ordering::Relaxed);
    }

    /// Texts that are at home, and all.
    pub(crate) fn read(&self) -> (usize, usize) {
        let [done, total] = [&self.done, &self.total];
        (done.load(Ordering::Relaxed), total.load(Ordering::Relaxed))
    }
}
