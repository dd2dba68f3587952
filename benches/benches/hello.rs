//! What Archway adds to a call: `hello` through gateway and worker against a bare chain.
//!
//! The chain is axum → tonic → echo in one process, over the same unix socket: no credential, no
//! schema, no MCP. Both serve 64 connections; the figure is CPU per call of the server process.
//! Archway's clients carry a key and, a session each, a handle.
//! Target: at most 2.5 times the chain. Run: `cargo build --release && cargo bench -p
//! archway-benches --bench hello`.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};
use tokio::time::Instant;

use archway_benches::{Client, Dev, Usage, median, quantile};
use archway_proto::v1::{
    CallEvent, CallRequest,
    call_event::Event,
    worker_client::WorkerClient,
    worker_server::{Worker, WorkerServer},
};
use axum::{body::Bytes, extract::State, routing::post};
use futures::stream::{self, StreamExt};

const CONNECTIONS: usize = 64;
const CALLS_EACH: usize = 300;
const ROUNDS: usize = 7;
const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{}}}"#;

fn main() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match std::env::args()
        .skip_while(|argument| argument != "--bare")
        .nth(1)
    {
        Some(socket) => runtime.block_on(serve_bare(Path::new(&socket))),
        None => runtime.block_on(compare()),
    }
}

async fn compare() {
    let folder = tempfile::tempdir().expect("a folder");
    let repo = folder.path().join("repo");
    archway_benches::generate(&repo, 50);
    let dev = Dev::start(&repo, &folder.path().join("data"));
    let bare = Bare::start(&folder.path().join("bare.sock"));

    let mut ratios = Vec::new();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let chain = load(&bare.url, "", || Usage::of(bare.child.id())).await;
        let archway = load(&dev.url, &dev.key, || dev.usage()).await;
        if round > 0 {
            // The first round only warms both.
            ratios.push(archway.cpu_us / chain.cpu_us);
            ours.push(archway);
            theirs.push(chain);
        }
    }
    println!(
        "{CONNECTIONS} connections, {} calls a round, {ROUNDS} rounds",
        CONNECTIONS * CALLS_EACH
    );
    report("bare chain", &theirs);
    report("archway hello", &ours);
    println!(
        "CPU per call, archway / bare chain: {:.2} (target ≤ 2.5)",
        median(&mut ratios)
    );
    dev.stop();
}

struct Round {
    cpu_us: f64,
    p50_ms: f64,
    p99_ms: f64,
    per_second: f64,
}

fn report(name: &str, rounds: &[Round]) {
    let middle = |of: fn(&Round) -> f64| median(&mut rounds.iter().map(of).collect::<Vec<_>>());
    println!(
        "{name:14} cpu {:6.1} µs/call   p50 {:5.2} ms   p99 {:5.2} ms   {:6.0} calls/s",
        middle(|round| round.cpu_us),
        middle(|round| round.p50_ms),
        middle(|round| round.p99_ms),
        middle(|round| round.per_second),
    );
}

async fn load(url: &str, key: &str, usage: impl Fn() -> Usage) -> Round {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let client = Client::connect(url, key, HELLO).await;
        clients.push(match key {
            "" => client,
            key => client.header("Mcp-Session-Id", &Client::open_session(url, key).await),
        });
    }
    let (before, started) = (usage().cpu_seconds, Instant::now());
    let mut calls: Vec<tokio::task::JoinHandle<Vec<f64>>> = Vec::new();
    for mut client in clients {
        calls.push(tokio::spawn(async move { client.time(CALLS_EACH).await }));
    }
    let mut taken = Vec::new();
    for call in calls {
        taken.extend(call.await.expect("a client"));
    }
    let (cpu, wall) = (
        usage().cpu_seconds - before,
        started.elapsed().as_secs_f64(),
    );
    let count = taken.len() as f64;
    Round {
        cpu_us: cpu * 1e6 / count,
        p50_ms: median(&mut taken),
        p99_ms: quantile(&mut taken, 0.99),
        per_second: count / wall,
    }
}

/// The chain, in a process of its own.
struct Bare {
    child: Child,
    url: String,
}

impl Bare {
    fn start(socket: &Path) -> Bare {
        let bench = std::env::current_exe().expect("a bench knows where it is");
        let mut child = Command::new(bench)
            .arg("--bare")
            .arg(socket)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the chain starts");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("stdout is piped");
        BufReader::new(stdout)
            .read_line(&mut url)
            .expect("the chain says where it is");
        Bare {
            child,
            url: url.trim().to_owned(),
        }
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

struct Echo;

#[tonic::async_trait]
impl Worker for Echo {
    type CallStream = stream::BoxStream<'static, Result<CallEvent, tonic::Status>>;

    async fn call(
        &self,
        request: tonic::Request<CallRequest>,
    ) -> Result<tonic::Response<Self::CallStream>, tonic::Status> {
        let event = CallEvent {
            event: Some(Event::Result(request.into_inner().params)),
        };
        Ok(tonic::Response::new(stream::iter([Ok(event)]).boxed()))
    }
}

/// axum → tonic → echo: the worker's half on a thread with a runtime of its own, as in `dev`.
async fn serve_bare(socket: &Path) {
    let listener = std::os::unix::net::UnixListener::bind(socket).expect("a socket");
    listener.set_nonblocking(true).expect("a socket");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async move {
            let listener = tokio::net::UnixListener::from_std(listener).expect("a socket");
            let incoming = tokio_stream::wrappers::UnixListenerStream::new(listener);
            let server = tonic::transport::Server::builder().add_service(WorkerServer::new(Echo));
            server.serve_with_incoming(incoming).await.expect("gRPC");
        });
    });
    let endpoint = tonic::transport::Endpoint::from_shared(format!("unix:{}", socket.display()));
    let channel = endpoint
        .expect("an endpoint")
        .connect()
        .await
        .expect("the worker listens");
    let app = axum::Router::new()
        .route("/mcp", post(relay))
        .with_state(WorkerClient::new(channel));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    println!("http://{}/mcp", listener.local_addr().expect("an address"));
    axum::serve(
        axum::serve::ListenerExt::tap_io(listener, |tcp| tcp.set_nodelay(true).unwrap()),
        app,
    )
    .await
    .expect("HTTP");
}

async fn relay(
    State(mut worker): State<WorkerClient<tonic::transport::Channel>>,
    params: Bytes,
) -> Bytes {
    let request = CallRequest {
        method: "tools/call".to_owned(),
        params,
    };
    let mut events = worker
        .call(request)
        .await
        .expect("the worker answers")
        .into_inner();
    let result = match events.message().await.expect("a message") {
        Some(CallEvent {
            event: Some(Event::Result(result)),
        }) => result,
        _ => Bytes::new(),
    };
    // A stream that is dropped before its trailers is reset; enough of them end the connection.
    events.message().await.expect("trailers");
    result
}
