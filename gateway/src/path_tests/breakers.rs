//! Circuits and bulkheads of a whole gateway, from a client's socket to a worker that is ill.
//!
//! Rests and deadlines are skipped, not waited for, where no worker has to notice.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use archway_proto::pass::{PassMinter, PassVerifier};
use futures::future::join_all;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc},
    task::JoinHandle,
    time::{Instant, advance, pause, resume, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Harness,
    worker::{self, Scripted, Seen},
};
use crate::{
    AuthConfig, BreakerConfig, Gateway, GatewayConfig, GuardConfig, LimitsConfig, UpstreamConfig,
    auth::{Principal, key::KeyText},
    secrets::RootSecret,
    store::Stores,
};

/// Nothing here takes longer, unless it never happens.
const PATIENCE: Duration = Duration::from_secs(20);
const SECOND: Duration = Duration::from_secs(1);

/// A gateway as `archway gateway` runs it, but for Postgres, and its worker.
struct Scene {
    /// Calls as `acme`.
    harness: Harness,
    /// The key of `zeta`.
    other: String,
    gate: Arc<Semaphore>,
    gateway: Gateway,
    admin: SocketAddr,
    shutdown: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Scene {
    async fn start() -> Scene {
        Scene::with(10, BreakerConfig::default()).await
    }

    async fn with(call_deadline: u64, breaker: BreakerConfig) -> Scene {
        let minter = PassMinter::generate().unwrap();
        let (tell, seen) = mpsc::channel(256);
        let verifier = PassVerifier::new(&[minter.public_key()], "shared");
        let scripted = Scripted::new(verifier, tell);
        let gate = scripted.gate.clone();
        let config = GatewayConfig {
            guard: GuardConfig::default(),
            auth: AuthConfig::default(),
            limits: LimitsConfig::default(),
            breaker,
            upstream: UpstreamConfig {
                workers: vec![worker::serve(scripted).await],
                pool: "shared".into(),
                call_deadline,
            },
        };
        let gateway = gateway(&config, minter);
        let auth = &gateway.parts.changes.auth;
        let [key, other] = [(); 2].map(|()| KeyText::generate().unwrap());
        let stranger = Principal::stranger_for_tests();
        auth.know_for_tests(&key, &[archway_proto::catalog::Scope::ToolsRead])
            .await;
        auth.know_as_for_tests(&other, stranger).await;
        let bind = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (clients, probes) = (bind().await, bind().await);
        let (address, admin) = (clients.local_addr().unwrap(), probes.local_addr().unwrap());
        let (serving, shutdown) = (gateway.clone(), CancellationToken::new());
        let until = shutdown.clone();
        let serving = async move { serving.serve(clients, probes, until).await };
        let serving = tokio::spawn(serving);
        timeout(PATIENCE, gateway.parts.admin.catalog.fetched())
            .await
            .unwrap();
        Scene {
            harness: Harness {
                address: address.to_string(),
                key: key.text().expose_secret().to_owned(),
                seen,
                metrics: gateway.parts.admin.metrics.clone(),
                _shutdown: shutdown.clone().drop_guard(),
            },
            other: other.text().expose_secret().to_owned(),
            gate,
            gateway,
            admin,
            shutdown,
            serving,
        }
    }

    /// What came of a call: `ok`, or the code of its failure.
    async fn call(&self, tool: &str) -> String {
        code(&self.harness.call(tool, json!({})).await)
    }

    /// What came of so many calls at once.
    async fn calls(&self, tool: &str, count: usize) -> Vec<String> {
        join_all((0..count).map(|_| self.call(tool))).await
    }

    /// A call that is refused: its failure.
    async fn refused(&self, tool: &str) -> Value {
        failure(&self.harness.call(tool, json!({})).await)
    }

    /// What came of a call of the other tenant.
    async fn others(&self, tool: &str) -> Value {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool },
        });
        let body = body.to_string();
        let head = self.harness.head(body.len(), "");
        let head = head.replace(&self.harness.key, &self.other);
        let (status, _, body) = self.harness.raw(&format!("{head}{body}")).await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()["result"].clone()
    }

    /// The circuit of the family that all tools but `far` are of.
    async fn circuit(&self) -> Value {
        let status = self.status().await;
        let circuits = status["circuits"].as_array().unwrap();
        let basics = circuits.iter().find(|row| row["family"] == "basics");
        basics.cloned().unwrap_or_default()
    }

    async fn status(&self) -> Value {
        serde_json::from_str(&self.probe("/status").await).unwrap()
    }

    /// What the admin port answers.
    async fn probe(&self, path: &str) -> String {
        let mut socket = TcpStream::connect(self.admin).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let read = timeout(PATIENCE, socket.read_to_string(&mut answer)).await;
        read.unwrap().unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// Waits until so many calls run and so many wait.
    async fn until(&self, in_flight: usize, queued: usize) {
        let calls = || {
            let calls = self.gateway.parts.admin.breaker.report().calls;
            (calls.in_flight, calls.queued)
        };
        let wait = async {
            while calls() != (in_flight, queued) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = timeout(PATIENCE, wait).await;
        waited.unwrap_or_else(|_| panic!("{:?} run and wait", calls()));
    }

    /// Waits until the worker has begun so many calls.
    async fn began(&mut self, count: usize) {
        for _ in 0..count {
            let seen = timeout(PATIENCE, self.harness.seen.recv()).await;
            assert!(matches!(seen, Ok(Some(Seen::Began))), "{seen:?}");
        }
    }

    /// A call whose answer nobody reads.
    async fn open(&self, tool: &str) -> TcpStream {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool },
        });
        let body = body.to_string();
        let mut socket = TcpStream::connect(&self.harness.address).await.unwrap();
        let request = format!("{}{body}", self.harness.head(body.len(), ""));
        socket.write_all(request.as_bytes()).await.unwrap();
        socket
    }
}

