//! Runs blocking work on Tokio's blocking threads, within bounds that tenants share fairly.
//!
//! File reads and searches block; an async thread never does. A thread permit stands for a thread:
//! at most `threads` pieces of work run at once. Heavy work, which would keep every search thread
//! busy by itself, acquires a heavy permit first, so that it holds no thread while it waits. Both
//! kinds of permits are granted round robin over tenants ([`permits`]), so a tenant that floods the
//! worker delays only itself. One tenant may hold as many heavy permits as there are search
//! threads. There are twice as many in all: a search may run to its deadline, and another tenant
//! must not wait for that. No call waits longer than its deadline.
//!
//! What a reader would get wrong: a thread permit is held until the work ends, a heavy permit only
//! while its call waits for the work. Work on files that hang may never end, and it must not block
//! the few heavy permits for everybody. For the same reason one tenant never holds all thread
//! permits, unless there is only one.

use std::{num::NonZeroUsize, sync::Arc};

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::Cancel;
use uuid::Uuid;

use crate::metrics::{Metrics, WaitKind};

pub(crate) use queue::FairQueue;

mod queue;
mod permits;

/// How much of the worker a piece of work takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// It looks at a few known files.
    Light,
    /// It would keep every search thread busy by itself, so it needs a heavy permit: searches and overviews.
    Heavy,
}

/// Minimum of heavy permits per tenant. With a single one, a tenant's long search would delay its
/// short ones.
const MIN_HEAVY_PERMITS: usize = 2;

/// The bounds on blocking work.
pub(crate) struct Blocking {
    heavy: Arc<FairQueue>,
    threads: Arc<FairQueue>,
}

impl Blocking {
    /// At most `threads` pieces of work run at once. One tenant may hold three quarters of them, or
    /// all but one if there are few. There are twice as many heavy permits as search threads, and
    /// one tenant may hold half of them.
    pub(crate) fn new(
        threads: NonZeroUsize,
        search_threads: NonZeroUsize,
        metrics: &Metrics,
    ) -> Self {
        let (each, threads) = (search_threads.get().max(MIN_HEAVY_PERMITS), threads.get());
        let most_threads = threads.saturating_sub((threads / 4).max(1)).max(1);
        Blocking {
            heavy: FairQueue::new(2 * each, each, metrics.waits(WaitKind::HeavyPermit)),
            threads: FairQueue::new(
                threads,
                most_threads,
                metrics.waits(WaitKind::BlockingThread),
            ),
        }
    }

    /// Runs `work` on a blocking thread.
    ///
    /// Fails with `deadline_exceeded` if a permit did not become free in time. If the caller goes
    /// away, the work runs until it checks `cancel`.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        tenant: Uuid,
        load: Load,
        cancel: &Cancel,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let acquire = async |queue: &Arc<FairQueue>| {
            let permit = queue.acquire(tenant, cancel.deadline).await;
            permit.ok_or_else(overloaded)
        };
        let _heavy_permit = match load {
            Load::Heavy => Some(acquire(&self.heavy).await?),
            Load::Light => None,
        };
        let thread_permit = acquire(&self.threads).await?;
        let outcome = tokio::task::spawn_blocking(move || {
            let outcome = work();
            drop(thread_permit);
            outcome
        });
        outcome.await.map_err(|panicked| {
            tracing::error!(error = %panicked, "blocking work failed");
            stopped_unexpectedly()
        })
    }
}

/// The failure after a panic, which is logged by itself.
pub(crate) fn stopped_unexpectedly() -> Failure {
    Failure::new(
        Fault::InternalError,
        "the tool stopped unexpectedly",
        "try again; report the trace id if it happens again",
    )
}

fn overloaded() -> Failure {
    Failure::new(
        Fault::DeadlineExceeded,
        "the worker was too busy to begin before the deadline",
        "try again in a few seconds",
    )
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use futures::FutureExt;
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    use super::*;

    const A: Uuid = Uuid::from_u128(1);
    const B: Uuid = Uuid::from_u128(2);

    #[tokio::test]
    async fn hanging_work_of_one_tenant_leaves_a_thread_to_others() {
        let threads = NonZeroUsize::new(2).unwrap();
        let blocking = Blocking::new(threads, NonZeroUsize::MIN, &Metrics::new());
        let cancel = Cancel::new(
            Instant::now() + Duration::from_secs(5),
            CancellationToken::new(),
        );
        let begin = |release: mpsc::Receiver<()>| {
            let mut work =
                Box::pin(blocking.run(A, Load::Light, &cancel, move || release.recv().is_err()));
            assert!(work.as_mut().now_or_never().is_none());
            work
        };
        let ((first, hangs), (second, hangs_too)) = (mpsc::channel(), mpsc::channel());
        let hanging = [begin(hangs), begin(hangs_too)];
        let other = blocking.run(B, Load::Light, &cancel, || 7).await;
        drop((first, second));
        assert_eq!(other.ok(), Some(7));
        for work in hanging {
            assert_eq!(work.await.ok(), Some(true));
        }
    }
}
