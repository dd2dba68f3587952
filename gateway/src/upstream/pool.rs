//! The workers of one pool: which exist, which one gets a call, and how a loss is handled.
//!
//! What a reader would get wrong: a pool without a ready worker still has its calls tried. Health
//! only orders the workers; if it excluded them, a false alarm would be an outage.

use std::{collections::HashSet, sync::Arc, time::Duration};

use parking_lot::{Mutex, RwLock};
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    affinity::{Affinity, heaviest_two},
    crashing_calls::CrashingCalls,
    health,
    replica::{Address, InFlight, Replica, ReplicaStatus},
    retry_budget::RetryBudget,
    tls::WorkerCa,
    worker_state::WorkerState,
};
use crate::metrics::UpstreamMetrics;

/// Workers of one pool at most; of more, the first by address.
const MOST_REPLICAS: usize = 256;
/// How long a worker that rejected a pass is tried last.
const DEPRIORITIZED_FOR: Duration = Duration::from_secs(30);
/// The order in which workers are tried: ready, then unknown or draining, then unreachable.
const TRY_ORDER: [&[WorkerState]; 3] = [
    &[WorkerState::Ready],
    &[WorkerState::Draining, WorkerState::Starting],
    &[WorkerState::Away],
];

/// What all pools share.
#[derive(Clone)]
pub(super) struct PoolContext {
    pub(super) metrics: UpstreamMetrics,
    /// Notified of every lost worker.
    pub(super) lost: Arc<Notify>,
    pub(super) crashing_calls: Arc<Mutex<CrashingCalls>>,
    /// Cancelled when the upstream is dropped: ends every task.
    pub(super) dropped: CancellationToken,
    /// The certificate authorities of workers, where TLS is configured.
    pub(super) authority: Option<Arc<WorkerCa>>,
}

/// The workers of one pool.
pub(super) struct Pool {
    name: String,
    replicas: RwLock<Arc<[Arc<Replica>]>>,
    budget: Mutex<RetryBudget>,
    /// Invalid addresses: each is logged once.
    invalid: Mutex<HashSet<String>>,
    /// Requests a lookup of the workers now.
    lookup_request: Notify,
    context: PoolContext,
}

