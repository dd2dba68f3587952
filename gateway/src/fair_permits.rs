//! Permits that holders share fairly: tenants for large bodies, source addresses for key look-ups.
//!
//! A holder may have a share of all permits. Its other requests wait for that share in a queue of their
//! own, and only then in the common one, so a new holder waits for at most a share of each other one. The
//! caller bounds how many requests a holder may have, and how long one waits.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// The permits, and the holders of some.
pub(crate) struct FairPermits<K: Copy + Eq + Hash> {
    all: Semaphore,
    share: usize,
    requests: Mutex<Requests<K>>,
}

struct Requests<K> {
    total: usize,
    /// Contains a holder while one of its requests has a permit or waits for one.
    by_holder: HashMap<K, Holder>,
}

struct Holder {
    requests: usize,
    own: Arc<Semaphore>,
}

/// A request of a holder: it counts until it is dropped.
pub(crate) struct Request<'a, K: Copy + Eq + Hash> {
    permits: &'a FairPermits<K>,
    holder: K,
    own: Arc<Semaphore>,
}

/// A permit, free again when this is dropped.
pub(crate) struct FairPermit<'a, K: Copy + Eq + Hash> {
    _of_all: SemaphorePermit<'a>,
    _own: OwnedSemaphorePermit,
    // Last: a holder is forgotten only after its permits are back.
    _request: Request<'a, K>,
}

impl<K: Copy + Eq + Hash> FairPermits<K> {
    /// `count` permits, of which one holder has `share` at most.
    pub(crate) fn new(count: usize, share: usize) -> Self {
        FairPermits {
            all: Semaphore::new(count),
            share,
            requests: Mutex::new(Requests {
                total: 0,
                by_holder: HashMap::new(),
            }),
        }
    }

    /// Counts a request if `admits` says so, given the holder's requests and all requests so far.
    pub(crate) fn enter(
        &self,
        holder: K,
        admits: impl FnOnce(usize, usize) -> bool,
    ) -> Option<Request<'_, K>> {
        let mut requests = self.requests.lock();
        let own = requests.by_holder.get(&holder).map_or(0, |it| it.requests);
        if !admits(own, requests.total) {
            return None;
        }
        requests.total += 1;
        let entry = requests.by_holder.entry(holder).or_insert_with(|| Holder {
            requests: 0,
            own: Arc::new(Semaphore::new(self.share)),
        });
        entry.requests += 1;
        Some(Request {
            permits: self,
            holder,
            own: entry.own.clone(),
        })
    }

    /// Whether all `count` permits are free and no holder is remembered.
    #[cfg(test)]
    pub(crate) fn is_idle(&self, count: usize) -> bool {
        let requests = self.requests.lock();
        let is_free = self.all.available_permits() == count;
        is_free && requests.total == 0 && requests.by_holder.is_empty()
    }
}

impl<'a, K: Copy + Eq + Hash> Request<'a, K> {
    /// Waits for a permit, in turn. `None` never happens: the semaphores are not closed.
    pub(crate) async fn permit(self) -> Option<FairPermit<'a, K>> {
        // The holder's own permit first, so that its waiting requests hold none of the shared ones.
        let own = self.own.clone().acquire_owned().await.ok()?;
        let of_all = self.permits.all.acquire().await.ok()?;
        Some(FairPermit {
            _of_all: of_all,
            _own: own,
            _request: self,
        })
    }
}

impl<K: Copy + Eq + Hash> Drop for Request<'_, K> {
    fn drop(&mut self) {
        let mut requests = self.permits.requests.lock();
        requests.total -= 1;
        if let Some(holder) = requests.by_holder.get_mut(&self.holder) {
            holder.requests -= 1;
            if holder.requests == 0 {
                requests.by_holder.remove(&self.holder);
            }
        }
    }
}
