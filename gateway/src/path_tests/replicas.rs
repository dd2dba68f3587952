//! Discovery, health and choice of workers.

use std::{
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use archway_proto::{
    pass::{PassMinter, PassVerifier},
    v1::worker_server::SERVICE_NAME,
};
use serde_json::json;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, mpsc},
    time::{Instant, sleep, timeout},
};
use tonic_health::ServingStatus;

use super::{
    Harness,
    fleet::{Fleet, PATIENCE, code},
    worker::{self, ObservedCall, ScriptedWorker},
};
use crate::{
    metrics::Metrics,
    upstream::{LONGEST_RETRY, ReplicaStatus, Upstream, UpstreamConfig, WorkerState},
};

#[tokio::test]
async fn a_project_stays_with_its_worker_while_it_is_idle() {
    let mut fleet = Fleet::of(4).await;
    for _ in 0..20 {
        fleet.call("mortal", 0).await;
    }
    let busy: Vec<_> = fleet.members.iter().map(|member| member.calls()).collect();
    assert_eq!(
        busy.iter().filter(|calls| **calls == 20).count(),
        1,
        "{busy:?}"
    );

    // While a call is in flight there, the second of the project's two workers gets the next.
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "hang" },
    });
    let _hanging = fleet.harness.open("", &body).await;
    fleet.harness.began().await;
    let result = fleet.call("mortal", 0).await;
    let favourite = fleet.members.iter().find(|member| member.calls() == 21);
    assert_ne!(
        result["structuredContent"]["worker"],
        favourite.unwrap().name
    );
}

#[tokio::test]
async fn a_draining_worker_gets_no_calls_while_another_is_ready() {
    let fleet = Fleet::of(2).await;
    let say = async |member: usize, status| {
        let health = &fleet.members[member].health;
        health.set_service_status(SERVICE_NAME, status).await;
    };
    for (ending, ready) in [(0, 1), (1, 0)] {
        say(ending, ServingStatus::NotServing).await;
        fleet.ready(1).await;
        let before = fleet.members[ending].calls();
        for _ in 0..10 {
            let result = fleet.call("mortal", 0).await;
            assert_eq!(
                result["structuredContent"]["worker"],
                fleet.members[ready].name
            );
        }
        assert_eq!(fleet.members[ending].calls(), before);
        say(ending, ServingStatus::Serving).await;
        fleet.ready(2).await;
    }
    // If no worker is ready, a call is tried nevertheless: the health report may be wrong.
    say(0, ServingStatus::NotServing).await;
    say(1, ServingStatus::NotServing).await;
    fleet.ready(0).await;
    let result = fleet.call("mortal", 0).await;
    assert!(
        result["structuredContent"]["worker"].is_string(),
        "{result}"
    );
}

