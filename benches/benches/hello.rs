//! Archway's overhead per call: `hello` with all enforcement, compared with bare servers.
//!
//! `archway dev` is compared with the chain axum → tonic → echo in one process over the same unix socket,
//! without credential, schema or MCP; the figure is CPU per call of the server process. An installation of a
//! gateway, a worker and Postgres, whose CPU is all counted, is compared with an MCP server of the official
//! SDK (`rmcp`, stateless, JSON replies). All serve 64 connections. Archway's clients send a key and a
//! session handle each. Their limits are set to the maximum, so that every bucket is counted. Targets: at
//! most 3 times the chain, at most 2 times the SDK. Run: `cargo build --release && cargo bench -p
//! archway-benches --bench hello`.

use archway_benches::{Bare, Client, Dev, HELLO, Layout, Project, Round, Stack, median};

const CONNECTIONS: usize = 64;
const CALLS_EACH: usize = 300;
const ROUNDS: usize = 7;
const TENANT: &str = "acme";

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
    let (chain, sdk) = (Bare::start(&folder.path().join("bare.sock")), Bare::sdk());
    let stack = installation().await;
    let (gateway, key) = (stack.gateways[0].url(), stack.key(TENANT));
    let stack_cpu = || {
        let (gateways, workers) = stack.cpu();
        gateways + workers + stack.postgres_cpu()
    };

    let mut rounds: [Vec<Round>; 4] = Default::default();
    for round in 0..=ROUNDS {
        let measured = [
            load(&chain.url, "", || chain.cpu()).await,
            load(&dev.url, &dev.key, || dev.usage().cpu_seconds).await,
            load(&sdk.url, "", || sdk.cpu()).await,
            load(&gateway, key, stack_cpu).await,
        ];
        // The first round is a warm-up.
        if round > 0 {
            rounds
                .iter_mut()
                .zip(measured)
                .for_each(|(all, one)| all.push(one));
        }
    }
    println!(
        "{CONNECTIONS} connections, {} calls a round, {ROUNDS} rounds",
        CONNECTIONS * CALLS_EACH
    );
    let [chain, dev_rounds, sdk, installation] = rounds;
    report("bare chain", &chain);
    report("archway dev", &dev_rounds);
    report("bare SDK", &sdk);
    report("installation", &installation);
    ratio("archway dev / bare chain", (&dev_rounds, &chain), 3);
    ratio("installation / bare SDK", (&installation, &sdk), 2);
    dev.stop();
}

async fn installation() -> Stack {
    let stack = Stack::start(Layout {
        tenants: vec![TENANT.to_owned()],
        project: Project::Generated(50),
        ..Layout::default()
    })
    .await;
    stack.set_limits(TENANT, 1_000_000).await;
    stack
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

fn ratio(name: &str, (own, bare): (&[Round], &[Round]), target: u32) {
    let ratios = own.iter().zip(bare);
    let mut ratios: Vec<f64> = ratios.map(|(own, bare)| own.cpu_us / bare.cpu_us).collect();
    println!(
        "CPU per call, {name}: {:.2} (target ≤ {target})",
        median(&mut ratios)
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
