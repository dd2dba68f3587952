//! Which requests' traces are recorded: so many a second, and none that its caller wants unrecorded.
//!
//! A caller that records its own trace asks for this part of it, too. That is a hint, since anybody
//! with a key can set the flag: half of all traces are for those who ask, and no more. Of either
//! kind one tenant gets half, so that another's are recorded whatever it does. It is asked before
//! any limit, of every request: one lock, a few additions, and no memory for whoever comes.

use parking_lot::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

/// Shares of tenants that are kept apart.
const TENANTS: usize = 256;

/// How many traces are recorded.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Traces")]
pub struct SamplingConfig {
    /// Traces a second that a gateway records, on average, where an OTLP collector is named (as many at
    /// once after a rest); 0 records none. Half of them are for requests whose `traceparent` says that their caller records; those
    /// whose caller does not are never recorded. One tenant has half at most.
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

/// What says which requests are recorded.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// Nothing where nothing is recorded.
    shares: Option<Mutex<Shares>>,
}

/// What is left to all, and to each tenant.
#[derive(Debug)]
struct Shares {
    all: Share,
    /// By the last byte of the tenant's id, which is random. Tenants that have it in common share.
    tenants: Vec<Share>,
}

/// Traces for whoever may have so many a second.
#[derive(Clone, Copy, Debug)]
struct Share {
    any: Bucket,
    /// What is left to callers that record their own.
    hinted: Bucket,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: f64,
    size: f64,
    left: f64,
    at: Instant,
}

impl Sampler {
    pub(crate) fn new(config: &SamplingConfig) -> Self {
        let rate = f64::from(config.trace_rate);
        let now = Instant::now();
        let shares = (rate > 0.0).then(|| {
            Mutex::new(Shares {
                all: Share::new(rate, now),
                tenants: vec![Share::new(rate / 2.0, now); TENANTS],
            })
        });
        Sampler { shares }
    }

    /// Whether a request of the tenant is recorded; `hint` is whether its caller records its trace,
    /// if it said anything.
    pub(crate) fn records(&self, tenant: Uuid, hint: Option<bool>) -> bool {
        let (Some(shares), None | Some(true)) = (&self.shares, hint) else {
            return false;
        };
        let (hinted, now) = (hint.is_some(), Instant::now());
        let mut shares = shares.lock();
        let Shares { all, tenants } = &mut *shares;
        let [.., last] = tenant.into_bytes();
        let own = &mut tenants[usize::from(last) % TENANTS];
        let has_left = all.has_left(hinted, now) && own.has_left(hinted, now);
        if has_left {
            all.spend(hinted);
            own.spend(hinted);
        }
        has_left
    }
}

impl Share {
    fn new(rate: f64, now: Instant) -> Self {
        // A second's worth, and enough that half of it is one trace.
        let size = rate.max(2.0);
        Share {
            any: Bucket::new(rate, size, now),
            hinted: Bucket::new(rate / 2.0, size / 2.0, now),
        }
    }

    /// Whether a trace is left. Those without a hint take nothing that those with one may still have.
    fn has_left(&mut self, hinted: bool, now: Instant) -> bool {
        self.any.fill(now);
        self.hinted.fill(now);
        match hinted {
            true => self.hinted.left >= 1.0 && self.any.left >= 1.0,
            false => self.any.left - 1.0 >= self.hinted.left,
        }
    }

    fn spend(&mut self, hinted: bool) {
        self.any.left -= 1.0;
        if hinted {
            self.hinted.left -= 1.0;
        }
    }
}

impl Bucket {
    fn new(rate: f64, size: f64, now: Instant) -> Self {
        Bucket {
            rate,
            size,
            left: size,
            at: now,
        }
    }

    fn fill(&mut self, now: Instant) {
        let gone = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + gone * self.rate).min(self.size);
        self.at = now;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;

    const ACME: Uuid = Uuid::from_u128(1);
    const ZETA: Uuid = Uuid::from_u128(2);
    const HINT: Option<bool> = Some(true);

    fn sampler(trace_rate: u32) -> Sampler {
        Sampler::new(&SamplingConfig { trace_rate })
    }

    fn recorded(sampler: &Sampler, tenant: Uuid, hint: Option<bool>) -> usize {
        let ask = |_| sampler.records(tenant, hint);
        (0..1000).filter(|number| ask(*number)).count()
    }

    /// How many are recorded of as many tenants as there are, each of which asks without end.
    fn of_all(sampler: &Sampler, hint: Option<bool>) -> usize {
        let tenants = (0..200).map(Uuid::from_u128);
        tenants.map(|tenant| recorded(sampler, tenant, hint)).sum()
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_a_second_are_recorded_however_many_ask() {
        let sampler = sampler(40);
        assert_eq!(of_all(&sampler, None) + of_all(&sampler, HINT), 40);
        for _ in 0..5 {
            advance(Duration::from_millis(500)).await;
            assert_eq!(of_all(&sampler, HINT) + of_all(&sampler, None), 20);
        }
        advance(Duration::from_secs(60)).await;
        let all = of_all(&sampler, HINT) + of_all(&sampler, None);
        assert_eq!(all, 40, "nothing is saved up");
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_has_half_and_no_more_and_who_wants_none_gets_none() {
        let sampler = sampler(40);
        assert_eq!(of_all(&sampler, Some(false)), 0);
        assert_eq!((of_all(&sampler, HINT), of_all(&sampler, None)), (20, 20));
        // All that asked do not keep the others from theirs, nor these them.
        for _ in 0..5 {
            advance(Duration::from_millis(500)).await;
            assert_eq!((of_all(&sampler, HINT), of_all(&sampler, None)), (10, 10));
            advance(Duration::from_millis(500)).await;
            assert_eq!((of_all(&sampler, None), of_all(&sampler, HINT)), (10, 10));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_tenant_has_half_of_either_kind_and_leaves_the_rest() {
        let sampler = sampler(40);
        for _ in 0..5 {
            for tenant in [ACME, ZETA] {
                assert_eq!(recorded(&sampler, tenant, HINT), 10);
                assert_eq!(recorded(&sampler, tenant, None), 10);
            }
            advance(Duration::from_secs(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_a_second_is_enough_for_both_and_none_is_none() {
        let one = sampler(1);
        assert_eq!(of_all(&one, None), 1);
        advance(Duration::from_secs(1)).await;
        assert_eq!(of_all(&one, None), 1);
        let none = Sampler::new(&SamplingConfig::NONE);
        assert_eq!(of_all(&none, HINT), 0);
    }
}
