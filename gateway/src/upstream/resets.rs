//! Bounds how fast this gateway resets streams on a worker's connection.
//!
//! A call that is dropped before its end resets its stream. A worker ends a connection that resets
//! more than 1,000 streams a second after a burst of 4,096, and with it the calls of all tenants. So
//! the gateway resets half as many. Beyond that a dropped call is set aside and reset in its turn.
//!
//! What a reader would get wrong: a call that is set aside keeps its permit of the bulkhead. Tenants that
//! cancel calls quickly wait for their own resets, so each sets at most as many calls aside as it
//! may make at once.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

/// Resets at once: half of what a worker allows.
const BURST: f64 = 2048.0;
/// Resets a second after that: half of what a worker allows.
const A_SECOND: f64 = 500.0;
/// No call is set aside for longer: its worker has ended it by then.
const LONGEST: Duration = super::LONGEST_DEADLINE;

/// The resets on the connection to one worker. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct Resets(Arc<Mutex<Bucket>>);

/// A bucket of [`BURST`] resets, filled at [`A_SECOND`].
#[derive(Debug)]
struct Bucket {
    /// Below zero: so many wait for their turn.
    left: f64,
    filled: Instant,
}

impl Resets {
    pub(super) fn new() -> Self {
        Resets(Arc::new(Mutex::new(Bucket {
            left: BURST,
            filled: Instant::now(),
        })))
    }

    /// Drops what resets a stream when it is dropped: now, or when its turn comes.
    pub(super) fn drop_in_turn(&self, call: impl Send + 'static) {
        let wait = self.0.lock().reserve();
        if wait.is_zero() {
            return;
        }
        // Without a runtime the process ends, and its connections with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                sleep_until(Instant::now() + wait).await;
                drop(call);
            });
        }
    }
}

impl Bucket {
    /// Takes one reset; how long that has to wait.
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
        let (resets, dropped) = (Resets::new(), Arc::new(AtomicU32::new(0)));
        for _ in 0..4096 {
            resets.drop_in_turn(Call(dropped.clone()));
        }
        let so_far = || dropped.load(Ordering::Relaxed);
        assert_eq!(so_far(), 2048);
        sleep(Duration::from_millis(1_001)).await;
        assert_eq!(so_far(), 2548);
        sleep(Duration::from_secs(10)).await;
        assert_eq!(so_far(), 4096);
        resets.drop_in_turn(Call(dropped.clone()));
        assert_eq!(so_far(), 4097, "the bucket fills again");
    }

    #[tokio::test(start_paused = true)]
    async fn no_call_is_set_aside_for_longer_than_its_worker_has_it() {
        let (resets, dropped) = (Resets::new(), Arc::new(AtomicU32::new(0)));
        for _ in 0..20_000 {
            resets.drop_in_turn(Call(dropped.clone()));
        }
        sleep(LONGEST + Duration::from_millis(1)).await;
        assert_eq!(dropped.load(Ordering::Relaxed), 20_000);
    }
}
