//! A fair queue for permits: [`FairPermits`] made async.
//!
//! What a reader would get wrong: a permit is sent to its waiter, and may arrive just as the waiter
//! goes away. It is then dropped like any other permit, and so passed on.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};
use uuid::Uuid;

use super::permits::FairPermits;
use crate::metrics::WaitMetrics;

/// Permits and their waiters, at most one for each call at this worker.
pub(crate) struct FairQueue {
    permits: Mutex<FairPermits<oneshot::Sender<Permit>>>,
    waits: WaitMetrics,
}

/// A permit. Dropping it passes it to the next waiter.
pub(crate) struct Permit {
    queue: Arc<FairQueue>,
    tenant: Uuid,
}

/// A ticket in the queue. Dropping it leaves the queue.
struct Waiter {
    queue: Arc<FairQueue>,
    tenant: Uuid,
    ticket: u64,
    since: Instant,
    permit: oneshot::Receiver<Permit>,
}

impl FairQueue {
    /// A queue for `permits` permits, of which one tenant may hold `most_each`.
    pub(crate) fn new(permits: usize, most_each: usize, waits: WaitMetrics) -> Arc<Self> {
        Arc::new(FairQueue {
            permits: Mutex::new(FairPermits::new(permits, most_each)),
            waits,
        })
    }

    /// Acquires a permit for `tenant`, or returns `None` on timeout.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        tenant: Uuid,
        deadline: Instant,
    ) -> Option<Permit> {
        match self.enter(tenant) {
            Ok(permit) => Some(permit),
            Err(mut waiter) => timeout_at(deadline, &mut waiter.permit).await.ok()?.ok(),
        }
    }

    fn enter(self: &Arc<Self>, tenant: Uuid) -> Result<Permit, Waiter> {
        let since = Instant::now();
        let mut permits = self.permits.lock();
        let queue = Arc::clone(self);
        if permits.try_acquire(tenant) {
            drop(permits);
            self.waits.no_wait();
            return Ok(Permit { queue, tenant });
        }
        let (sender, permit) = oneshot::channel();
        let ticket = permits.wait(tenant, sender);
        drop(permits);
        self.waits.begin();
        Err(Waiter {
            queue,
            tenant,
            ticket,
            since,
            permit,
        })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let next = self.queue.permits.lock().release(self.tenant);
        if let Some((tenant, waiter)) = next {
            let queue = Arc::clone(&self.queue);
            // If the waiter just went away, the permit comes back and its drop passes it on.
            drop(waiter.send(Permit { queue, tenant }));
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.queue.waits.end(self.since.elapsed());
        let left = self.queue.permits.lock().leave(self.tenant, self.ticket);
        // Dropped after the lock is released, because dropping the sender wakes a task.
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;

    use super::*;
    use crate::metrics::{Metrics, WaitKind};

    const A: Uuid = Uuid::from_u128(1);
    const B: Uuid = Uuid::from_u128(2);

    fn queue(permits: usize) -> Arc<FairQueue> {
        FairQueue::new(
            permits,
            permits,
            Metrics::new().waits(WaitKind::HeavyPermit),
        )
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    #[tokio::test(start_paused = true)]
    async fn a_released_permit_wakes_the_next_waiter() {
        let queue = queue(1);
        let held = queue.acquire(A, soon()).await.unwrap();
        let mut next = std::pin::pin!(queue.acquire(B, soon()));
        assert!(next.as_mut().now_or_never().is_none());
        drop(held);
        assert_eq!(next.await.unwrap().tenant, B);
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_leaves_the_queue_at_its_deadline() {
        let queue = queue(1);
        let held = queue.acquire(A, soon()).await.unwrap();
        let began = Instant::now();
        assert!(queue.acquire(B, soon()).await.is_none());
        assert_eq!(began.elapsed(), Duration::from_secs(10));
        drop(held);
        assert!(
            queue.acquire(A, began).await.is_some(),
            "no waiter is left before A"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_that_went_away_is_skipped() {
        let queue = queue(1);
        let held = queue.acquire(A, soon()).await.unwrap();
        let mut gone = Box::pin(queue.acquire(B, soon()));
        assert!(gone.as_mut().now_or_never().is_none());
        let mut next = std::pin::pin!(queue.acquire(A, soon()));
        assert!(next.as_mut().now_or_never().is_none());
        drop(gone);
        drop(held);
        assert_eq!(next.await.unwrap().tenant, A);
    }

    #[tokio::test(start_paused = true)]
    async fn a_permit_granted_to_a_waiter_that_goes_away_is_passed_on() {
        let queue = queue(1);
        let held = queue.acquire(A, soon()).await.unwrap();
        let mut gone = Box::pin(queue.acquire(B, soon()));
        assert!(gone.as_mut().now_or_never().is_none());
        let mut next = std::pin::pin!(queue.acquire(A, soon()));
        assert!(next.as_mut().now_or_never().is_none());
        drop(held);
        assert!(next.as_mut().now_or_never().is_none(), "the permit is B's");
        drop(gone);
        assert_eq!(next.await.unwrap().tenant, A);
    }

    #[tokio::test(start_paused = true)]
    async fn a_permit_that_could_not_be_sent_is_passed_on() {
        let queue = queue(1);
        let held = queue.acquire(A, soon()).await.unwrap();
        // As if the waiter went away between the lock and the send.
        let (sender, receiver) = oneshot::channel();
        queue.permits.lock().wait(B, sender);
        drop(receiver);
        let mut next = std::pin::pin!(queue.acquire(A, soon()));
        assert!(next.as_mut().now_or_never().is_none());
        drop(held);
        assert_eq!(next.await.unwrap().tenant, A);
    }

    #[tokio::test(start_paused = true)]
    async fn waiters_and_their_waiting_time_are_counted() {
        let metrics = Metrics::new();
        let queue = FairQueue::new(1, 1, metrics.waits(WaitKind::HeavyPermit));
        let held = queue.acquire(A, soon()).await.unwrap();
        let mut next = Box::pin(queue.acquire(B, soon()));
        assert!(next.as_mut().now_or_never().is_none());
        let text = metrics.text().unwrap();
        assert!(text.contains(r#"calls_waiting{of="turn"} 1"#), "{text}");
        tokio::time::advance(Duration::from_secs(2)).await;
        drop(held);
        drop(next.await);
        let text = metrics.text().unwrap();
        for line in [
            r#"archway_worker_calls_waiting{of="turn"} 0"#,
            r#"archway_worker_call_wait_seconds_count{of="turn"} 2"#,
            r#"archway_worker_call_wait_seconds_sum{of="turn"} 2.0"#,
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }
}
