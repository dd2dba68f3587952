//! The cost of a call's layers: `hello` with more and more of them enabled.
//!
//! Measures CPU per call, with gateway and worker as separate processes, alternately with the bare chain
//! (axum → tonic → echo), also in two processes over TCP. The first line is the chain in one process over
//! a unix socket, which `hello` compares with `archway dev`. Layers that configuration can disable:
//! sessions, limits, their shared store, traces, and the console. Credential, catalogue, circuits,
//! bulkhead and audit trail cannot be disabled, and are part of Archway's first line. The CPU of the
//! limits store, of Postgres and of the collector is not counted. Target: at most 3 times the chain.
//!
//! Run: `cargo build --release && cargo bench -p archway-benches --bench layers`; the last line needs
//! `redis-server`.

use archway_benches::{Bare, Client, HELLO, Layout, Project, Round, Stack, median};
use e2e::{Collector, RedisServer};

const CONNECTIONS: usize = 64;
const CALLS_EACH: usize = 300;
const ROUNDS: usize = 7;
/// The tenant without limits, and the one with the highest limits.
const FREE: &str = "free";
const BOUND: &str = "bound";

#[tokio::main]
async fn main() {
    Bare::serve_if_asked().await;
    let folder = tempfile::tempdir().expect("a folder");
    let beside = Bare::start(&folder.path().join("bare.sock"));
    let apart = Bare::apart();
    let local = stack(Vec::new(), Vec::new()).await;
    let redis = RedisServer::start().await;
    let store = ["--limits-url".to_owned(), redis.url()];
    let shared = stack(store.to_vec(), Vec::new()).await;
    let collector = Collector::start().await;
    let traced = ["--otlp-endpoint".to_owned(), collector.url()];
    let all = [&store[..], &traced[..], &["--console".to_owned()]].concat();
    let watched = stack(all, traced.to_vec()).await;

    let mut layers = [
        Layer::new("bare chain in one process, over a socket"),
        Layer::new("bare chain in two, over TCP"),
        Layer::new("credential, catalogue, circuits, bulkhead, audit, worker"),
        Layer::new("+ session"),
        Layer::new("+ limits of session, key and tenant, in process"),
        Layer::new("+ limits in a shared store"),
        Layer::new("+ traces, ten a second, and the operator's page"),
    ];
    for round in 0..=ROUNDS {
        let rounds = [
            chain(&beside).await,
            chain(&apart).await,
            load(&local, FREE, false).await,
            load(&local, FREE, true).await,
            load(&local, BOUND, true).await,
            load(&shared, BOUND, true).await,
            load(&watched, BOUND, true).await,
        ];
        // The first round is a warm-up.
        if round > 0 {
            for (layer, round) in layers.iter_mut().zip(rounds) {
                layer.rounds.push(round);
            }
        }
    }
    println!(
        "{CONNECTIONS} connections, {} calls a round, {ROUNDS} rounds; medians",
        CONNECTIONS * CALLS_EACH
    );
    println!(
        "| `hello` with | CPU per call | times the bare chain in two processes | p50 | p99 | calls/s |\n|---|---|---|---|---|---|"
    );
    for layer in &layers {
        layer.print(&layers[1]);
    }
}

struct Layer {
    name: &'static str,
    rounds: Vec<Round>,
}

impl Layer {
    fn new(name: &'static str) -> Layer {
        let rounds = Vec::new();
        Layer { name, rounds }
    }

    /// A row of a Markdown table.
    fn print(&self, bare: &Layer) {
        let middle =
            |of: fn(&Round) -> f64| median(&mut self.rounds.iter().map(of).collect::<Vec<_>>());
        let ratios = self.rounds.iter().zip(&bare.rounds);
        let mut ratios: Vec<f64> = ratios.map(|(own, bare)| own.cpu_us / bare.cpu_us).collect();
        println!(
            "| {} | {:.1} µs | {:.2} | {:.2} ms | {:.2} ms | {:.0} |",
            self.name,
            middle(|round| round.cpu_us),
            median(&mut ratios),
            middle(|round| round.p50_ms),
            middle(|round| round.p99_ms),
            middle(|round| round.per_second),
        );
    }
}

async fn stack(gateway_arguments: Vec<String>, worker_arguments: Vec<String>) -> Stack {
    let stack = Stack::start(Layout {
        tenants: vec![FREE.to_owned(), BOUND.to_owned()],
        project: Project::Generated(10),
        gateway_arguments,
        worker_arguments,
        ..Layout::default()
    })
    .await;
    stack.set_limits(FREE, 0).await;
    stack.set_limits(BOUND, 1_000_000).await;
    stack
}

async fn chain(bare: &Bare) -> Round {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(Client::connect(&bare.url, "", HELLO).await);
    }
    Round::of(clients, CALLS_EACH, || bare.cpu()).await
}

async fn load(stack: &Stack, tenant: &str, sessions: bool) -> Round {
    let (url, key) = (stack.gateways[0].url(), stack.key(tenant));
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let client = Client::connect(&url, key, HELLO).await;
        clients.push(if sessions {
            client.header("Mcp-Session-Id", &Client::open_session(&url, key).await)
        } else {
            client
        });
    }
    let cpu = || {
        let (gateway, worker) = stack.cpu();
        gateway + worker
    };
    Round::of(clients, CALLS_EACH, cpu).await
}