fn gateway(config: &GatewayConfig, minter: PassMinter) -> Gateway {
    let nowhere = sqlx::postgres::PgConnectOptions::new().socket("/nonexistent");
    let secret = RootSecret::parse(&RootSecret::generate_line().unwrap()).unwrap();
    let stores = Stores::with_options(nowhere, 1);
    let gateway = Gateway::new(config, stores, Arc::new(secret), minter).unwrap();
    gateway.with_drain_limit(Duration::from_millis(100))
}

fn failure(result: &Value) -> Value {
    result["_meta"]["io.archway/error"]["error"].clone()
}

fn code(result: &Value) -> String {
    failure(result)["code"].as_str().unwrap_or("ok").to_owned()
}

/// Lets time pass that nobody waits for.
async fn skip(time: Duration) {
    pause();
    advance(time).await;
    resume();
}

#[tokio::test]
async fn a_storm_of_internal_errors_rests_its_family_for_everybody_and_no_other_family() {
    let scene = Scene::start().await;
    let listed = scene.harness.ask("tools/list", json!({})).await;
    for _ in 0..10 {
        assert_eq!(scene.call("status").await, "internal_error");
    }
    let refused = scene.refused("echo").await;
    assert_eq!(refused["code"], "circuit_open");
    let details = &refused["details"];
    assert_eq!(details["circuit"], "shared/basics");
    assert_eq!(details["state"], "open");
    let wait = details["retry_after_seconds"].as_u64().unwrap();
    assert!((1..=5).contains(&wait), "{wait}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("the family basics"), "{message}");
    let suggestion = refused["suggestion"].as_str().unwrap();
    assert!(
        suggestion.contains(&format!("wait {wait} second")),
        "{suggestion}"
    );

    // The other tenant did nothing, but would meet the same workers. It learns of nobody.
    let told = scene.others("echo").await;
    assert_eq!(code(&told), "circuit_open");
    assert!(!told.to_string().contains("acme"), "{told}");

    assert_eq!(scene.call("far").await, "ok");
    assert_eq!(scene.harness.ask("tools/list", json!({})).await, listed);
    let metrics = scene.probe("/metrics").await;
    for line in [
        r#"circuit_state{pool="shared",family="basics"} 2"#,
        r#"circuit_state{pool="shared",family="distance"} 0"#,
        r#"circuit_openings_total{pool="shared",family="basics",circuit="shared"} 1"#,
        r#"circuit_refusals_total{pool="shared",family="basics",circuit="shared"} 2"#,
        r#"tool_calls_total{tool="echo",outcome="circuit_open"} 2"#,
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    let circuit = scene.circuit().await;
    assert_eq!(
        (&circuit["calls"], &circuit["faults"]),
        (&json!(10), &json!(10))
    );
}

#[tokio::test]
async fn answers_that_are_no_results_are_faults_and_failures_that_tools_tell_are_not() {
    let scene = Scene::start().await;
    for _ in 0..12 {
        assert_eq!(scene.call("denies").await, "internal_error");
        scene.harness.call("echo", json!({ "max_depth": 10 })).await;
    }
    let circuit = scene.circuit().await;
    assert_eq!(circuit["state"], "closed");
    // Bad arguments never came as far.
    assert_eq!(
        (&circuit["calls"], &circuit["faults"]),
        (&json!(12), &json!(0))
    );
    for _ in 0..12 {
        assert_eq!(scene.call("garbage").await, "internal_error");
    }
    assert_eq!(scene.call("echo").await, "circuit_open");
}

#[tokio::test]
async fn after_its_rest_three_calls_probe_and_their_success_closes_the_circuit() {
    let mut scene = Scene::start().await;
    scene.calls("status", 10).await;
    assert_eq!(scene.call("gate").await, "circuit_open");
    skip(5 * SECOND).await;
    let refused = {
        let probes = scene.calls("gate", 3);
        let mut probes = Box::pin(probes);
        let fourth = async {
            scene.until(3, 0).await;
            let fourth = scene.refused("gate").await;
            scene.gate.add_permits(3);
            fourth
        };
        let (refused, codes) = futures::join!(fourth, &mut probes);
        assert_eq!(codes, ["ok"; 3]);
        refused
    };
    assert_eq!(refused["details"]["state"], "half-open");
    assert_eq!(refused["details"]["retry_after_seconds"], 1);
    scene.began(3).await;
    assert!(scene.harness.seen.try_recv().is_err(), "no fourth probe");
    assert_eq!(scene.circuit().await["state"], "closed");
    assert_eq!(scene.calls("echo", 20).await, ["ok"; 20]);
}

#[tokio::test]
async fn a_probe_that_fails_opens_the_circuit_for_longer() {
    let scene = Scene::start().await;
    scene.calls("status", 10).await;
    skip(5 * SECOND).await;
    assert_eq!(scene.circuit().await["state"], "half-open");
    assert_eq!(scene.call("status").await, "internal_error");
    let circuit = scene.circuit().await;
    assert_eq!(circuit["state"], "open");
    let wait = circuit["retry_after_seconds"].as_u64().unwrap();
    assert!((6..=10).contains(&wait), "{wait}");
}

#[tokio::test]
async fn a_client_that_goes_away_amid_a_probe_frees_its_slot() {
    let mut scene = Scene::start().await;
    scene.calls("status", 10).await;
    skip(5 * SECOND).await;
    let mut probes = Vec::new();
    for _ in 0..3 {
        probes.push(scene.open("hang").await);
    }
    scene.began(3).await;
    assert_eq!(scene.call("echo").await, "circuit_open");
    drop(probes);
    scene.until(0, 0).await;
    for _ in 0..3 {
        assert_eq!(scene.call("echo").await, "ok");
    }
    assert_eq!(scene.circuit().await["state"], "closed");
}

#[tokio::test]
async fn deadlines_and_slowness_of_one_tenant_touch_no_other() {
    for (tool, came, deadline) in [("hang", "deadline_exceeded", 1), ("slow", "ok", 3)] {
        let scene = Scene::with(deadline, BreakerConfig::default()).await;
        assert_eq!(scene.calls(tool, 10).await, [came; 10]);
        let refused = scene.refused("echo").await;
        assert_eq!(refused["code"], "circuit_open", "{refused}");
        assert_eq!(refused["details"]["circuit"], "tenant");
        assert_eq!(scene.call("far").await, "ok");
        assert_eq!(code(&scene.others("echo").await), "ok");
        assert_eq!(scene.circuit().await["state"], "closed");

        // The operator is told who.
        let status = scene.status().await;
        assert_eq!(status["tenant_circuits_open_total"], 1);
        let row = &status["tenant_circuits_open"][0];
        assert_eq!(row["tenant"], "acme");
        assert_eq!((&row["state"], &row["calls"]), (&json!("open"), &json!(10)));
        let metrics = scene.probe("/metrics").await;
        let open = r#"tenant_circuits_not_closed{pool="shared",family="basics"} 1"#;
        assert!(metrics.contains(open), "{metrics}");
        assert!(!metrics.contains("acme"), "{metrics}");
    }
}

#[tokio::test]
async fn calls_that_the_gateways_own_end_ends_are_no_faults() {
    let mut scene = Scene::start().await;
    let ends = async {
        scene.until(20, 0).await;
        scene.shutdown.cancel();
    };
    let (codes, ()) = tokio::join!(scene.calls("hang", 20), ends);
    assert_eq!(codes, ["unavailable"; 20]);
    timeout(PATIENCE, &mut scene.serving)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    let report = scene.gateway.parts.admin.breaker.report();
    let counts = report.circuits[0].counts;
    assert_eq!((counts.calls, counts.faults), (0, 0));
    assert_eq!((report.calls.in_flight, report.calls.queued), (0, 0));
}

#[tokio::test]
async fn a_tenant_runs_64_calls_and_64_wait_and_one_more_is_refused_at_once() {
    let scene = Scene::start().await;
    let rest = async {
        scene.until(64, 64).await;
        let refused = scene.refused("echo").await;
        // What one tenant holds, no other waits for.
        let other = code(&scene.others("echo").await);
        scene.gate.add_permits(128);
        (refused, other)
    };
    let (codes, (refused, other)) = tokio::join!(scene.calls("gate", 128), rest);
    assert_eq!(codes, ["ok"; 128]);
    assert_eq!(other, "ok");
    assert_eq!(refused["code"], "unavailable");
    assert_eq!(refused["details"]["retry_after_seconds"], 2);
    let circuit = scene.circuit().await;
    assert_eq!(
        (&circuit["state"], &circuit["faults"]),
        (&json!("closed"), &json!(0))
    );
    let calls = &scene.status().await["calls"];
    assert_eq!(*calls, json!({ "in_flight": 0, "queued": 0 }));
    let metrics = scene.probe("/metrics").await;
    let refusals = r#"bulkhead_refusals_total{reason="full"} 1"#;
    assert!(metrics.contains(refusals), "{metrics}");
}

#[tokio::test]
async fn calls_wait_in_order_and_what_they_waited_is_gone_from_their_time() {
    let scene = Scene::with(10, BreakerConfig { tenant_calls: 3 }).await;
    let (tell, mut told) = mpsc::channel(8);
    for place in 0..6_usize {
        scene.until(place.min(3), place.saturating_sub(3)).await;
        let mut waiting = scene.open("gate").await;
        let tell = tell.clone();
        tokio::spawn(async move {
            let mut answer = String::new();
            waiting.read_to_string(&mut answer).await.unwrap();
            tell.send((place, answer)).await.unwrap();
        });
    }
    scene.until(3, 3).await;
    skip(4 * SECOND).await;
    for expected in 0..6 {
        scene.gate.add_permits(1);
        let (place, answer) = timeout(PATIENCE, told.recv()).await.unwrap().unwrap();
        assert_eq!(place, expected);
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let answer: Value = serde_json::from_str(body).unwrap();
        let seconds = &answer["result"]["structuredContent"]["seconds"];
        let seconds = seconds.as_u64().unwrap();
        assert_eq!(seconds <= 6, place >= 3, "{answer}");
    }
}

#[tokio::test]
async fn a_call_gives_up_waiting_at_half_of_its_time_and_then_newcomers_do_not_wait() {
    let scene = Scene::with(2, BreakerConfig { tenant_calls: 1 }).await;
    let _held = scene.open("hang").await;
    scene.until(1, 0).await;
    let begun = Instant::now();
    assert_eq!(scene.refused("echo").await["code"], "unavailable");
    let waited = begun.elapsed();
    assert!(waited >= SECOND, "{waited:?}");
    let begun = Instant::now();
    let refused = scene.refused("echo").await;
    assert_eq!(refused["code"], "unavailable");
    assert!(begun.elapsed() < SECOND / 2, "{:?}", begun.elapsed());
    let metrics = scene.probe("/metrics").await;
    for reason in ["waited", "stalled"] {
        let counted = format!("bulkhead_refusals_total{{reason=\"{reason}\"}} 1");
        assert!(metrics.contains(&counted), "{counted} in {metrics}");
    }
}
