//! The capacity of an installation: two gateways, three workers, Postgres and a shared limits store, each a
//! separate process on loopback, with all enforcement enabled.
//!
//! Agents of four tenants call a mix of tools over persistent connections, each with a session. Calls pass
//! credential, session, every limit (set to the maximum, so that all are counted and none refuses),
//! circuits, permits and audit. The first phase calls as fast as answers arrive, which shows the capacity.
//! The second calls at half of that rate at fixed times, whether or not answers arrived (so a stall counts
//! for all calls that it delays), which shows the latency below capacity. Clients use CPU of the same
//! machine. Prints calls per second, p50, p99 and p99.9 of each tool, and what each process used.
//!
//! Run: `cargo build --release && cargo bench -p archway-benches --bench load`, followed by `-- --seconds N
//! --connections N --files N` for other numbers (at most 120 seconds), and by `--project mirror` for bare
//! mirrors instead of work trees; needs `redis-server`. It takes about a minute.

use std::{sync::Arc, time::Duration};

use archway_benches::{Layout, Project, Stack, argument, number};
use e2e::RedisServer;

use agents::Agents;
use mix::Mix;
use output::{machine, print_calls, print_processes};

#[path = "load/agents.rs"]
mod agents;
#[path = "load/mix.rs"]
mod mix;
#[path = "load/processes.rs"]
mod processes;
#[path = "load/output.rs"]
mod output;

use processes::Processes;

const TENANTS: [&str; 4] = ["acme", "zeta", "nova", "kiwi"];

#[tokio::main]
async fn main() {
    let (seconds, connections) = (number("--seconds", 20), number("--connections", 64).max(1));
    let files = number("--files", 2_000).max(1);
    let seconds = Duration::from_secs(seconds.clamp(1, 120) as u64);
    let project = match argument("--project").as_deref() {
        Some("mirror") => Project::GeneratedMirror(files),
        _ => Project::Generated(files),
    };
    println!("{}\n{project:?}", machine());
    let store = RedisServer::start().await;
    let stack = Stack::start(Layout {
        tenants: TENANTS.map(str::to_owned).into(),
        project,
        gateways: 2,
        workers: 3,
        gateway_arguments: vec!["--limits-url".to_owned(), store.url()],
        ..Layout::default()
    })
    .await;
    for tenant in TENANTS {
        stack.set_limits(tenant, 1_000_000).await;
    }
    let mix = Arc::new(Mix::new(files));
    let mut agents = Agents::connect(&stack, TENANTS, connections, &mix).await;
    agents.until_indexed().await;
    let processes = Processes::of(&stack, &store);

    println!(
        "2 gateways, 3 workers; {} tenants, {files} files of about 4 KiB each; {connections} connections",
        TENANTS.len()
    );
    // Reading files for the first time is not measured.
    agents.as_fast_as_it_goes(seconds / 4).await;

    let before = processes.usage();
    let full = agents.as_fast_as_it_goes(seconds).await;
    println!(
        "\n## As fast as answers arrive: {:.0} calls per second\n",
        full.rate()
    );
    // A mix with failures measures nothing.
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
        "\n## At half of that rate: {:.0} calls per second\n",
        half.rate()
    );
    print_calls(&half);
    print_processes(&processes, &before, &half);
}
