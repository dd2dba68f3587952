//! A token bucket, by the governor crate, on tokio's clock.
//!
//! It spends from one bucket at once or not at all. A decision over several buckets, a look without
//! spending and a reservation need more than governor offers.

use std::{num::NonZeroU32, time::Duration};

use governor::{
    Quota, RateLimiter,
    clock::Clock,
    middleware::NoOpMiddleware,
    state::{InMemoryState, NotKeyed},
};
use tokio::time::Instant;

/// A bucket of tokens that is refilled steadily.
#[derive(Debug)]
pub struct Bucket(RateLimiter<NotKeyed, InMemoryState, TokioClock, NoOpMiddleware<Duration>>);

impl Bucket {
    /// A full bucket of `size` tokens. Each `refill` adds one; zero counts as 1 ns.
    pub fn new(size: NonZeroU32, refill: Duration) -> Self {
        #[expect(clippy::expect_used, reason = "only a period of zero is refused")]
        let quota = Quota::with_period(refill.max(Duration::from_nanos(1)))
            .expect("the period is not zero")
            .allow_burst(size);
        let clock = TokioClock(Instant::now());
        Bucket(RateLimiter::direct_with_clock(quota, clock))
    }

    /// Takes all the tokens or none. Returns whether there were enough.
    pub fn take(&self, tokens: u32) -> bool {
        let Some(tokens) = NonZeroU32::new(tokens) else {
            return true;
        };
        matches!(self.0.check_n(tokens), Ok(Ok(())))
    }
}

/// The time since a bucket was made. Tests can pause it.
#[derive(Debug)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_bucket_gives_its_size_at_once_and_then_one_token_per_refill() {
        let refill = Duration::from_millis(10);
        let bucket = Bucket::new(NonZeroU32::new(5).unwrap(), refill);
        assert!(bucket.take(0) && bucket.take(3));
        assert!(!bucket.take(3), "all or none");
        assert!(bucket.take(2) && !bucket.take(1) && bucket.take(0));
        advance(refill - Duration::from_nanos(1)).await;
        assert!(!bucket.take(1));
        advance(Duration::from_nanos(1)).await;
        assert!(bucket.take(1) && !bucket.take(1));
        advance(refill * 100).await;
        assert!(!bucket.take(6), "nothing is saved up beyond its size");
        assert!(bucket.take(5));
    }
}