impl Pool {
    /// A pool without workers.
    pub(super) fn new(name: &str, context: PoolContext) -> Self {
        Pool {
            name: name.to_owned(),
            replicas: RwLock::new(Arc::new([])),
            budget: Mutex::default(),
            invalid: Mutex::default(),
            lookup_request: Notify::new(),
            context,
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn metrics(&self) -> &UpstreamMetrics {
        &self.context.metrics
    }

    pub(super) fn budget(&self) -> &Mutex<RetryBudget> {
        &self.budget
    }

    /// Whether one of its workers is ready.
    pub(super) fn is_ready(&self) -> bool {
        let replicas = self.replicas();
        replicas.iter().any(|one| one.state() == WorkerState::Ready)
    }

    /// Whether it has workers, ready or not.
    pub(super) fn has_workers(&self) -> bool {
        !self.replicas.read().is_empty()
    }

    /// Its workers, for operators.
    pub(super) fn status(&self) -> Vec<ReplicaStatus> {
        let replicas = self.replicas();
        let rows = replicas.iter().map(|replica| ReplicaStatus {
            pool: self.name.clone(),
            address: replica.address().to_owned(),
            state: replica.state(),
            in_flight: replica.in_flight(),
        });
        rows.collect()
    }

    /// Picks the less loaded of the two workers with the highest weight for this affinity, but none
    /// of `avoid`. `None` if there is no other.
    pub(super) fn choose(&self, affinity: Affinity, avoid: &[Arc<Replica>]) -> Option<InFlight> {
        let replicas = self.replicas();
        let among = |states: &[WorkerState]| {
            let fit = replicas.iter().filter(|replica| {
                let avoided = avoid.iter().any(|avoided| Arc::ptr_eq(avoided, replica));
                !avoided && states.contains(&replica.state())
            });
            heaviest_two(fit.map(|replica| (affinity.weight(replica.hash()), replica)))
        };
        let chosen = TRY_ORDER.iter().find_map(|states| match among(states) {
            (Some(first), Some(second)) if second.in_flight() < first.in_flight() => Some(second),
            (first, _) => first,
        });
        chosen.map(|replica| InFlight::on(Arc::clone(replica)))
    }

    /// Whether it has a worker other than those in `than`.
    pub(super) fn has_other(&self, than: &[Arc<Replica>]) -> bool {
        let replicas = self.replicas();
        let mut others = replicas
            .iter()
            .filter(|replica| !than.iter().any(|one| Arc::ptr_eq(one, replica)));
        others.next().is_some()
    }

    /// A connection was lost: its worker is unreachable, and its calls go elsewhere. For a worker
    /// that had announced its shutdown, this is expected.
    pub(super) fn record_loss(&self, replica: &Replica, epoch: u64) {
        let Some(before) = replica.record_loss(epoch) else {
            return;
        };
        let (pool, worker) = (self.name.as_str(), replica.address());
        let in_flight = replica.in_flight();
        if before == WorkerState::Draining {
            tracing::info!(pool, worker, in_flight, "worker ended");
        } else {
            tracing::warn!(
                pool,
                worker,
                in_flight,
                "worker lost: its connection broke or can't be made"
            );
            self.context.metrics.connection_lost(&self.name);
        }
        self.update_gauges();
        replica.request_check();
        self.request_lookup();
        self.context.lost.notify_waiters();
    }

    /// A worker is reachable and reported its instance id. If the process is the one from before,
    /// it had not crashed, so the calls that it lost are forgiven.
    pub(super) fn identify(&self, replica: &Replica, instance: Option<&str>) {
        let not_crashed = replica.identify(instance);
        if !not_crashed.is_empty() {
            self.context.crashing_calls.lock().forgive(&not_crashed);
        }
    }

    /// Tries a worker last for a while, because it rejects this gateway's passes. Logged once in
    /// that time.
    pub(super) fn deprioritize(self: &Arc<Self>, replica: &Arc<Replica>) {
        if !replica.deprioritize(Instant::now() + DEPRIORITIZED_FOR) {
            return;
        }
        let (pool, worker) = (self.name.as_str(), replica.address());
        tracing::warn!(
            pool,
            worker,
            "worker refuses passes: compare its keys, pool and clock"
        );
        self.update_gauges();
        let pool = Arc::clone(self);
        tokio::spawn(async move {
            timeout(DEPRIORITIZED_FOR, pool.dropped()).await.ok();
            pool.update_gauges();
        });
    }

    /// A worker reported its state, or could not be asked.
    pub(super) fn report_state(&self, replica: &Replica, epoch: u64, reported: WorkerState) {
        if replica.report_state(epoch, reported).is_none() {
            return;
        }
        let (pool, worker) = (self.name.as_str(), replica.address());
        match reported {
            WorkerState::Starting | WorkerState::Away => self.request_lookup(),
            WorkerState::Ready => tracing::info!(pool, worker, "worker ready"),
            WorkerState::Draining => tracing::info!(pool, worker, "worker takes no more calls"),
        }
        self.update_gauges();
    }

    /// Requests a lookup of the workers now.
    pub(super) fn request_lookup(&self) {
        self.lookup_request.notify_one();
    }

    /// Waits until a lookup is requested.
    pub(super) async fn lookup_requested(&self) {
        self.lookup_request.notified().await;
    }

    /// Waits until the upstream is dropped.
    pub(super) async fn dropped(&self) {
        self.context.dropped.cancelled().await;
    }

    /// Sets the pool's workers. Workers that stay keep their connections. Removed workers get no
    /// new calls, and their connections end with their last call.
    pub(super) fn replace(self: &Arc<Self>, mut addresses: Vec<Address>) {
        let by_tls = self.context.authority.is_some();
        addresses.sort_by_cached_key(|address| address.identity(by_tls));
        addresses.dedup_by_key(|address| address.identity(by_tls));
        let invalid = self.invalid.lock().clone();
        addresses.retain(|address| !invalid.contains(&address.text));
        let found = addresses.len();
        addresses.truncate(MOST_REPLICAS);
        let before = self.replicas();
        let same = before.len() == addresses.len()
            && before
                .iter()
                .zip(&addresses)
                .all(|(one, address)| one.is_at(address, by_tls));
        if same {
            // A pool that never had a worker gets its gauges here.
            return self.update_gauges();
        }
        if found > MOST_REPLICAS {
            tracing::warn!(
                pool = self.name,
                found,
                used = MOST_REPLICAS,
                "pool has more workers than the limit"
            );
        }
        let known = |address: &Address| before.iter().find(|one| one.is_at(address, by_tls));
        let now: Arc<[Arc<Replica>]> = addresses
            .iter()
            .filter_map(|address| known(address).cloned().or_else(|| self.add(address)))
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
        self.update_gauges();
    }

    fn add(self: &Arc<Self>, address: &Address) -> Option<Arc<Replica>> {
        let gone = self.context.dropped.child_token();
        match Replica::new(address, self.context.authority.as_ref(), gone) {
            Ok(replica) => {
                let replica = Arc::new(replica);
                tokio::spawn(health::watch(Arc::clone(self), Arc::clone(&replica)));
                Some(replica)
            }
            Err(error) => {
                tracing::warn!(pool = self.name, worker = address.text, %error, "worker address is invalid");
                self.invalid.lock().insert(address.text.clone());
                None
            }
        }
    }

    fn replicas(&self) -> Arc<[Arc<Replica>]> {
        Arc::clone(&self.replicas.read())
    }

    fn update_gauges(&self) {
        let replicas = self.replicas();
        for state in WorkerState::ALL {
            let count = replicas.iter().filter(|one| one.state() == state).count();
            self.context
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
        super::{crashing_calls::CallDigest, tls::tests::authority_in},
        *,
    };
    use crate::metrics::Metrics;

    fn at(text: &str, origin: Option<&'static str>) -> Address {
        Address {
            text: text.to_owned(),
            origin: origin.map(Uri::from_static),
        }
    }

    /// What pools share, without TLS.
    pub(in crate::upstream) fn context() -> PoolContext {
        PoolContext {
            metrics: Metrics::new().upstream().clone(),
            lost: Arc::default(),
            crashing_calls: Arc::default(),
            dropped: CancellationToken::new(),
            authority: None,
        }
    }

    /// A pool, and a worker that nothing watches.
    pub(in crate::upstream) fn pool_and_replica(text: &str) -> (Pool, Replica) {
        let address = at(text, None);
        let replica = Replica::new(&address, None, CancellationToken::new());
        (Pool::new("shared", context()), replica.unwrap())
    }

    #[tokio::test]
    async fn losses_of_an_unreachable_worker_are_forgiven_once_it_is_back() {
        let (pool, replica) = pool_and_replica("http://127.0.0.1:1");
        let crashing_calls = &pool.context.crashing_calls;
        let hear = || pool.report_state(&replica, replica.state_cell.epoch(), WorkerState::Ready);
        let lose = |call: u128| {
            let epoch = replica.state_cell.epoch();
            pool.record_loss(&replica, epoch);
            let call = CallDigest::of(Uuid::from_u128(call), "tools/call", b"{}");
            crashing_calls.lock().lost(call, epoch, Instant::now());
        };
        pool.identify(&replica, Some("a"));
        hear();
        lose(1);
        // Its watch retries again and again, and calls are tried.
        (0..20).for_each(|_| lose(2));
        pool.identify(&replica, Some("a"));
        hear();
        assert!(crashing_calls.lock().is_empty());

        // A worker that comes back as another process had crashed.
        lose(1);
        lose(2);
        pool.identify(&replica, Some("b"));
        assert!(!crashing_calls.lock().is_empty());
    }

    #[tokio::test]
    async fn a_pool_without_addresses_has_gauges_of_zero() {
        let metrics = Metrics::new();
        let (pool, _) = pool_and_replica("http://127.0.0.1:1");
        let context = PoolContext {
            metrics: metrics.upstream().clone(),
            ..pool.context.clone()
        };
        let pool = Arc::new(Pool::new("gold", context));
        pool.replace(Vec::new());
        let text = metrics.text().unwrap();
        let none = r#"upstream_replicas{pool="gold",state="ready"} 0"#;
        assert!(text.contains(none), "{text}");
    }

    #[tokio::test]
    async fn an_invalid_address_is_tried_once() {
        let pool = Arc::new(pool_and_replica("http://127.0.0.1:1").0);
        let found = || vec![at("http://127.0.0.1:2", None), at("no address", None)];
        pool.replace(found());
        let before = pool.replicas();
        assert_eq!((before.len(), pool.invalid.lock().len()), (1, 1));
        pool.replace(found());
        assert!(
            Arc::ptr_eq(&before, &pool.replicas()),
            "nothing has changed"
        );
    }
    #[tokio::test]
    async fn with_tls_another_name_is_another_worker_and_without_it_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name| at("http://127.0.0.1:2", Some(name));
        let (old, new) = (place("http://old:2"), place("http://new:2"));
        for authority in [None, Some(authority_in(folder.path()))] {
            let with_tls = authority.is_some();
            let mut pool = pool_and_replica("http://127.0.0.1:1").0;
            pool.context.authority = authority;
            let pool = Arc::new(pool);
            let found = |addresses: &[&Address]| {
                pool.replace(addresses.iter().copied().cloned().collect());
                pool.replicas()
            };
            let before = found(&[&old]);
            let stays = Arc::ptr_eq(&before, &found(&[&old]));
            assert!(stays, "nothing has changed");
            let after = found(&[&new]);
            assert_eq!(Arc::ptr_eq(&before[0], &after[0]), !with_tls);
            assert_eq!(after[0].is_at(&new, true), with_tls);
            assert_eq!(after[0].is_at(&old, true), !with_tls);
            // The certificate may be for either name.
            let both = found(&[&old, &new]);
            assert_eq!(both.len(), if with_tls { 2 } else { 1 });
            assert!(both.iter().any(|one| Arc::ptr_eq(one, &after[0])));
        }
    }
}
