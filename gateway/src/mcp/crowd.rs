//! Places for large bodies: how much of what clients send is held at once, of one tenant and in all.
//!
//! Units are spent once a message is read. Until then one key could send a megabyte over each of its
//! connections, slowly, and all of them would be kept. So what goes on beyond a small body has a place
//! first. A tenant has a quarter of them at most: whoever sends too much at once waits for itself, and
//! its bodies stay where they are, in the sockets. Who waits is served in turn, and not for longer than
//! leaves time to read what it sends.

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures::future::poll_immediate;
use parking_lot::Mutex;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit},
    time::timeout,
};
use uuid::Uuid;

use crate::metrics::{BodyMetrics, Counted};

/// Large bodies that are read at once, each of 1 MiB at most.
const MOST: usize = 256;
/// Of one tenant.
const MOST_OF_TENANT: usize = MOST / 4;
/// As many of one tenant may wait, each with 64 KiB of its body; more are refused at once.
const MOST_WAITING: usize = 4 * MOST_OF_TENANT;
/// How long one waits: the rest of a body's 15 s is for reading it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The places, and who is at them.
pub(super) struct Crowd {
    places: Semaphore,
    /// A tenant is here while it has a place or waits for one, so there are no more than open requests.
    tenants: Mutex<HashMap<Uuid, Line>>,
    metrics: BodyMetrics,
}

/// One tenant's.
struct Line {
    places: Arc<Semaphore>,
    /// Those who have one or wait for one.
    turns: usize,
}

/// A body's place, given back when it is dropped.
pub(super) struct Place<'a> {
    /// Whether it was free at once.
    pub(super) waited: bool,
    // In this order: a turn ends after its places are free.
    _reading: Counted,
    _of_all: SemaphorePermit<'a>,
    _own: OwnedSemaphorePermit,
    _turn: Turn<'a>,
}

/// One of those of a tenant that have a place or wait for one.
struct Turn<'a> {
    crowd: &'a Crowd,
    tenant: Uuid,
}

impl Crowd {
    pub(super) fn new(metrics: BodyMetrics) -> Self {
        Crowd {
            places: Semaphore::new(MOST),
            tenants: Mutex::default(),
            metrics,
        }
    }

    /// A place for a large body of this tenant; `None` if none came free in time.
    pub(super) async fn place(&self, tenant: Uuid) -> Option<Place<'_>> {
        let place = self.wait(tenant).await;
        if place.is_none() {
            self.metrics.refused.inc();
        }
        place
    }

    async fn wait(&self, tenant: Uuid) -> Option<Place<'_>> {
        let (turn, line) = self.turn(tenant)?;
        let mut taking = Box::pin(async {
            // The tenant's own first: those of it that wait for one keep none of the others'.
            let own = line.acquire_owned().await.ok()?;
            Some((own, self.places.acquire().await.ok()?))
        });
        let (taken, waited) = match poll_immediate(&mut taking).await {
            Some(taken) => (taken, false),
            None => {
                let _waiting = Counted::one_of(&self.metrics.waiting);
                (timeout(PATIENCE, taking).await.ok()?, true)
            }
        };
        let (own, of_all) = taken?;
        Some(Place {
            waited,
            _reading: Counted::one_of(&self.metrics.reading),
            _of_all: of_all,
            _own: own,
            _turn: turn,
        })
    }

    /// A turn, and the tenant's places; `None` if too many wait.
    fn turn(&self, tenant: Uuid) -> Option<(Turn<'_>, Arc<Semaphore>)> {
        let mut tenants = self.tenants.lock();
        let line = tenants.entry(tenant).or_insert_with(|| Line {
            places: Arc::new(Semaphore::new(MOST_OF_TENANT)),
            turns: 0,
        });
        if line.turns >= MOST_OF_TENANT + MOST_WAITING {
            return None;
        }
        line.turns += 1;
        let turn = Turn {
            crowd: self,
            tenant,
        };
        Some((turn, line.places.clone()))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut tenants = self.crowd.tenants.lock();
        if let Some(line) = tenants.get_mut(&self.tenant) {
            line.turns -= 1;
            if line.turns == 0 {
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

    fn crowd() -> Crowd {
        Crowd::new(Metrics::new().bodies().clone())
    }

    async fn places(crowd: &Crowd, tenant: u128, count: usize) -> Vec<Place<'_>> {
        let mut places = Vec::new();
        for _ in 0..count {
            places.extend(crowd.place(Uuid::from_u128(tenant)).await);
            // One task may take only so much at a time from Tokio.
            yield_now().await;
        }
        assert_eq!(places.len(), count);
        places
    }

    #[tokio::test(start_paused = true)]
    async fn a_tenant_has_a_quarter_of_the_places_and_no_other_waits_for_it() {
        let crowd = crowd();
        let mut first = places(&crowd, 1, MOST_OF_TENANT).await;
        let mut more = Box::pin(crowd.place(Uuid::from_u128(1)));
        assert!(poll_immediate(&mut more).await.is_none());
        let mut others = Vec::new();
        for tenant in 2..5 {
            others.extend(places(&crowd, tenant, MOST_OF_TENANT).await);
        }
        assert!(others.iter().all(|place| !place.waited));
        // All are taken: the next tenant waits, too, behind who has one that comes free.
        let mut fifth = Box::pin(crowd.place(Uuid::from_u128(5)));
        assert!(poll_immediate(&mut fifth).await.is_none());
        first.pop();
        assert!(poll_immediate(&mut more).await.is_none());
        let fifth = poll_immediate(&mut fifth).await.flatten().unwrap();
        assert!(fifth.waited);
        drop((first, more, others, fifth));
        assert!(crowd.tenants.lock().is_empty());
        assert_eq!(crowd.places.available_permits(), MOST);
        assert_eq!(crowd.metrics.reading.get(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_none_is_refused_after_a_while_and_one_too_many_at_once() {
        let crowd = crowd();
        let _places = places(&crowd, 1, MOST_OF_TENANT).await;
        let began = Instant::now();
        let waiting = (0..MOST_WAITING).map(|_| crowd.place(Uuid::from_u128(1)));
        let mut waiting = Box::pin(join_all(waiting));
        assert!(poll_immediate(&mut waiting).await.is_none());
        assert_eq!(crowd.metrics.waiting.get(), 256);
        assert!(crowd.place(Uuid::from_u128(1)).await.is_none());
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(waiting.await.iter().all(Option::is_none));
        assert_eq!(began.elapsed(), PATIENCE);
        assert_eq!(
            (crowd.metrics.waiting.get(), crowd.metrics.refused.get()),
            (0, 257)
        );
    }
}
