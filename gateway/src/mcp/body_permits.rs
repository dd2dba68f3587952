//! Places for large bodies: how much of what clients send is held at once, of one tenant and in all.
//!
//! Units are spent once a message is read. Until then one key could send a megabyte over each of its
//! connections, slowly, and all of them would be kept. So what goes on beyond a small body has a permit
//! first. A tenant has a quarter of them at most: whoever sends too much at once waits for itself, and
//! its bodies stay where they are, in the sockets. Who waits is served in slot, and not for longer than
//! leaves time to read what it sends.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures::future::poll_immediate;
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit},
    time::timeout,
};
use uuid::Uuid;

use crate::metrics::{BodyMetrics, GaugeGuard};

/// Large bodies that are read at once, each of 1 MiB at most.
const MAX: usize = 256;
/// Of one tenant.
const MAX_PER_TENANT: usize = MAX / 4;
/// As many of one tenant may wait, each with 64 KiB of its body; more are refused at once.
const MAX_WAITING: usize = 4 * MAX_PER_TENANT;
/// How long one waits: the rest of a body's 15 s is for reading it.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The acquire_all, and who is at them.
pub(super) struct BodyPermits {
    all: Semaphore,
    /// A tenant is here while it has a permit or waits for one, so there are no more than open requests.
    tenants: Mutex<HashMap<Uuid, TenantPermits>>,
    metrics: BodyMetrics,
}

/// One tenant's.
struct TenantPermits {
    own: Arc<Semaphore>,
    /// Those who have one or wait for one.
    slots: usize,
}

/// A body's permit, given back when it is dropped.
pub(super) struct BodyPermit<'a> {
    /// Whether it was free at once.
    pub(super) waited: bool,
    // In this order: a slot ends after its acquire_all are free.
    _reading: GaugeGuard,
    _of_all: SemaphorePermit<'a>,
    _own: OwnedSemaphorePermit,
    _turn: TenantSlot<'a>,
}

/// One of those of a tenant that have a permit or wait for one.
struct TenantSlot<'a> {
    permits: &'a BodyPermits,
    tenant: Uuid,
}

impl BodyPermits {
    pub(super) fn new(metrics: BodyMetrics) -> Self {
        BodyPermits {
            all: Semaphore::new(MAX),
            tenants: Mutex::default(),
            metrics,
        }
    }

    /// A permit for a large body of this tenant; `None` if none came free in time.
    pub(super) async fn acquire(&self, tenant: Uuid) -> Option<BodyPermit<'_>> {
        let permit = self.wait(tenant).await;
        if permit.is_none() {
            self.metrics.refused.inc();
        }
        permit
    }

    async fn wait(&self, tenant: Uuid) -> Option<BodyPermit<'_>> {
        let (slot, own) = self.slot(tenant)?;
        let mut taking = Box::pin(async {
            // The tenant's own first: those of it that wait for one keep none of the others'.
            let own = own.acquire_owned().await.ok()?;
            Some((own, self.all.acquire().await.ok()?))
        });
        let (taken, waited) = match poll_immediate(&mut taking).await {
            Some(taken) => (taken, false),
            None => {
                let _waiting = GaugeGuard::one_of(&self.metrics.waiting);
                (timeout(MAX_WAIT, taking).await.ok()?, true)
            }
        };
        let (own, of_all) = taken?;
        Some(BodyPermit {
            waited,
            _reading: GaugeGuard::one_of(&self.metrics.reading),
            _of_all: of_all,
            _own: own,
            _turn: slot,
        })
    }

    /// A slot, and the tenant's acquire_all; `None` if too many wait.
    fn slot(&self, tenant: Uuid) -> Option<(TenantSlot<'_>, Arc<Semaphore>)> {
        let mut tenants = self.tenants.lock();
        let tenant_permits = tenants.entry(tenant).or_insert_with(|| TenantPermits {
            own: Arc::new(Semaphore::new(MAX_PER_TENANT)),
            slots: 0,
        });
        if tenant_permits.slots >= MAX_PER_TENANT + MAX_WAITING {
            return None;
        }
        tenant_permits.slots += 1;
        let slot = TenantSlot {
            permits: self,
            tenant,
        };
        Some((slot, tenant_permits.own.clone()))
    }
}

impl Drop for TenantSlot<'_> {
    fn drop(&mut self) {
        let mut tenants = self.permits.tenants.lock();
        if let Some(tenant_permits) = tenants.get_mut(&self.tenant) {
            tenant_permits.slots -= 1;
            if tenant_permits.slots == 0 {
                tenants.remove(&self.tenant);
            }
        }
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
            // One task may take only so much at a time from Tokio.
            yield_now().await;
        }
        assert_eq!(acquire_all.len(), count);
        acquire_all
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_has_a_quarter_of_the_places_and_no_other_waits_for_it() {
        let permits = permits();
        let mut first = acquire_all(&permits, 1, MAX_PER_TENANT).await;
        let mut more = Box::pin(permits.acquire(Uuid::from_u128(1)));
        assert!(poll_immediate(&mut more).await.is_none());
        let mut others = Vec::new();
        for tenant in 2..5 {
            others.extend(acquire_all(&permits, tenant, MAX_PER_TENANT).await);
        }
        assert!(others.iter().all(|permit| !permit.waited));
        // All are taken: the next tenant waits, too, behind who has one that comes free.
        let mut fifth = Box::pin(permits.acquire(Uuid::from_u128(5)));
        assert!(poll_immediate(&mut fifth).await.is_none());
        first.pop();
        assert!(poll_immediate(&mut more).await.is_none());
        let fifth = poll_immediate(&mut fifth).await.flatten().unwrap();
        assert!(fifth.waited);
        drop((first, more, others, fifth));
        assert!(permits.tenants.lock().is_empty());
        assert_eq!(permits.all.available_permits(), MAX);
        assert_eq!(permits.metrics.reading.get(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_none_is_refused_after_a_while_and_one_too_many_at_once() {
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
