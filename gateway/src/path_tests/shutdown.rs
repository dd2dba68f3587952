//! The admin port and the shutdown: `Gateway::serve` returns within its limits.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use archway_proto::pass::PassMinter;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::{Instant, pause, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use crate::{
    AuthConfig, BreakerConfig, ConsoleConfig, Gateway, GatewayConfig, GuardConfig, LimitsConfig,
    SamplingConfig, UpstreamConfig, secrets::RootSecret, store::Stores,
};

/// A gateway whose worker accepts connections and never answers.
fn with_silent_worker(worker: &TcpListener) -> Gateway {
    let config = GatewayConfig {
        name: None,
        guard: GuardConfig::default(),
        auth: AuthConfig::default(),
        breaker: BreakerConfig::default(),
        limits: LimitsConfig::default(),
        upstream: UpstreamConfig {
            workers: vec![format!("http://{}", worker.local_addr().unwrap())],
            pool: "shared".into(),
            worker_ca: None,
            call_deadline: 30,
        },
        sampling: SamplingConfig::NONE,
        tenant_metrics: 0,
        console: ConsoleConfig::default(),
    };
    let nowhere = sqlx::postgres::PgConnectOptions::new().socket("/nonexistent");
    let secret = RootSecret::parse(&RootSecret::generate_line().unwrap()).unwrap();
    let stores = Stores::with_options(nowhere, 1);
    let minter = PassMinter::generate().unwrap();
    Gateway::new(&config, stores, Arc::new(secret), minter).unwrap()
}

/// Such a gateway while it serves.
struct Running {
    gateway: Gateway,
    probes: SocketAddr,
    shutdown: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
    _worker: TcpListener,
}

impl Running {
    async fn start() -> Self {
        let bind = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (worker, clients, admin) = (bind().await, bind().await, bind().await);
        let probes = admin.local_addr().unwrap();
        let gateway = with_silent_worker(&worker);
        let (serving, shutdown) = (gateway.clone(), CancellationToken::new());
        let until = shutdown.clone();
        Running {
            gateway,
            probes,
            shutdown,
            serving: tokio::spawn(async move { serving.serve(clients, admin, until).await }),
            _worker: worker,
        }
    }
}

/// Waits until a connection to the admin port was accepted.
async fn seen(gateway: &Gateway) {
    let open = gateway.parts.admin.metrics.admin_connections();
    let accepted = async {
        while open.get() == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), accepted).await.unwrap();
}

#[tokio::test]
async fn a_partial_probe_and_a_hanging_worker_do_not_delay_shutdown() {
    let running = Running::start().await;

    let mut probe = TcpStream::connect(running.probes).await.unwrap();
    probe.write_all(b"GET /healthz HT").await.unwrap();
    seen(&running.gateway).await;

    // From here on only timers are left, so time can be paused.
    pause();
    let asked = Instant::now();
    running.shutdown.cancel();
    let ended = timeout(Duration::from_secs(60), running.serving).await;
    ended.unwrap().unwrap().unwrap();
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[tokio::test]
async fn an_idle_admin_connection_is_closed_after_5_seconds() {
    let running = Running::start().await;
    let mut idle = TcpStream::connect(running.probes).await.unwrap();
    seen(&running.gateway).await;

    pause();
    let start = Instant::now();
    let closed = timeout(Duration::from_secs(60), idle.read_u8()).await;
    closed.unwrap().unwrap_err();
    let took = start.elapsed();
    assert!(took < Duration::from_secs(6), "{took:?}");
    running.shutdown.cancel();
    running.serving.await.unwrap().unwrap();
}