#[tokio::test]
async fn a_worker_that_returns_is_ready_again() {
    let fleet = Fleet::of(1).await;
    fleet.members[0].door.close();
    fleet
        .until(|replicas| replicas[0].state == WorkerState::Away)
        .await;
    assert_eq!(
        fleet.count(r#"upstream_replicas{pool="shared",state="away"}"#),
        1
    );
    fleet.members[0].door.open().await;
    fleet.ready(1).await;
    let result = fleet.call("mortal", 0).await;
    assert_eq!(result["structuredContent"]["worker"], "worker-0");
    assert_eq!(
        fleet.count(r#"upstream_replicas{pool="shared",state="ready"}"#),
        1
    );
}

#[tokio::test]
async fn a_worker_returns_as_fast_after_its_second_outage() {
    let fleet = Fleet::of(1).await;
    let door = &fleet.members[0].door;
    let away = |replicas: &[ReplicaStatus]| replicas[0].state == WorkerState::Away;
    door.close();
    fleet.until(away).await;
    // An outage so long that the watch polls only every second or two.
    let outage = async {
        let nobody = TcpListener::bind(door.address).await.unwrap();
        loop {
            let asked = Instant::now();
            drop(nobody.accept().await.unwrap());
            if asked.elapsed() > Duration::from_millis(1500) {
                return;
            }
        }
    };
    timeout(PATIENCE, outage).await.unwrap();
    door.open().await;
    fleet.ready(1).await;

    door.close();
    fleet.until(away).await;
    let begun = Instant::now();
    door.open().await;
    fleet.ready(1).await;
    let took = begun.elapsed();
    assert!(took < LONGEST_RETRY * 9 / 10, "{took:?}");
}

#[tokio::test]
async fn a_draining_worker_whose_connections_break_counts_as_no_loss() {
    let fleet = Fleet::of(2).await;
    for member in &fleet.members {
        let status = ServingStatus::NotServing;
        member.health.set_service_status(SERVICE_NAME, status).await;
    }
    let draining = |replicas: &[ReplicaStatus]| {
        let mut states = replicas.iter().map(|one| one.state);
        states.all(|state| state == WorkerState::Draining)
    };
    fleet.until(draining).await;
    // Its worker dies under it, and the other takes over.
    let result = fleet.call("mortal", 1).await;
    assert!(
        result["structuredContent"]["worker"].is_string(),
        "{result}"
    );
    assert_eq!(
        fleet.count(r#"upstream_retries_total{reason="connection_lost"}"#),
        1
    );
    assert_eq!(
        fleet.count(r#"upstream_connections_lost_total{pool="shared"}"#),
        0
    );
}

/// Calls during which each change of the workers happens, eight times within one key's limit.
const CALLS: u64 = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_that_come_and_go_lose_no_call() {
    let fleet = Arc::new(Fleet::of(4).await);
    let allowed = Arc::new(Semaphore::new(0));
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let (fleet, allowed) = (fleet.clone(), allowed.clone());
            tokio::spawn(async move {
                while let Ok(one) = allowed.acquire().await {
                    one.forget();
                    let result = fleet.call("mortal_write", 0).await;
                    let worker = &result["structuredContent"]["worker"];
                    assert!(worker.is_string(), "{result}");
                }
            })
        })
        .collect();
    let all = fleet.found.lock().clone();
    for gone in 0..4 {
        // The remaining worker takes calls before the next change.
        for known in [[all[gone]].as_slice(), &all] {
            let before = fleet.calls();
            allowed.add_permits(usize::try_from(CALLS).unwrap());
            *fleet.found.lock() = known.to_vec();
            fleet.upstream.look_again();
            fleet.until(|replicas| replicas.len() == known.len()).await;
            fleet.ready(known.len()).await;
            let called = async {
                while fleet.calls() < before + CALLS {
                    sleep(Duration::from_millis(1)).await;
                }
            };
            timeout(PATIENCE, called).await.unwrap();
        }
    }
    allowed.close();
    for caller in callers {
        timeout(PATIENCE, caller).await.unwrap().unwrap();
    }
    assert_eq!(
        fleet.count(r#"upstream_connections_lost_total{pool="shared"}"#),
        0
    );
}

#[tokio::test]
async fn a_worker_with_an_address_of_each_family_is_one_worker() {
    let fleet = Fleet::of(1).await;
    let door = fleet.members[0].door.address;
    let twin = SocketAddr::from((Ipv6Addr::LOCALHOST, door.port()));
    let another = SocketAddr::from((Ipv4Addr::new(127, 0, 0, 2), door.port()));
    *fleet.found.lock() = vec![twin, door, another];
    fleet.upstream.look_again();
    fleet.until(|replicas| replicas.len() == 2).await;
    let found = fleet.upstream.replicas();
    assert!(
        !found.iter().any(|one| one.address.contains("::1")),
        "{found:?}"
    );
}

#[tokio::test]
async fn an_unresolved_name_keeps_its_workers() {
    let fleet = Fleet::of(2).await;
    fleet.found.lock().clear();
    fleet.upstream.look_again();
    let failed = async {
        while fleet.count(r#"upstream_dns_failures_total{pool="shared"}"#) == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, failed).await.unwrap();
    fleet.ready(2).await;
}

/// A gateway with one worker in `pool`, at the address that `at` returns for its port.
async fn with_worker(at: impl Fn(u16) -> String, pool: &str) -> (Harness, Arc<Upstream>, Metrics) {
    let minter = PassMinter::generate().unwrap();
    let (tell, seen) = mpsc::channel::<ObservedCall>(64);
    let verifier = PassVerifier::new(&[minter.public_key()], pool);
    let served = worker::serve(ScriptedWorker::new(verifier, tell)).await;
    let port = served.rsplit(':').next().unwrap().parse().unwrap();
    let config = UpstreamConfig {
        workers: vec![at(port)],
        pool: "shared".into(),
        worker_ca: None,
        call_deadline: 10,
    };
    let metrics = Metrics::new();
    let upstream = Upstream::new(&config, minter, metrics.upstream()).unwrap();
    let upstream = Arc::new(upstream);
    let harness = Harness::around(upstream.clone(), seen).await;
    (harness, upstream, metrics)
}

#[tokio::test]
async fn a_host_name_is_resolved() {
    let address = |port| format!("http://localhost:{port}");
    let (harness, upstream, _) = with_worker(address, "shared").await;
    let result = harness.call("echo", json!({})).await;
    assert_eq!(result["structuredContent"]["tenant"], "acme", "{result}");
    assert!(upstream.catalog().await.unwrap().from_default_pool);
    let replicas = upstream.replicas();
    assert!(
        replicas
            .iter()
            .any(|one| one.address.starts_with("http://127.0.0.1:")),
        "{replicas:?}"
    );
}

#[tokio::test]
async fn a_tenant_of_an_unknown_pool_gets_no_worker_available() {
    let address = |port| format!("gold=http://127.0.0.1:{port}");
    // The catalogue comes from the pool that has workers.
    let (harness, upstream, metrics) = with_worker(address, "gold").await;
    assert_eq!(upstream.replicas()[0].pool, "gold");
    assert!(!upstream.catalog().await.unwrap().from_default_pool);
    let result = harness.call("echo", json!({})).await;
    assert_eq!(code(&result), "unavailable", "{result}");
    assert!(!result.to_string().contains("gold"), "{result}");
    let text = metrics.text().unwrap();
    assert!(
        text.contains("upstream_unknown_pool_calls_total 1\n"),
        "{text}"
    );
}
