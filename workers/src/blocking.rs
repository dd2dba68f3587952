//! Where blocking work runs: Tokio's blocking threads, behind bounds that tenants share fairly.
//!
//! File reads and searches block; an async thread never does. A place stands for a thread: at most
//! `places` pieces of work run at once. Heavy work, which would keep every search thread busy by
//! itself, takes a turn first, of which a tenant has as many as there are search threads, so that it
//! holds no place while it waits. Both go round robin over tenants ([`turns`]): whoever floods waits
//! for itself. There are twice as many turns as one tenant may hold: a search may run to its
//! deadline, and who comes beside it must not wait for that. Nobody waits longer than their deadline.
//!
//! What a reader would get wrong: a place is held until the work ends, a turn only while its call
//! waits for it. Work on files that hang may never end; it must not keep the few turns from
//! everybody. For the same reason one tenant never has all places, unless there is but one.

use std::{num::NonZeroUsize, sync::Arc};

use archway_proto::{failure::Failure, fault::Fault};
use archway_repo::Cancel;
use uuid::Uuid;

use crate::metrics::{Metrics, Waited};

pub(crate) use queue::Queue;

mod queue;
mod turns;

/// Work of tools that weigh as much takes turns: searches and overviews.
const HEAVY: u32 = 5;
/// Of one tenant. With a single turn, its one long search would hold up its short ones.
const FEWEST_TURNS: usize = 2;

/// The bounds on blocking work.
pub(crate) struct Blocking {
    turns: Arc<Queue>,
    places: Arc<Queue>,
}

impl Blocking {
    /// At most `places` pieces of work at once, three quarters of them one tenant's, or all but one
    /// where they are few; of heavy work twice as many as there are search threads, half of them
    /// one tenant's.
    pub(crate) fn new(
        places: NonZeroUsize,
        search_threads: NonZeroUsize,
        metrics: &Metrics,
    ) -> Self {
        let (each, places) = (search_threads.get().max(FEWEST_TURNS), places.get());
        let most_places = places.saturating_sub((places / 4).max(1)).max(1);
        Blocking {
            turns: Queue::new(2 * each, each, metrics.waits(Waited::Turn)),
            places: Queue::new(places, most_places, metrics.waits(Waited::Place)),
        }
    }

    /// Runs `work` of a tool of this `weight` on a blocking thread.
    ///
    /// Fails with `deadline_exceeded` when neither turn nor thread came free in time. A caller that
    /// goes away leaves the work running until its own next look at `cancel`.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        tenant: Uuid,
        weight: u32,
        cancel: &Cancel,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let take = async |queue: &Arc<Queue>| {
            let turn = queue.take(tenant, cancel.deadline).await;
            turn.ok_or_else(overloaded)
        };
        let _turn = match weight >= HEAVY {
            true => Some(take(&self.turns).await?),
            false => None,
        };
        let place = take(&self.places).await?;
        let outcome = tokio::task::spawn_blocking(move || {
            let outcome = work();
            drop(place);
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
    async fn one_tenants_hanging_work_leaves_a_place_to_others_however_few_there_are() {
        let places = NonZeroUsize::new(2).unwrap();
        let blocking = Blocking::new(places, NonZeroUsize::MIN, &Metrics::new());
        let cancel = Cancel::new(
            Instant::now() + Duration::from_secs(5),
            CancellationToken::new(),
        );
        let begin = |go_on: mpsc::Receiver<()>| {
            let mut work = Box::pin(blocking.run(A, 1, &cancel, move || go_on.recv().is_err()));
            assert!(work.as_mut().now_or_never().is_none());
            work
        };
        let ((first, hangs), (second, hangs_too)) = (mpsc::channel(), mpsc::channel());
        let hanging = [begin(hangs), begin(hangs_too)];
        let other = blocking.run(B, 1, &cancel, || 7).await;
        drop((first, second));
        assert_eq!(other.ok(), Some(7));
        for work in hanging {
            assert_eq!(work.await.ok(), Some(true));
        }
    }
}
