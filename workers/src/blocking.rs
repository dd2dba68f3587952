//! Where blocking work runs: Tokio's blocking threads, behind a bound.
//!
//! File reads and searches block; an async thread never does. A permit stands for a thread, so at
//! most `limit` run at once and the rest wait in order, no longer than their deadline.

use std::{num::NonZeroUsize, sync::Arc};

use archway_proto::{failure::Failure, fault::Fault};
use tokio::sync::Semaphore;

use crate::repo::Cancel;

/// A bound on blocking work.
#[derive(Clone)]
pub(crate) struct Blocking {
    permits: Arc<Semaphore>,
}

impl Blocking {
    /// At most `limit` pieces of work at once.
    pub(crate) fn new(limit: NonZeroUsize) -> Self {
        Blocking {
            permits: Arc::new(Semaphore::new(limit.get())),
        }
    }

    /// Runs `work` on a blocking thread.
    ///
    /// Fails with `deadline_exceeded` when no thread came free in time. A caller that goes away
    /// leaves the work running until its own next look at `cancel`.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        cancel: &Cancel,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let permits = Arc::clone(&self.permits);
        let permit = tokio::time::timeout_at(cancel.deadline, permits.acquire_owned())
            .await
            .map_err(|_elapsed| overloaded())?
            .map_err(|_closed| overloaded())?;
        let outcome = tokio::task::spawn_blocking(move || {
            let outcome = work();
            drop(permit);
            outcome
        });
        outcome.await.map_err(|panicked| {
            tracing::error!(error = %panicked, "blocking work failed");
            Failure::new(
                Fault::InternalError,
                "the tool stopped unexpectedly",
                "try again; report the trace id if it happens again",
            )
        })
    }
}

fn overloaded() -> Failure {
    Failure::new(
        Fault::DeadlineExceeded,
        "the worker was too busy to begin before the deadline",
        "try again in a few seconds",
    )
}
