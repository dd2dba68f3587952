//! Which requests' traces are recorded: so many a second, and none that its caller wants unrecorded.
//!
//! A caller that records its own trace asks for this part of it, too. That is a hint, since anybody
//! with a key can set the flag: it spends from the same bucket as the requests that come without a
//! trace, but those leave half of it to whoever asks.

use parking_lot::Mutex;
use tokio::time::Instant;

/// How many traces are recorded.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Traces")]
pub struct SamplingConfig {
    /// Traces a second that a gateway records, at most, where an OTLP collector is named; 0 records
    /// none. Requests whose `traceparent` says that their caller records go first, and those
    /// whose caller does not are never recorded.
    #[arg(
        long,
        env = "ARCHWAY_TRACE_RATE",
        value_name = "N",
        default_value = "10",
        value_parser = clap::value_parser!(u32).range(0..=10_000)
    )]
    pub trace_rate: u32,
}

impl SamplingConfig {
    /// Nothing is recorded: there is nobody to tell.
    pub const NONE: SamplingConfig = SamplingConfig { trace_rate: 0 };
}

/// A bucket of traces.
#[derive(Debug)]
pub(crate) struct Sampler {
    rate: f64,
    bucket: Mutex<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Sampler {
    pub(crate) fn new(config: &SamplingConfig) -> Self {
        let rate = f64::from(config.trace_rate);
        Sampler {
            rate,
            bucket: Mutex::new(Bucket {
                left: size(rate),
                at: Instant::now(),
            }),
        }
    }

    /// Whether a request's trace is recorded; `hint` is whether its caller records it, if it said
    /// anything.
    pub(crate) fn records(&self, hint: Option<bool>) -> bool {
        let kept = match hint {
            Some(false) => return false,
            Some(true) => 0.0,
            None => size(self.rate) / 2.0,
        };
        self.rate > 0.0 && self.spend(kept, Instant::now())
    }

    fn spend(&self, kept: f64, now: Instant) -> bool {
        let mut bucket = self.bucket.lock();
        let gone = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + gone * self.rate).min(size(self.rate));
        bucket.at = now;
        let enough = bucket.left - 1.0 >= kept;
        if enough {
            bucket.left -= 1.0;
        }
        enough
    }
}

/// A second's worth, and enough that half of it is one trace.
fn size(rate: f64) -> f64 {
    rate.max(2.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;

    fn sampler(trace_rate: u32) -> Sampler {
        Sampler::new(&SamplingConfig { trace_rate })
    }

    fn recorded(sampler: &Sampler, hint: Option<bool>) -> usize {
        (0..1000).filter(|_| sampler.records(hint)).count()
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_a_second_are_recorded_however_many_ask() {
        let sampler = sampler(10);
        assert_eq!(recorded(&sampler, Some(true)), 10);
        for _ in 0..5 {
            advance(Duration::from_millis(500)).await;
            assert_eq!(recorded(&sampler, Some(true)), 5);
        }
        advance(Duration::from_secs(60)).await;
        assert_eq!(recorded(&sampler, Some(true)), 10, "nothing is saved up");
    }

    #[tokio::test(start_paused = true)]
    async fn half_is_left_to_whoever_asks_and_who_wants_none_gets_none() {
        let sampler = sampler(10);
        assert_eq!(recorded(&sampler, Some(false)), 0);
        assert_eq!(recorded(&sampler, None), 5);
        assert_eq!(recorded(&sampler, Some(true)), 5);
        assert_eq!(recorded(&sampler, None), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn one_a_second_is_enough_for_both_and_none_is_none() {
        let one = sampler(1);
        assert_eq!(recorded(&one, None), 1);
        advance(Duration::from_secs(1)).await;
        assert_eq!(recorded(&one, None), 1);
        let none = Sampler::new(&SamplingConfig::NONE);
        assert_eq!(recorded(&none, Some(true)), 0);
    }
}
