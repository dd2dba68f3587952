//! Which requests are traced: a bounded number a second, and none whose caller turned sampling off.
//!
//! A caller that samples its own trace asks to have this part traced as well. That is a hint, since
//! any caller can set the flag: half of all traces are reserved for such callers, and they get no
//! more. Of each kind, one tenant gets at most half, so that other tenants are traced whatever it
//! does. This runs before any limit on every request: it takes one lock and a few additions, and
//! allocates nothing.

use parking_lot::Mutex;
use tokio::time::Instant;
use uuid::Uuid;

/// Budgets of tenants.
const TENANTS: usize = 256;

/// Configuration of trace sampling.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Traces")]
pub struct SamplingConfig {
    /// Traces a second that a gateway records on average if an OTLP collector is configured; after
    /// a pause, up to one second's worth at once. 0 records none. Half of them are for requests
    /// whose `traceparent` has the sampled flag; requests with the flag off are never recorded. One
    /// tenant gets half at most.
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
    /// Nothing is recorded: no collector is configured.
    pub const NONE: SamplingConfig = SamplingConfig { trace_rate: 0 };
}

/// Decides which requests are traced.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// `None` if nothing is recorded.
    budgets: Option<Mutex<SampleBudgets>>,
}

/// The budgets of all tenants together and of each tenant.
#[derive(Debug)]
struct SampleBudgets {
    all: SampleBudget,
    /// By the last byte of the tenant's id, which is random. Tenants with the same byte share a
    /// budget.
    tenants: Vec<SampleBudget>,
}

/// A budget of traces a second.
#[derive(Clone, Copy, Debug)]
struct SampleBudget {
    any: Bucket,
    /// The part that requests with the sampled flag may use.
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
        let budgets = (rate > 0.0).then(|| {
            Mutex::new(SampleBudgets {
                all: SampleBudget::new(rate, now),
                tenants: vec![SampleBudget::new(rate / 2.0, now); TENANTS],
            })
        });
        Sampler { budgets }
    }

    /// Whether to trace a request of the tenant. `hint` is the caller's sampled flag, if it sent
    /// one.
    pub(crate) fn records(&self, tenant: Uuid, hint: Option<bool>) -> bool {
        let (Some(budgets), None | Some(true)) = (&self.budgets, hint) else {
            return false;
        };
        let (hinted, now) = (hint.is_some(), Instant::now());
        let mut budgets = budgets.lock();
        let SampleBudgets { all, tenants } = &mut *budgets;
        let [.., last] = tenant.into_bytes();
        let own = &mut tenants[usize::from(last) % TENANTS];
        let has_trace = all.has_trace(hinted, now) && own.has_trace(hinted, now);
        if has_trace {
            all.spend(hinted);
            own.spend(hinted);
        }
        has_trace
    }
}

impl SampleBudget {
    fn new(rate: f64, now: Instant) -> Self {
        // One second's worth, and at least two traces, so that half of it is a whole one.
        let size = rate.max(2.0);
        SampleBudget {
            any: Bucket::new(rate, size, now),
            hinted: Bucket::new(rate / 2.0, size / 2.0, now),
        }
    }

    /// Whether a trace is left. Requests without a hint leave the hinted part untouched.
    fn has_trace(&mut self, hinted: bool, now: Instant) -> bool {
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

    /// Traces recorded if 200 tenants each send 1,000 requests.
    fn of_all(sampler: &Sampler, hint: Option<bool>) -> usize {
        let tenants = (0..200).map(Uuid::from_u128);
        tenants.map(|tenant| recorded(sampler, tenant, hint)).sum()
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_bounds_traces_however_many_requests_come() {
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
    async fn sampled_callers_get_half_and_unsampled_callers_get_none() {
        let sampler = sampler(40);
        assert_eq!(of_all(&sampler, Some(false)), 0);
        assert_eq!((of_all(&sampler, HINT), of_all(&sampler, None)), (20, 20));
        // Hinted requests do not use up the others' part, nor the other way round.
        for _ in 0..5 {
            advance(Duration::from_millis(500)).await;
            assert_eq!((of_all(&sampler, HINT), of_all(&sampler, None)), (10, 10));
            advance(Duration::from_millis(500)).await;
            assert_eq!((of_all(&sampler, None), of_all(&sampler, HINT)), (10, 10));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_tenant_gets_half_of_either_kind_at_most() {
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
    async fn a_rate_of_one_serves_both_kinds_and_zero_records_nothing() {
        let one = sampler(1);
        assert_eq!(of_all(&one, None), 1);
        advance(Duration::from_secs(1)).await;
        assert_eq!(of_all(&one, None), 1);
        let none = Sampler::new(&SamplingConfig::NONE);
        assert_eq!(of_all(&none, HINT), 0);
    }
}
