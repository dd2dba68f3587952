//! The effect of a flooding tenant on the others: their latency depending on its connections.
//!
//! Four calm tenants call at a steady rate without waiting for answers: `hello`, `read_file` and
//! `grep_codebase` in turn. Another tenant floods: every connection calls again as soon as it was answered,
//! in one of five manners. Rounds alternate (quiet, no connection, 16, 64, 256, quiet, …), so that drift of
//! the machine affects all of them. The figure is the p99 of all rounds' calls divided by that of the quiet
//! rounds; the ratio without any connection shows the noise.
//! Gateway and worker have one core, the calm clients the other, so clients measure only their own waiting.
//! The flooder runs on the servers' core at the lowest priority. In production its CPU is its own, but
//! receiving what it sends is not, and on loopback that runs on the sender's core. Target: no p99 of the
//! calm tenants rises by more than 20 %.
//!
//! Run: `cargo build --release && cargo bench -p archway-benches --bench noisy`, followed by `-- --turns N
//! --seconds N --manner hello` for other numbers and a single manner; needs `taskset` and two cores.

use std::time::Duration;

use archway_benches::{Layout, Project, Stack, Usage, argument, held, median, number, quantile};
use serde_json::{Value, json};

use calm::Calm;
use flood::{Flooded, Flooder, Manner, flood};

#[path = "noisy/calm.rs"]
mod calm;
#[path = "noisy/flood.rs"]
mod flood;

const CALM: [&str; 4] = ["calm-0", "calm-1", "calm-2", "calm-3"];
const FILES: usize = 1_000;
const CONNECTIONS: [usize; 4] = [0, 16, 64, 256];
/// Between two calls of the calm tenants.
const PACE: Duration = Duration::from_millis(10);
const SERVERS_CORE: &str = "0";
const CLIENTS_CORE: &str = "1";
const TARGET: f64 = 1.2;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime");
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().position(|argument| argument == "--flood") {
        Some(at) => println!("{}", runtime.block_on(flood(&arguments[at + 1..]))),
        None => runtime.block_on(measure()),
    }
}

async fn measure() {
    let (turns, seconds) = (number("--turns", 8), number("--seconds", 3));
    let stack = Stack::start(Layout {
        tenants: CALM
            .map(str::to_owned)
            .into_iter()
            .chain(Manner::ALL.map(Manner::tenant))
            .collect(),
        project: Project::Generated(FILES),
        cores: Some(SERVERS_CORE.to_owned()),
        ..Layout::default()
    })
    .await;
    let searches = Manner::Searches.tenant();
    for tenant in CALM.into_iter().chain([searches.as_str()]) {
        stack.set_limits(tenant, 0).await;
    }
    keep_to(CLIENTS_CORE);
    let mut calm = Calm::new(&stack);
    calm.round(seconds).await;

    println!(
        "{} calls/s of {} calm tenants; {turns} turns of rounds of {seconds} s; servers on core {SERVERS_CORE}, calm clients on core {CLIENTS_CORE}",
        1_000 / PACE.as_millis(),
        CALM.len()
    );
    let mut worst = 0_f64;
    let only = argument("--manner");
    let wanted = |manner: &Manner| only.as_deref().is_none_or(|only| only == manner.name());
    for manner in Manner::ALL.into_iter().filter(wanted) {
        worst = worst.max(curve(&stack, &mut calm, manner, turns, seconds).await);
    }
    println!(
        "longest p99 of the calm tenants with a flood / without: {worst:.2} (target ≤ {TARGET})"
    );
}

/// Measures and prints one manner. Returns the highest ratio of p99.
async fn curve(
    stack: &Stack,
    calm: &mut Calm,
    manner: Manner,
    turns: usize,
    seconds: usize,
) -> f64 {
    let url = stack.gateways[0].url();
    let tenant = manner.tenant();
    let key = stack.key(&tenant);
    let mut quiet = Vec::new();
    let mut loud: [Vec<NoisyRound>; CONNECTIONS.len()] = Default::default();
    for _ in 0..turns {
        quiet.push(round(stack, calm, None, seconds).await);
        for (connections, rounds) in CONNECTIONS.into_iter().zip(&mut loud) {
            let flooder = Flooder {
                manner,
                connections,
                url: &url,
                key,
            };
            rounds.push(round(stack, calm, Some(flooder), seconds).await);
        }
    }
    println!(
        "\nflood of {:9} calm p50      p99   p99 of hello   ratio of p99   flooder: answered/s  admitted/s    CPU: gateway worker calm flooder   gateway's peak memory",
        manner.name()
    );
    print("quiet", &quiet, &quiet);
    let ratios = CONNECTIONS
        .iter()
        .zip(&loud)
        .map(|(connections, rounds)| print(&format!("{connections} connections"), rounds, &quiet));
    // The first one shows the noise.
    ratios.skip(1).fold(0.0, f64::max)
}

