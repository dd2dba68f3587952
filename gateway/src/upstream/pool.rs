//! The workers of one pool: who there is, who takes a call, and what is made of their loss.
//!
//! What a reader would get wrong: a pool without a ready worker still has its calls tried. Health
//! only orders the workers; were it believed alone, a false alarm would be an outage.

use std::{collections::HashSet, sync::Arc, time::Duration};

use parking_lot::{Mutex, RwLock};
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    budget::Budget,
    choice::{Affinity, heaviest_two},
    deadly::Deadly,
    health,
    replica::{Address, Flight, Replica, ReplicaStatus},
    secured::Authority,
    standing::State,
};
use crate::metrics::UpstreamMetrics;

/// Workers of one pool at most; of more, the first in the order of their addresses.
const MOST_REPLICAS: usize = 256;
/// How long a worker that did not believe a pass is asked last.
const ASIDE: Duration = Duration::from_secs(30);
/// Who is asked first: the ready, then those that may be, then those that should not be.
const ORDER: [&[State]; 3] = [
    &[State::Ready],
    &[State::Draining, State::Starting],
    &[State::Away],
];

/// What a pool shares with the whole way upstream.
#[derive(Clone)]
pub(super) struct Surroundings {
    pub(super) metrics: UpstreamMetrics,
    /// Told of every worker that is lost.
    pub(super) lost: Arc<Notify>,
    pub(super) deadly: Arc<Mutex<Deadly>>,
    /// Cancelled when the way upstream is dropped: ends every task.
    pub(super) dropped: CancellationToken,
    /// Who vouches for workers, where they are spoken to by TLS.
    pub(super) authority: Option<Arc<Authority>>,
}

/// The workers of one pool.
pub(super) struct Pool {
    name: String,
    replicas: RwLock<Arc<[Arc<Replica>]>>,
    budget: Mutex<Budget>,
    /// Addresses that are none: the fixed ones of them, which are told of once.
    refused: Mutex<HashSet<String>>,
    /// Has the workers be looked for at once.
    hurry: Notify,
    around: Surroundings,
}

impl Pool {
    /// A pool without workers.
    pub(super) fn new(name: &str, around: Surroundings) -> Self {
        Pool {
            name: name.to_owned(),
            replicas: RwLock::new(Arc::new([])),
            budget: Mutex::default(),
            refused: Mutex::default(),
            hurry: Notify::new(),
            around,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn metrics(&self) -> &UpstreamMetrics {
        &self.around.metrics
    }

    pub(super) fn budget(&self) -> &Mutex<Budget> {
        &self.budget
    }

    /// Whether a worker of it is ready.
    pub(super) fn is_ready(&self) -> bool {
        let replicas = self.replicas();
        replicas.iter().any(|one| one.state() == State::Ready)
    }

    /// Whether it has workers, ready or not.
    pub(super) fn has_workers(&self) -> bool {
        !self.replicas.read().is_empty()
    }

    /// Its workers, for the operator.
    pub(super) fn status(&self) -> Vec<ReplicaStatus> {
        let replicas = self.replicas();
        let told = replicas.iter().map(|replica| ReplicaStatus {
            pool: self.name.clone(),
            address: replica.address().to_owned(),
            state: replica.state(),
            in_flight: replica.in_flight(),
        });
        told.collect()
    }

    /// Gives the call to one of the two workers that its affinity weighs most, the one with fewer
    /// calls; never to one of `avoid`. `None` if no other is there.
    pub(super) fn choose(&self, affinity: Affinity, avoid: &[Arc<Replica>]) -> Option<Flight> {
        let replicas = self.replicas();
        let among = |states: &[State]| {
            let fit = replicas.iter().filter(|replica| {
                let avoided = avoid.iter().any(|avoided| Arc::ptr_eq(avoided, replica));
                !avoided && states.contains(&replica.state())
            });
            heaviest_two(fit.map(|replica| (affinity.weight(replica.hash()), replica)))
        };
        let chosen = ORDER.iter().find_map(|states| match among(states) {
            (Some(first), Some(second)) if second.in_flight() < first.in_flight() => Some(second),
            (first, _) => first,
        });
        chosen.map(|replica| Flight::on(Arc::clone(replica)))
    }

    /// Whether another worker than those is there.
    pub(super) fn has_other(&self, than: &[Arc<Replica>]) -> bool {
        let replicas = self.replicas();
        let mut others = replicas
            .iter()
            .filter(|replica| !than.iter().any(|one| Arc::ptr_eq(one, replica)));
        others.next().is_some()
    }

    /// The connection of a call was lost: its worker is away, and its calls go elsewhere. That of a
    /// worker which said that it ends was to be lost.
    pub(super) fn lose(&self, replica: &Replica, epoch: u64) {
        let Some(before) = replica.lose(epoch) else {
            return;
        };
        let (pool, worker) = (self.name.as_str(), replica.address());
        let in_flight = replica.in_flight();
        if before == State::Draining {
            tracing::info!(pool, worker, in_flight, "worker ended");
        } else {
            tracing::warn!(
                pool,
                worker,
                in_flight,
                "worker lost: its connection broke or can't be made"
            );
            self.around.metrics.connection_lost(&self.name);
        }
        self.count();
        replica.doubt();
        self.hasten();
        self.around.lost.notify_waiters();
    }

    /// A worker can be reached, as this process. One that was there before had not ended, so the
    /// calls that were on it did not end it.
    pub(super) fn meet(&self, replica: &Replica, instance: Option<&str>) {
        let out_of_reach = replica.met(instance);
        if !out_of_reach.is_empty() {
            self.around.deadly.lock().forgive(&out_of_reach);
        }
    }

    /// A worker refuses this gateway's passes: for a while it is asked last. Logged once in that time.
    pub(super) fn set_aside(self: &Arc<Self>, replica: &Arc<Replica>) {
        if !replica.set_aside(Instant::now() + ASIDE) {
            return;
        }
        let (pool, worker) = (self.name.as_str(), replica.address());
        tracing::warn!(
            pool,
            worker,
            "worker refuses passes: compare its keys, pool and clock"
        );
        self.count();
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            timeout(ASIDE, pool.dropped()).await.ok();
            pool.count();
        });
    }

