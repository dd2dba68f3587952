//! Whether throughput follows the cores: `hello` through gateway and worker on one core, and on
//! two.
//!
//! On one core the servers have it to themselves and the clients have the other. On two they share
//! both with the clients, so calls a second cannot double there: what tells is calls per second of
//! the servers' CPU, which stay the same as long as no lock and no queue stands between the cores.
//! With more cores than two, the clients get two of their own. Needs `taskset`. Target: calls per
//! CPU second on all cores at least 0.9 of those on one.
//!
//! Run: `cargo build --release && cargo bench -p archway-benches --bench cores`.

use archway_benches::{Client, HELLO, Layout, Round, Stack, median};

const CONNECTIONS: usize = 64;
const CALLS_EACH: usize = 200;
const ROUNDS: usize = 7;
const TENANT: &str = "acme";

#[tokio::main]
async fn main() {
    let cores = std::thread::available_parallelism().expect("cores").get();
    let most = if cores > 3 { cores - 2 } else { cores };
    let lists = [
        ("1 core".to_owned(), "0".to_owned()),
        (format!("{most} cores"), format!("0-{}", most - 1)),
    ];
    println!("{cores} cores here; {CONNECTIONS} connections, {ROUNDS} rounds in turn; medians");
    let mut stacks = Vec::new();
    for (name, list) in lists {
        stacks.push((name, stack(list).await, Vec::new()));
    }
    for round in 0..=ROUNDS {
        for (_, stack, rounds) in &mut stacks {
            let measured = load(stack).await;
            if round > 0 {
                rounds.push(measured);
            }
        }
    }
    let mut efficiency = Vec::new();
    for (name, _, rounds) in &stacks {
        let middle = |of: fn(&Round) -> f64| median(&mut rounds.iter().map(of).collect::<Vec<_>>());
        let (per_second, cpu_us) = (middle(|one| one.per_second), middle(|one| one.cpu_us));
        println!(
            "{name:>8}: {per_second:6.0} calls/s, {cpu_us:5.1} µs of the servers' CPU a call ({:.2} cores busy), {:6.0} calls a CPU second",
            per_second * cpu_us / 1e6,
            1e6 / cpu_us
        );
        efficiency.push(1e6 / cpu_us);
    }
    println!(
        "calls a CPU second, all cores / one: {:.2} (target ≥ 0.9)",
        efficiency[1] / efficiency[0]
    );
}

async fn stack(cores: String) -> Stack {
    let stack = Stack::start(Layout {
        tenants: vec![TENANT.to_owned()],
        files: 10,
        gateways: 1,
        workers: 1,
        cores: Some(cores),
        gateway_arguments: Vec::new(),
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
