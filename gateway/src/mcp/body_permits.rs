//! Permits for large bodies: a bound on the request bodies held at once, per tenant and in total.
//!
//! A message is charged only once it is read. Without a bound, one key could send a megabyte slowly
//! over each of its connections, and all of them would be buffered. So reading beyond a small body
//! needs a permit. A tenant gets a quarter of all permits at most: a tenant that sends too much at
//! once waits for itself, and its bodies stay in the sockets. Waiting requests are served in order,
//! and the wait is short enough to leave time for reading the body.

use std::time::Duration;

use futures::future::poll_immediate;
use tokio::time::timeout;
use uuid::Uuid;

use crate::{
    fair_permits::{FairPermit, FairPermits},
    metrics::{BodyMetrics, GaugeGuard},
};

/// Large bodies read at once, of at most 1 MiB each.
const MAX: usize = 256;
/// The same for one tenant.
const MAX_PER_TENANT: usize = MAX / 4;
/// Requests of one tenant that may wait, each with 64 KiB of its body; further ones are refused at
/// once.
const MAX_WAITING: usize = 4 * MAX_PER_TENANT;
/// Maximum wait: the rest of a body's 15 s is for reading it.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The permits of all tenants.
pub(super) struct BodyPermits {
    permits: FairPermits<Uuid>,
    metrics: BodyMetrics,
}

/// The permit of one body, released on drop.
pub(super) struct BodyPermit<'a> {
    /// Whether the request had to wait.
    pub(super) waited: bool,
    _reading: GaugeGuard,
    _permit: FairPermit<'a, Uuid>,
}

impl BodyPermits {
    pub(super) fn new(metrics: BodyMetrics) -> Self {
        BodyPermits {
            permits: FairPermits::new(MAX, MAX_PER_TENANT),
            metrics,
        }
    }

    /// Waits for a permit for a large body of this tenant. Returns `None` on timeout, or at once if
    /// too many of its requests wait.
    pub(super) async fn acquire(&self, tenant: Uuid) -> Option<BodyPermit<'_>> {
        let permit = self.wait(tenant).await;
        if permit.is_none() {
            self.metrics.refused.inc();
        }
        permit
    }

    async fn wait(&self, tenant: Uuid) -> Option<BodyPermit<'_>> {
        let admits = |own, _all| own < MAX_PER_TENANT + MAX_WAITING;
        let request = self.permits.enter(tenant, admits)?;
        let mut taking = Box::pin(request.permit());
        let (taken, waited) = match poll_immediate(&mut taking).await {
            Some(taken) => (taken, false),
            None => {
                let _waiting = GaugeGuard::one_of(&self.metrics.waiting);
                (timeout(MAX_WAIT, taking).await.ok()?, true)
            }
        };
        Some(BodyPermit {
            waited,
            _reading: GaugeGuard::one_of(&self.metrics.reading),
            _permit: taken?,
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use tokio::{task::yield_now, time::Instant};

    use super::*;
    use crate::metrics::Metrics;

    fn permits() -> BodyPermits {
        BodyPermits::new(Metrics::new().bodies().clone())
    }

    async fn acquire_all(permits: &BodyPermits, tenant: u128, count: usize) -> Vec<BodyPermit<'_>> {
        let mut acquire_all = Vec::new();
        for _ in 0..count {
            acquire_all.extend(permits.acquire(Uuid::from_u128(tenant)).await);
            // Tokio's cooperative budget lets one task acquire only so many permits at a time.
            yield_now().await;
        }
        assert_eq!(acquire_all.len(), count);
        acquire_all
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_gets_a_quarter_of_the_permits_and_delays_no_other() {
        let permits = permits();
        let mut first = acquire_all(&permits, 1, MAX_PER_TENANT).await;
        let mut more = Box::pin(permits.acquire(Uuid::from_u128(1)));
        assert!(poll_immediate(&mut more).await.is_none());
        let mut others = Vec::new();
        for tenant in 2..5 {
            others.extend(acquire_all(&permits, tenant, MAX_PER_TENANT).await);
        }
        assert!(others.iter().all(|permit| !permit.waited));
        // All permits are taken: the next tenant waits for the next one to be released.
        let mut fifth = Box::pin(permits.acquire(Uuid::from_u128(5)));
        assert!(poll_immediate(&mut fifth).await.is_none());
        first.pop();
        assert!(poll_immediate(&mut more).await.is_none());
        let fifth = poll_immediate(&mut fifth).await.flatten().unwrap();
        assert!(fifth.waited);
        drop((first, more, others, fifth));
        assert!(permits.permits.is_idle(MAX));
        assert_eq!(permits.metrics.reading.get(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_permit_a_body_times_out_and_one_too_many_fails_at_once() {
        let permits = permits();
        let _places = acquire_all(&permits, 1, MAX_PER_TENANT).await;
        let began = Instant::now();
        let waiting = (0..MAX_WAITING).map(|_| permits.acquire(Uuid::from_u128(1)));
        let mut waiting = Box::pin(join_all(waiting));
        assert!(poll_immediate(&mut waiting).await.is_none());
        assert_eq!(permits.metrics.waiting.get(), 256);
        assert!(permits.acquire(Uuid::from_u128(1)).await.is_none());
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(waiting.await.iter().all(Option::is_none));
        assert_eq!(began.elapsed(), MAX_WAIT);
        assert_eq!(
            (permits.metrics.waiting.get(), permits.metrics.refused.get()),
            (0, 257)
        );
    }
}
