//! Bounds how fast this gateway resets streams on a worker's connection.
//!
//! A call that is dropped before its end resets its stream. A worker closes a connection with more
//! than 1,000 resets a second after a burst of 4,096, and with it the calls of all tenants. The
//! gateway therefore resets at half of that rate; beyond it, dropped calls are queued for their
//! reset.
//!
//! What a reader would get wrong: a queued call keeps its bulkhead permit. A tenant that cancels
//! calls quickly waits for its own resets, and queues at most as many calls as it may have in
//! flight.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

/// Burst: half of what a worker allows.
const BURST: f64 = 2048.0;
/// Resets a second after the burst: half of what a worker allows.
const A_SECOND: f64 = 500.0;
/// The longest a reset is queued: by then the worker has ended the call itself.
const LONGEST: Duration = super::LONGEST_DEADLINE;

/// Paces the resets on the connection to one worker. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct ResetPacer(Arc<Mutex<Bucket>>);

/// A bucket of [`BURST`] resets, refilled at [`A_SECOND`].
#[derive(Debug)]
struct Bucket {
    /// Negative while resets are queued: minus their number.
    left: f64,
    filled: Instant,
}

impl ResetPacer {
    pub(super) fn new() -> Self {
        ResetPacer(Arc::new(Mutex::new(Bucket {
            left: BURST,
            filled: Instant::now(),
        })))
    }

    /// Drops a value whose drop resets a stream: now, or when its turn comes.
    pub(super) fn drop_paced(&self, call: impl Send + 'static) {
        let wait = self.0.lock().reserve();
        if wait.is_zero() {
            return;
        }
        // Without a runtime the process is exiting, and its connections close with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                sleep_until(Instant::now() + wait).await;
                drop(call);
            });
        }
    }
}

impl Bucket {
    /// Takes one reset from the bucket. Returns how long it has to wait.
    fn reserve(&mut self) -> Duration {
        let now = Instant::now();
        let filled = (now - self.filled).as_secs_f64() * A_SECOND;
        self.left = (self.left + filled).min(BURST) - 1.0;
        self.filled = now;
        let seconds = (-self.left / A_SECOND).max(0.0);
        Duration::from_secs_f64(seconds).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::time::sleep;

    use super::*;

    struct Call(Arc<AtomicU32>);

    impl Drop for Call {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_reset_at_once_and_the_rest_at_500_a_second() {
        let (pacer, dropped) = (ResetPacer::new(), Arc::new(AtomicU32::new(0)));
        for _ in 0..4096 {
            pacer.drop_paced(Call(dropped.clone()));
        }
        let so_far = || dropped.load(Ordering::Relaxed);
        assert_eq!(so_far(), 2048);
        sleep(Duration::from_millis(1_001)).await;
        assert_eq!(so_far(), 2548);
        sleep(Duration::from_secs(10)).await;
        assert_eq!(so_far(), 4096);
        pacer.drop_paced(Call(dropped.clone()));
        assert_eq!(so_far(), 4097, "the bucket fills again");
    }

    #[tokio::test(start_paused = true)]
    async fn no_reset_is_queued_for_longer_than_the_longest_deadline() {
        let (pacer, dropped) = (ResetPacer::new(), Arc::new(AtomicU32::new(0)));
        for _ in 0..20_000 {
            pacer.drop_paced(Call(dropped.clone()));
        }
        sleep(LONGEST + Duration::from_millis(1)).await;
        assert_eq!(dropped.load(Ordering::Relaxed), 20_000);
    }
}