    /// A worker said how it stands, or can't be asked.
    pub(super) fn hear(&self, replica: &Replica, epoch: u64, said: State) {
        let is_news = replica.hear(epoch, said).is_some();
        let (pool, worker) = (self.name.as_str(), replica.address());
        match said {
            State::Starting | State::Away => {
                replica.tell_of_absence(pool);
                if is_news {
                    self.hasten();
                }
            }
            _ if !is_news => return,
            State::Ready => tracing::info!(pool, worker, "worker ready"),
            State::Draining => tracing::info!(pool, worker, "worker takes no more calls"),
        }
        self.count();
    }

    /// Has the workers be looked for at once.
    pub(super) fn hasten(&self) {
        self.hurry.notify_one();
    }

    /// Waits until a worker was lost since it was last waited for.
    pub(super) async fn hurried(&self) {
        self.hurry.notified().await;
    }

    /// Waits until the way upstream is dropped.
    pub(super) async fn dropped(&self) {
        self.around.dropped.cancelled().await;
    }

    /// Has these workers and no others. Who stays keeps its connection; who is gone gets no new
    /// call, and its connection ends with the last of those it has.
    pub(super) fn replace(self: &Arc<Self>, mut addresses: Vec<Address>) {
        let by_tls = self.around.authority.is_some();
        addresses.sort_by_cached_key(|address| address.identity(by_tls));
        addresses.dedup_by_key(|address| address.identity(by_tls));
        let refused = self.refused.lock().clone();
        addresses.retain(|address| !refused.contains(&address.text));
        let found = addresses.len();
        addresses.truncate(MOST_REPLICAS);
        let before = self.replicas();
        let same = before.len() == addresses.len()
            && before
                .iter()
                .zip(&addresses)
                .all(|(one, address)| one.is_at(address, by_tls));
        if same {
            // Of a pool that nothing was ever found for, this is all that metrics have.
            return self.count();
        }
        if found > MOST_REPLICAS {
            tracing::warn!(
                pool = self.name,
                found,
                used = MOST_REPLICAS,
                "more workers than are used"
            );
        }
        let known = |address: &Address| before.iter().find(|one| one.is_at(address, by_tls));
        let now: Arc<[Arc<Replica>]> = addresses
            .iter()
            .filter_map(|address| known(address).cloned().or_else(|| self.take_on(address)))
            .collect();
        *self.replicas.write() = Arc::clone(&now);
        for gone in before
            .iter()
            .filter(|one| !now.iter().any(|now| Arc::ptr_eq(now, one)))
        {
            let (pool, worker) = (self.name.as_str(), gone.address());
            tracing::info!(pool, worker, "worker left the pool");
            gone.retire();
        }
        self.count();
    }

    fn take_on(self: &Arc<Self>, address: &Address) -> Option<Arc<Replica>> {
        let gone = self.around.dropped.child_token();
        match Replica::new(address, self.around.authority.as_ref(), gone) {
            Ok(replica) => {
                let replica = Arc::new(replica);
                tokio::spawn(health::watch(Arc::clone(self), Arc::clone(&replica)));
                Some(replica)
            }
            Err(error) => {
                tracing::warn!(pool = self.name, worker = address.text, %error, "worker address could not be resolved");
                self.refused.lock().insert(address.text.clone());
                None
            }
        }
    }

