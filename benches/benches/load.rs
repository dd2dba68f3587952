//! What an installation carries: two gateways, three workers, Postgres and a shared store of limits,
//! each a process of its own on loopback, with all enforcement on.
//!
//! Agents of four tenants call a mix of tools over connections that stay open, each with a session:
//! credential, session, every limit (set to the most there is, so that all are counted and none
//! refuses), circuits, places, audit. First as fast as answers come, which is what it carries; then
//! at half of that rate by the clock, whether or not answers came (so a stall counts for all that it
//! holds up), which is how fast it answers when it is not full. Clients take CPU of the same machine.
//! Prints calls a second, p50, p99 and p99.9 of each tool, and what each process used.
//!
//! Run: `cargo build --release && cargo bench -p archway-benches --bench load`, with `-- --seconds N
//! --connections N --files N` behind it for other numbers (120 seconds at most); needs `redis-server`. It takes about a minute.

use std::{sync::Arc, time::Duration};

use archway_benches::{Layout, Project, Stack, number};
use e2e::RedisServer;

use agents::Agents;
use mix::Mix;
use told::{machine, print_calls, print_processes};

#[path = "load/agents.rs"]
mod agents;
#[path = "load/mix.rs"]
mod mix;
#[path = "load/processes.rs"]
mod processes;
#[path = "load/told.rs"]
mod told;

use processes::Processes;

const TENANTS: [&str; 4] = ["acme", "zeta", "nova", "kiwi"];

#[tokio::main]
async fn main() {
    let (seconds, connections) = (number("--seconds", 20), number("--connections", 64).max(1));
    let files = number("--files", 2_000).max(1);
    let seconds = Duration::from_secs(seconds.clamp(1, 120) as u64);
    let store = RedisServer::start().await;
    let stack = Stack::start(Layout {
        tenants: TENANTS.map(str::to_owned).into(),
        project: Project::Generated(files),
        gateways: 2,
        workers: 3,
        cores: None,
        gateway_arguments: vec!["--limits-url".to_owned(), store.url()],
        worker_arguments: Vec::new(),
    })
    .await;
    for tenant in TENANTS {
        stack.set_limits(tenant, 1_000_000).await;
    }
    let mix = Arc::new(Mix::new(files));
    let mut agents = Agents::connect(&stack, TENANTS, connections, &mix).await;
    agents.until_indexed().await;
    let processes = Processes::of(&stack, &store).await;

    println!("{}", machine());
    println!(
        "2 gateways, 3 workers; {} tenants, {files} files of about 4 KiB each; {connections} connections",
        TENANTS.len()
    );
    // What is read for the first time is no part of it.
    agents.as_fast_as_it_goes(seconds / 4).await;

    let before = processes.usage();
    let full = agents.as_fast_as_it_goes(seconds).await;
    println!(
        "\n## As fast as answers come: {:.0} calls a second\n",
        full.rate()
    );
    // A mix that isn't carried measures nothing.
    assert!(
        full.failed * 100 < full.calls(),
        "{} calls failed",
        full.failed
    );
    print_calls(&full);
    print_processes(&processes, &before, &full);

    let before = processes.usage();
    let half = agents.at(full.rate() / 2.0, seconds).await;
    println!(
        "\n## At half of that, by the clock: {:.0} calls a second\n",
        half.rate()
    );
    print_calls(&half);
    print_processes(&processes, &before, &half);
}
