//! Whether throughput scales with cores: `hello` through gateway and worker on one core, and on two.
//!
//! On one core, the servers have it to themselves and the clients use the other. On two, servers and
//! clients share both, so calls per second cannot double. The relevant figure is calls per second of the
//! servers' CPU time, which stays the same as long as no lock or queue is contended. What a second core
//! always costs (caches, clocks, other guests of the machine) shows in the bare chain, which is measured
//! alternately. With more than two cores, the clients get two of their own. Needs `taskset`. Target:
//! calls per CPU second on all cores divided by those on one, at least 0.9 of the bare chain's figure.
//!
//! Run: `cargo build --release && cargo bench -p archway-benches --bench cores`.

use archway_benches::{Bare, Client, HELLO, Layout, Project, Round, Stack, median};

const CONNECTIONS: usize = 64;
const CALLS_EACH: usize = 200;
const ROUNDS: usize = 7;
const TENANT: &str = "acme";

#[tokio::main]
async fn main() {
    Bare::serve_if_asked().await;
    let cores = std::thread::available_parallelism().expect("cores").get();
    let most = if cores > 3 { cores - 2 } else { cores };
    let folder = tempfile::tempdir().expect("a folder");
    println!("{cores} cores here; {CONNECTIONS} connections, {ROUNDS} alternating rounds; medians");
    let mut places = Vec::new();
    for (name, list) in [
        ("1 core".to_owned(), "0".to_owned()),
        (format!("{most} cores"), format!("0-{}", most - 1)),
    ] {
        places.push(PinnedServers {
            bare: Bare::start_on(&folder.path().join(&list), Some(&list)),
            stack: stack(list).await,
            name,
            rounds: [Vec::new(), Vec::new()],
        });
    }
    for round in 0..=ROUNDS {
        for place in &mut places {
            let measured = [chain(&place.bare).await, load(&place.stack).await];
            // The first round is a warm-up.
            if round > 0 {
                for (rounds, measured) in place.rounds.iter_mut().zip(measured) {
                    rounds.push(measured);
                }
            }
        }
    }
    let [bare, archway] = [("bare chain", 0), ("archway", 1)].map(|(what, which)| {
        let per_cpu_second = places.iter().map(|place| place.print(what, which));
        let per_cpu_second: Vec<f64> = per_cpu_second.collect();
        per_cpu_second[1] / per_cpu_second[0]
    });
    println!(
        "calls per CPU second, all cores / one: bare chain {bare:.2}, archway {archway:.2}; archway / bare chain {:.2} (target ≥ 0.9)",
        archway / bare
    );
}

/// Servers on some of the cores, and their results.
struct PinnedServers {
    name: String,
    bare: Bare,
    stack: Stack,
    /// The rounds of the chain, and of Archway.
    rounds: [Vec<Round>; 2],
}

impl PinnedServers {
    /// Prints a line. Returns calls per CPU second.
    fn print(&self, what: &str, which: usize) -> f64 {
        let rounds = &self.rounds[which];
        let middle = |of: fn(&Round) -> f64| median(&mut rounds.iter().map(of).collect::<Vec<_>>());
        let (per_second, cpu_us) = (middle(|one| one.per_second), middle(|one| one.cpu_us));
        println!(
            "{what:>10} on {:>8}: {per_second:6.0} calls/s, {cpu_us:5.1} µs of the servers' CPU per call ({:.2} cores busy), {:6.0} calls per CPU second",
            self.name,
            per_second * cpu_us / 1e6,
            1e6 / cpu_us
        );
        1e6 / cpu_us
    }
}

async fn chain(bare: &Bare) -> Round {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(Client::connect(&bare.url, "", HELLO).await);
    }
    Round::of(clients, CALLS_EACH, || bare.cpu()).await
}

async fn stack(cores: String) -> Stack {
    let stack = Stack::start(Layout {
        tenants: vec![TENANT.to_owned()],
        project: Project::Generated(10),
        cores: Some(cores),
        ..Layout::default()
    })
    .await;
    stack.set_limits(TENANT, 1_000_000).await;
    stack
}

async fn load(stack: &Stack) -> Round {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(Client::connect(&stack.gateways[0].url(), stack.key(TENANT), HELLO).await);
    }
    let cpu = || {
        let (gateway, worker) = stack.cpu();
        gateway + worker
    };
    Round::of(clients, CALLS_EACH, cpu).await
}
