//! Waiting for one's turn: [`Turns`] made async.
//!
//! What a reader would get wrong: a turn is sent to the one who waits, and may reach it at the
//! moment it goes away. Then the turn is dropped like any other, and so handed on.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};
use uuid::Uuid;

use super::turns::Turns;
use crate::metrics::Waits;

/// Turns, and those who wait for them: no more than there are calls at this worker.
pub(crate) struct Queue {
    turns: Mutex<Turns<oneshot::Sender<Turn>>>,
    waits: Waits,
}

/// A turn. Dropped, it goes to whoever is next.
pub(crate) struct Turn {
    queue: Arc<Queue>,
    tenant: Uuid,
}

/// A ticket in the queue. Dropped, it is out of it.
struct Waiting {
    queue: Arc<Queue>,
    tenant: Uuid,
    ticket: u64,
    since: Instant,
    turn: oneshot::Receiver<Turn>,
}

impl Queue {
    /// `turns` at once, of which one tenant may hold `most_each`.
    pub(crate) fn new(turns: usize, most_each: usize, waits: Waits) -> Arc<Self> {
        Arc::new(Queue {
            turns: Mutex::new(Turns::new(turns, most_each)),
            waits,
        })
    }

    /// A turn for `tenant`; `None` when the deadline came first.
    pub(crate) async fn take(self: &Arc<Self>, tenant: Uuid, deadline: Instant) -> Option<Turn> {
        match self.enter(tenant) {
            Ok(turn) => Some(turn),
            Err(mut waiting) => timeout_at(deadline, &mut waiting.turn).await.ok()?.ok(),
        }
    }

    fn enter(self: &Arc<Self>, tenant: Uuid) -> Result<Turn, Waiting> {
        let since = Instant::now();
        let mut turns = self.turns.lock();
        let queue = Arc::clone(self);
        if turns.take(tenant) {
            drop(turns);
            self.waits.none();
            return Ok(Turn { queue, tenant });
        }
        let (sender, turn) = oneshot::channel();
        let ticket = turns.wait(tenant, sender);
        drop(turns);
        self.waits.begin();
        Err(Waiting {
            queue,
            tenant,
            ticket,
            since,
            turn,
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = self.queue.turns.lock().give_back(self.tenant);
        if let Some((tenant, waiter)) = next {
            let queue = Arc::clone(&self.queue);
            // What one who just went does not take comes back, and is handed on by its drop.
            drop(waiter.send(Turn { queue, tenant }));
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.queue.waits.end(self.since.elapsed());
        let left = self.queue.turns.lock().leave(self.tenant, self.ticket);
        // After the lock: it wakes.
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;

    use super::*;
    use crate::metrics::{Metrics, Waited};

    const A: Uuid = Uuid::from_u128(1);
    const B: Uuid = Uuid::from_u128(2);

    fn queue(turns: usize) -> Arc<Queue> {
        Queue::new(turns, turns, Metrics::new().waits(Waited::Turn))
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_ends_wakes_the_next() {
        let queue = queue(1);
        let held = queue.take(A, soon()).await.unwrap();
        let mut next = std::pin::pin!(queue.take(B, soon()));
        assert!(next.as_mut().now_or_never().is_none());
        drop(held);
        assert_eq!(next.await.unwrap().tenant, B);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_at_the_deadline_and_leaves_the_queue() {
        let queue = queue(1);
        let held = queue.take(A, soon()).await.unwrap();
        let began = Instant::now();
        assert!(queue.take(B, soon()).await.is_none());
        assert_eq!(began.elapsed(), Duration::from_secs(10));
        drop(held);
        assert!(queue.take(A, began).await.is_some(), "nobody is before A");
    }

    #[tokio::test(start_paused = true)]
    async fn who_goes_while_waiting_is_passed_over() {
        let queue = queue(1);
        let held = queue.take(A, soon()).await.unwrap();
        let mut gone = Box::pin(queue.take(B, soon()));
        assert!(gone.as_mut().now_or_never().is_none());
        let mut next = std::pin::pin!(queue.take(A, soon()));
        assert!(next.as_mut().now_or_never().is_none());
        drop(gone);
        drop(held);
        assert_eq!(next.await.unwrap().tenant, A);
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_given_to_one_who_then_goes_is_handed_on() {
        let queue = queue(1);
        let held = queue.take(A, soon()).await.unwrap();
        let mut gone = Box::pin(queue.take(B, soon()));
        assert!(gone.as_mut().now_or_never().is_none());
        let mut next = std::pin::pin!(queue.take(A, soon()));
        assert!(next.as_mut().now_or_never().is_none());
        drop(held);
        assert!(next.as_mut().now_or_never().is_none(), "it is B's");
        drop(gone);
        assert_eq!(next.await.unwrap().tenant, A);
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_nobody_took_is_handed_on() {
        let queue = queue(1);
        let held = queue.take(A, soon()).await.unwrap();
        // As when one goes between the lock and the word that its turn has come.
        let (sender, receiver) = oneshot::channel();
        queue.turns.lock().wait(B, sender);
        drop(receiver);
        let mut next = std::pin::pin!(queue.take(A, soon()));
        assert!(next.as_mut().now_or_never().is_none());
        drop(held);
        assert_eq!(next.await.unwrap().tenant, A);
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_and_how_long_is_counted() {
        let metrics = Metrics::new();
        let queue = Queue::new(1, 1, metrics.waits(Waited::Turn));
        let held = queue.take(A, soon()).await.unwrap();
        let mut next = Box::pin(queue.take(B, soon()));
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
