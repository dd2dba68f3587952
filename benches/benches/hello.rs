//! Archway's overhead per call: `hello` through gateway and worker, compared with a bare chain.
//!
//! The chain is axum → tonic → echo in one process, over the same unix socket, without credential, schema or
//! MCP. Both serve 64 connections. The figure is CPU per call of the server process. Archway's clients send
//! a key and a session handle each. Their limits are set to the maximum, so that every bucket is counted.
//! Target: at most 3 times the chain. Run: `cargo build --release && cargo bench -p archway-benches --bench
//! hello`.

use archway_benches::{Bare, Client, Dev, HELLO, Round, median};

const CONNECTIONS: usize = 64;
const CALLS_EACH: usize = 300;
const ROUNDS: usize = 7;

#[tokio::main]
async fn main() {
    Bare::serve_if_asked().await;
    compare().await;
}

async fn compare() {
    let folder = tempfile::tempdir().expect("a folder");
    let repo = folder.path().join("repo");
    archway_benches::generate(&repo, 50);
    let dev = Dev::start(&repo, &folder.path().join("data"));
    dev.lift().await;
    let bare = Bare::start(&folder.path().join("bare.sock"));

    let mut ratios = Vec::new();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let chain = load(&bare.url, "", || bare.cpu()).await;
        let archway = load(&dev.url, &dev.key, || dev.usage().cpu_seconds).await;
        if round > 0 {
            // The first round is a warm-up.
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
        "CPU per call, archway / bare chain: {:.2} (target ≤ 3)",
        median(&mut ratios)
    );
    dev.stop();
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

/// Calls over all connections, each with its own session if there is a key.
async fn load(url: &str, key: &str, cpu: impl Fn() -> f64) -> Round {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let client = Client::connect(url, key, HELLO).await;
        clients.push(match key {
            "" => client,
            key => client.header("Mcp-Session-Id", &Client::open_session(url, key).await),
        });
    }
    Round::of(clients, CALLS_EACH, cpu).await
}