    fn replicas(&self) -> Arc<[Arc<Replica>]> {
        Arc::clone(&self.replicas.read())
    }

    fn count(&self) {
        let replicas = self.replicas();
        for state in State::ALL {
            let count = replicas.iter().filter(|one| one.state() == state).count();
            self.around
                .metrics
                .replicas(&self.name, state.name(), count);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use http::Uri;
    use uuid::Uuid;

    use super::{
        super::{deadly::Digest, secured::tests::believed},
        *,
    };
    use crate::metrics::Metrics;

    fn at(text: &str, origin: Option<&'static str>) -> Address {
        Address {
            text: text.to_owned(),
            origin: origin.map(Uri::from_static),
        }
    }

    /// A pool, and a worker that nobody watches.
    pub(in crate::upstream) fn alone(text: &str) -> (Pool, Replica) {
        let around = Surroundings {
            metrics: Metrics::new().upstream().clone(),
            lost: Arc::default(),
            deadly: Arc::default(),
            dropped: CancellationToken::new(),
            authority: None,
        };
        let address = at(text, None);
        let replica = Replica::new(&address, None, CancellationToken::new());
        (Pool::new("shared", around), replica.unwrap())
    }

    #[tokio::test]
    async fn what_was_lost_at_a_worker_that_was_out_of_reach_is_forgiven_once_it_is_back() {
        let (pool, replica) = alone("http://127.0.0.1:1");
        let deadly = &pool.around.deadly;
        let hear = || pool.hear(&replica, replica.standing.epoch(), State::Ready);
        let lose = |call: u128| {
            let epoch = replica.standing.epoch();
            pool.lose(&replica, epoch);
            let call = Digest::of(Uuid::from_u128(call), "tools/call", b"{}");
            deadly.lock().lost(call, epoch, Instant::now());
        };
        pool.meet(&replica, Some("a"));
        hear();
        lose(1);
        // Its watch asks again and again, and a call is tried.
        (0..20).for_each(|_| lose(2));
        pool.meet(&replica, Some("a"));
        hear();
        assert!(deadly.lock().is_empty());

        // One that comes back as another process had ended.
        lose(1);
        lose(2);
        pool.meet(&replica, Some("b"));
        assert!(!deadly.lock().is_empty());
    }

    #[tokio::test]
    async fn a_pool_that_nothing_is_found_for_is_counted_as_without_workers() {
        let metrics = Metrics::new();
        let (pool, _) = alone("http://127.0.0.1:1");
        let around = Surroundings {
            metrics: metrics.upstream().clone(),
            ..pool.around.clone()
        };
        let pool = Arc::new(Pool::new("gold", around));
        pool.replace(Vec::new());
        let text = metrics.text().unwrap();
        let none = r#"upstream_replicas{pool="gold",state="ready"} 0"#;
        assert!(text.contains(none), "{text}");
    }

    #[tokio::test]
    async fn an_address_that_is_none_is_looked_at_once() {
        let pool = Arc::new(alone("http://127.0.0.1:1").0);
        let found = || vec![at("http://127.0.0.1:2", None), at("no address", None)];
        pool.replace(found());
        let before = pool.replicas();
        assert_eq!((before.len(), pool.refused.lock().len()), (1, 1));
        pool.replace(found());
        assert!(
            Arc::ptr_eq(&before, &pool.replicas()),
            "nothing has changed"
        );
    }
    #[tokio::test]
    async fn by_tls_a_worker_under_another_name_is_another_and_in_the_clear_it_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name| at("http://127.0.0.1:2", Some(name));
        let (old, new) = (place("http://old:2"), place("http://new:2"));
        for authority in [None, Some(believed(folder.path()))] {
            let secured = authority.is_some();
            let mut pool = alone("http://127.0.0.1:1").0;
            pool.around.authority = authority;
            let pool = Arc::new(pool);
            let found = |addresses: &[&Address]| {
                pool.replace(addresses.iter().copied().cloned().collect());
                pool.replicas()
            };
            let before = found(&[&old]);
            let stays = Arc::ptr_eq(&before, &found(&[&old]));
            assert!(stays, "nothing has changed");
            let after = found(&[&new]);
            assert_eq!(Arc::ptr_eq(&before[0], &after[0]), !secured);
            assert_eq!(after[0].is_at(&new, true), secured);
            assert_eq!(after[0].is_at(&old, true), !secured);
            // Either name may be the one that the certificate is for.
            let both = found(&[&old, &new]);
            assert_eq!(both.len(), if secured { 2 } else { 1 });
            assert!(both.iter().any(|one| Arc::ptr_eq(one, &after[0])));
        }
    }
}
