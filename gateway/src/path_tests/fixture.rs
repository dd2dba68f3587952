//! A gateway as `archway gateway` runs it, except for Postgres, and its worker: for tests of the
//! whole.

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
    time::{advance, pause, resume, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Harness,
    worker::{self, ObservedCall, ScriptedWorker},
};
use crate::{
    AuthConfig, BreakerConfig, ConsoleConfig, Gateway, GatewayConfig, GuardConfig, LimitsConfig,
    SamplingConfig, UpstreamConfig, auth::KeyText, caller::Principal, secrets::RootSecret,
    store::Stores,
};

/// Bounds every wait; reached only on failure.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// The gateway and its callers.
pub(super) struct GatewayFixture {
    /// Calls as tenant `acme`.
    pub(super) harness: Harness,
    /// The key of tenant `zeta`.
    pub(super) other: String,
    pub(super) gate: Arc<Semaphore>,
    pub(super) gateway: Gateway,
    pub(super) admin: SocketAddr,
    pub(super) shutdown: CancellationToken,
    pub(super) serving: JoinHandle<std::io::Result<()>>,
}

fn config(breaker: BreakerConfig, upstream: UpstreamConfig) -> GatewayConfig {
    GatewayConfig {
        name: None,
        guard: GuardConfig::default(),
        auth: AuthConfig::default(),
        limits: LimitsConfig::default(),
        breaker,
        upstream,
        sampling: SamplingConfig::NONE,
        tenant_metrics: 0,
        console: ConsoleConfig::default(),
    }
}

impl GatewayFixture {
    pub(super) async fn start() -> GatewayFixture {
        GatewayFixture::with(10, BreakerConfig::default()).await
    }

    pub(super) async fn with(call_deadline: u64, breaker: BreakerConfig) -> GatewayFixture {
        let minter = PassMinter::generate().unwrap();
        let (tell, seen) = mpsc::channel(256);
        let scripted =
            ScriptedWorker::new(PassVerifier::new(&[minter.public_key()], "shared"), tell);
        let gate = scripted.gate.clone();
        let upstream = UpstreamConfig {
            workers: vec![worker::serve(scripted).await],
            pool: "shared".into(),
            worker_ca: None,
            call_deadline,
        };
        let config = config(breaker, upstream);
        let gateway = gateway(&config, minter);
        let auth = &gateway.parts.changes.auth;
        let [key, other] = [(); 2].map(|()| KeyText::generate().unwrap());
        let stranger = Principal::stranger_for_tests();
        auth.insert_for_tests(&key, &[archway_proto::catalog::Scope::ToolsRead])
            .await;
        auth.insert_as_for_tests(&other, stranger).await;
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
        GatewayFixture {
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

    /// The outcome of a call: `ok`, or the code of its failure.
    pub(super) async fn call(&self, tool: &str) -> String {
        code(&self.harness.call(tool, json!({})).await)
    }

    /// The outcomes of this many concurrent calls.
    pub(super) async fn calls(&self, tool: &str, count: usize) -> Vec<String> {
        join_all((0..count).map(|_| self.call(tool))).await
    }

    /// The failure of a call that is refused.
    pub(super) async fn refused(&self, tool: &str) -> Value {
        failure(&self.harness.call(tool, json!({})).await)
    }

    /// The result of a call of the other tenant.
    pub(super) async fn others(&self, tool: &str) -> Value {
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

    /// The circuit of the family to which all tools but `far` belong.
    pub(super) async fn circuit(&self) -> Value {
        let status = self.status().await;
        let circuits = status["circuits"].as_array().unwrap();
        let basics = circuits.iter().find(|row| row["family"] == "basics");
        basics.cloned().unwrap_or_default()
    }

    pub(super) async fn status(&self) -> Value {
        serde_json::from_str(&self.probe("/status").await).unwrap()
    }

    /// The answer of the admin port.
    pub(super) async fn probe(&self, path: &str) -> String {
        let mut socket = TcpStream::connect(self.admin).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let read = timeout(PATIENCE, socket.read_to_string(&mut answer)).await;
        read.unwrap().unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// Waits until this many calls are in flight and this many wait.
    pub(super) async fn until(&self, in_flight: usize, queued: usize) {
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

    /// Waits until the worker has started this many calls.
    pub(super) async fn began(&mut self, count: usize) {
        for _ in 0..count {
            let seen = timeout(PATIENCE, self.harness.seen.recv()).await;
            assert!(matches!(seen, Ok(Some(ObservedCall::Began))), "{seen:?}");
        }
    }

    /// A call whose answer is never read.
    pub(super) async fn open(&self, tool: &str) -> TcpStream {
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

pub(super) fn failure(result: &Value) -> Value {
    result["_meta"]["io.archway/error"]["error"].clone()
}

pub(super) fn code(result: &Value) -> String {
    failure(result)["code"].as_str().unwrap_or("ok").to_owned()
}

/// Advances the paused clock.
pub(super) async fn skip(time: Duration) {
    pause();
    advance(time).await;
    resume();
}
