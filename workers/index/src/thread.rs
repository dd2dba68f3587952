//! The thread that does the indexer's work on texts: one thing after the other, after all others
//! that want the CPU.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::ThreadPool;
use tokio::sync::oneshot;

use archway_repo::{RepoError, thread_pool};

/// Above the niceness of the threads that answer calls: sched(7).
const PATIENCE: i32 = 10;

/// A patient thread.
pub(super) struct Thread(ThreadPool);

/// What the thread did ended in a panic, which a pool of threads would end the process for.
#[derive(Debug, thiserror::Error)]
#[error("its work on texts failed: this is a bug")]
pub(crate) struct Panicked;

impl Thread {
    /// Starts it, confined if the calling thread is.
    ///
    /// # Errors
    /// If it can't be started.
    pub(super) fn start() -> Result<Thread, RepoError> {
        thread_pool("index", NonZeroUsize::MIN, PATIENCE).map(Thread)
    }

    /// Has it do this in its turn. It is done even if nobody waits for it any longer.
    ///
    /// # Errors
    /// If it panicked.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let (done, result) = oneshot::channel();
        self.0.spawn(move || {
            // Nobody waits for it if the run was given up.
            done.send(caught(work)).ok();
        });
        result.await.unwrap_or(Err(Panicked))
    }
}

/// Does work that may meet a file that nobody foresaw.
///
/// # Errors
/// If it panicked.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_told| Panicked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_panics_fails_and_the_next_is_done() {
        let thread = Thread::start().unwrap();
        let failed = thread.run(|| std::panic::panic_any(())).await;
        assert!(failed.is_err());
        let name = || std::thread::current().name().map(str::to_owned);
        assert_eq!(thread.run(name).await.unwrap().unwrap(), "index-0");
    }
}
