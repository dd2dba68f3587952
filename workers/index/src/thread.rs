//! The indexer's thread for work on texts: sequential, and of lower priority than all others.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::ThreadPool;
use tokio::sync::oneshot;

use archway_repo::{RepoError, thread_pool};

/// Its niceness, above that of the threads that answer calls: see sched(7).
const NICENESS: i32 = 10;

/// A thread of low priority.
pub(super) struct WorkThread(ThreadPool);

/// The work panicked; in a bare thread pool this would abort the process.
#[derive(Debug, thiserror::Error)]
#[error("processing a text panicked: this is a bug")]
pub(crate) struct Panicked;

impl WorkThread {
    /// Starts the thread, confined if the calling thread is.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start() -> Result<WorkThread, RepoError> {
        thread_pool("index", NonZeroUsize::MIN, NICENESS).map(WorkThread)
    }

    /// Queues `work` and waits for its result. The work runs even if the caller stops waiting.
    ///
    /// # Errors
    /// If the work panicked.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let (done, result) = oneshot::channel();
        self.0.spawn(move || {
            // The receiver is gone if the run was abandoned.
            done.send(catch_panic(work)).ok();
        });
        result.await.unwrap_or(Err(Panicked))
    }
}

/// Runs work that may panic on unexpected input.
///
/// # Errors
/// If it panicked.
pub(super) fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_payload| Panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_fails_its_work_and_the_next_runs() {
        let thread = WorkThread::start().unwrap();
        let failed = thread.run(|| std::panic::panic_any(())).await;
        assert!(failed.is_err());
        let name = || std::thread::current().name().map(str::to_owned);
        assert_eq!(thread.run(name).await.unwrap().unwrap(), "index-0");
    }
}
