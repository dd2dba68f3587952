//! A gateway with several workers, each behind a proxy, found by a name that the test resolves.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use archway_proto::pass::{PassMinter, PassVerifier};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};
use tonic_health::server::HealthReporter;

use super::{
    Harness,
    dying_worker::DyingWorker,
    proxy::{Proxy, WorkerLife},
    worker::ScriptedWorker,
};
use crate::{
    dns::Resolver,
    metrics::Metrics,
    upstream::{ReplicaStatus, Upstream, UpstreamConfig, WorkerState},
};

/// Bounds every wait; reached only on failure.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// One worker of a fleet.
pub(super) struct Member {
    pub(super) name: String,
    pub(super) door: Proxy,
    pub(super) health: HealthReporter,
    calls: Arc<AtomicU64>,
}

/// Workers, and the gateway that discovered them.
pub(super) struct Fleet {
    pub(super) harness: Harness,
    pub(super) upstream: Arc<Upstream>,
    pub(super) members: Vec<Member>,
    /// The addresses of the workers' name.
    pub(super) found: Arc<Mutex<Vec<SocketAddr>>>,
    pub(super) deaths: Arc<AtomicU64>,
    counted: Metrics,
}

impl Fleet {
    /// A fleet of this many workers, each ready.
    pub(super) async fn of(count: usize) -> Self {
        Fleet::with_others(count, &[]).await
    }

    /// A fleet of this many workers, each ready, and whatever listens at the other addresses.
    pub(super) async fn with_others(count: usize, others: &[SocketAddr]) -> Self {
        Fleet::with(count, others, 10).await
    }

    /// The same with a call deadline in seconds.
    pub(super) async fn with(count: usize, others: &[SocketAddr], call_deadline: u64) -> Self {
        let minter = PassMinter::generate().unwrap();
        let verifier = || PassVerifier::new(&[minter.public_key()], "shared");
        let (tell, seen) = mpsc::channel(64);
        let deaths = Arc::<AtomicU64>::default();
        let mut members = Vec::new();
        for number in 0..count {
            let scripted = ScriptedWorker::new(verifier(), tell.clone());
            let name = format!("worker-{number}");
            members.push(Member::start(scripted, name, deaths.clone()).await);
        }
        let doors = members.iter().map(|member| member.door.address);
        let found = Arc::new(Mutex::new(doors.chain(others.iter().copied()).collect()));
        let config = UpstreamConfig {
            workers: vec!["http://workers.test:7000".to_owned()],
            pool: "shared".into(),
            worker_ca: None,
            call_deadline,
        };
        let counted = Metrics::new();
        let resolver = answering(&found);
        let upstream =
            Upstream::with_resolver(&config, minter, counted.upstream(), &resolver).unwrap();
        let upstream = Arc::new(upstream);
        let fleet = Fleet {
            harness: Harness::around(upstream.clone(), seen).await,
            upstream,
            members,
            found,
            deaths,
            counted,
        };
        fleet.ready(count).await;
        fleet
    }

    /// Waits until this many workers are ready.
    pub(super) async fn ready(&self, count: usize) {
        let is_ready = |one: &ReplicaStatus| one.state == WorkerState::Ready;
        self.until(|replicas| replicas.iter().filter(|one| is_ready(one)).count() == count)
            .await;
    }

    /// Waits until the status of the workers fits.
    pub(super) async fn until(&self, fits: impl Fn(&[ReplicaStatus]) -> bool) {
        let waiting = async {
            while !fits(&self.upstream.replicas()) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = timeout(PATIENCE, waiting).await;
        assert!(waited.is_ok(), "{:?}", self.upstream.replicas());
    }

    /// Calls a tool that kills this many workers.
    pub(super) async fn call(&self, tool: &str, ends: u64) -> Value {
        let arguments = if ends == 0 {
            json!({})
        } else {
            json!({ "max_depth": ends })
        };
        self.harness.call(tool, arguments).await
    }

    /// Tool calls that any worker received.
    pub(super) fn calls(&self) -> u64 {
        self.members.iter().map(Member::calls).sum()
    }

    /// An upstream counter, by its name and labels.
    pub(super) fn count(&self, series: &str) -> u64 {
        let text = self.counted.text().unwrap();
        let name = format!("archway_gateway_{series} ");
        let count = text.lines().find_map(|line| line.strip_prefix(&*name));
        count.map_or(0, |count| count.parse().unwrap())
    }
}

impl Member {
    async fn start(scripted: ScriptedWorker, name: String, deaths: Arc<AtomicU64>) -> Self {
        let (life, health, calls) = (WorkerLife::default(), HealthReporter::new(), Arc::default());
        let mortal = DyingWorker {
            scripted,
            name: name.clone(),
            life: life.clone(),
            deaths,
            calls: Arc::clone(&calls),
            health: health.clone(),
        };
        Member {
            name,
            door: Proxy::before(mortal.serve().await, life).await,
            health,
            calls,
        }
    }

    /// Tool calls that it received.
    pub(super) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

/// A resolver that returns these addresses and never fails.
fn answering(found: &Arc<Mutex<Vec<SocketAddr>>>) -> Resolver {
    let found = found.clone();
    Arc::new(move |host, port| {
        assert_eq!((host.as_str(), port), ("workers.test", 7000));
        let answer = found.lock().clone();
        Box::pin(async move { Ok(answer) })
    })
}

/// The code of a failed call.
pub(super) fn code(result: &Value) -> &str {
    error(result)["code"].as_str().unwrap_or_default()
}

/// The failure of a call.
pub(super) fn error(result: &Value) -> &Value {
    &result["_meta"]["io.archway/error"]["error"]
}