/// The results of one round.
struct NoisyRound {
    /// In milliseconds, of all calls of the calm tenants.
    taken: Vec<f64>,
    hello: Vec<f64>,
    failed: usize,
    flooded: Flooded,
    /// Shares of a core: gateway, worker, calm clients.
    cpu: [f64; 3],
    /// The gateway's peak, in MiB.
    memory: f64,
}

async fn round(
    stack: &Stack,
    calm: &mut Calm,
    flooder: Option<Flooder<'_>>,
    seconds: usize,
) -> NoisyRound {
    stack.gateways[0].reset_peak();
    let flooding = flooder.map(|flooder| flooder.start(seconds));
    let own = || Usage::of(std::process::id()).cpu_seconds;
    let (before, own_before) = (stack.cpu(), own());
    let (taken, hello, failed) = calm.round(seconds).await;
    let (after, own_after) = (stack.cpu(), own());
    let share = |used: f64| used / seconds as f64;
    let flooded = match flooding {
        None => Flooded::default(),
        Some(flooding) => {
            let said = flooding.wait_with_output().await.expect("the flooder ends");
            let said: Value = serde_json::from_slice(&said.stdout).expect("its counts");
            let rate = |name: &str| share(said[name].as_f64().expect("a number"));
            Flooded {
                answered: rate("answered"),
                admitted: rate("admitted"),
                cpu: rate("cpu"),
            }
        }
    };
    NoisyRound {
        taken,
        hello,
        failed,
        flooded,
        cpu: [
            share(after.0 - before.0),
            share(after.1 - before.1),
            share(own_after - own_before),
        ],
        memory: stack.gateways[0].usage().peak_mib,
    }
}

/// Prints a line. Returns the p99 of these rounds divided by that of the quiet ones.
fn print(name: &str, rounds: &[NoisyRound], quiet: &[NoisyRound]) -> f64 {
    let p99 = |rounds: &[NoisyRound]| quantile(&mut all(rounds, |round| &round.taken), 0.99);
    let ratio = p99(rounds) / p99(quiet);
    let middle =
        |of: &dyn Fn(&NoisyRound) -> f64| median(&mut rounds.iter().map(of).collect::<Vec<_>>());
    let mut taken = all(rounds, |round| &round.taken);
    let failed: usize = rounds.iter().map(|round| round.failed).sum();
    println!(
        "{name:>18} {:8.2} {:8.2} ms {:9.2} ms {ratio:12.2} {:22.0} {:11.0} {:18.0}% {:5.0}% {:3.0}% {:6.0}% {:11.0} MiB{}",
        median(&mut taken),
        quantile(&mut taken, 0.99),
        quantile(&mut all(rounds, |round| &round.hello), 0.99),
        middle(&|round| round.flooded.answered),
        middle(&|round| round.flooded.admitted),
        100.0 * middle(&|round| round.cpu[0]),
        100.0 * middle(&|round| round.cpu[1]),
        100.0 * middle(&|round| round.cpu[2]),
        100.0 * middle(&|round| round.flooded.cpu),
        middle(&|round| round.memory),
        if failed > 0 {
            format!("   {failed} CALM CALLS FAILED")
        } else {
            String::new()
        },
    );
    ratio
}

fn all(rounds: &[NoisyRound], of: fn(&NoisyRound) -> &Vec<f64>) -> Vec<f64> {
    rounds.iter().flat_map(of).copied().collect()
}

fn call(tool: &str, arguments: Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// Pins this process, and what it starts, to these cores.
fn keep_to(cores: &str) {
    let pid = std::process::id().to_string();
    let mut taskset = held(None, "taskset".as_ref());
    let done = taskset
        .args(["--all-tasks", "--cpu-list", "--pid", cores, &pid])
        .output();
    assert!(done.expect("taskset runs").status.success());
}
