//! What tenants cost that are quiet, and what a call costs among many of them.
//!
//! Sets up N tenants with a repository of 20 files each, one worker and one gateway as separate
//! processes, and prints for each N:
//! - the first index of all repositories: time, CPU of worker and Postgres a repository;
//! - CPU of the worker and of Postgres while nothing is called, in percent of a core (target ≤ 1);
//! - p50 of `read_file`, `grep_codebase` and `context_search`, called with 300 keys in turn and with
//!   one key, alternately, and their ratio (target ≤ 1.2);
//! - how long after a commit the index has it: in a repository in use (target ≤ 5 s), and in one that
//!   nobody uses (target ≤ 60 s);
//! - how long 300 new repositories of one tenant take to be indexed (target ≤ 60 s);
//! - how long `index status` and `project list` take (target ≤ 1 s), and the worker's memory.
//!
//! Run: `cargo build --release && cargo bench -p archway-benches --bench tenants -- --sizes 1,100`,
//! optionally with `--idle SECONDS`.

use std::{fs, path::Path, process::Command, time::Duration};

use archway_benches::{COMPLETED_RUNS, Client, Layout, Project, Stack, argument, median, number};
use serde_json::json;
use tokio::time::Instant;

const FILES: usize = 20;
/// Keys that are called in turn.
const KEYS: usize = 300;
/// Projects that one tenant gets at once.
const NEW_PROJECTS: usize = 300;
const ROUNDS: usize = 3;
/// How long an index may take.
const PATIENCE: Duration = Duration::from_secs(3600);
/// Commits in a repository in use, one after the other.
const COMMITS: usize = 5;

#[tokio::main]
async fn main() {
    let sizes = argument("--sizes").unwrap_or_else(|| "1,100,1000,10000".to_owned());
    for size in sizes.split(',') {
        let size = size.parse().expect("numbers, as in --sizes 1,100");
        measure(size).await;
    }
}

/// Prints all figures for `tenants` tenants.
async fn measure(tenants: usize) {
    let names: Vec<String> = (0..tenants).map(|number| format!("t{number:05}")).collect();
    println!("{tenants} tenants");
    let begun = Instant::now();
    let stack = Stack::start(Layout {
        tenants: names.clone(),
        keys: KEYS,
        project: Project::Generated(FILES),
        ..Layout::default()
    });
    let stack = stack.await;
    println!("  set up in {:.0} s", begun.elapsed().as_secs_f64());
    first_index(&stack, tenants).await;
    idle(&stack).await;
    calls(&stack, &names).await;
    commits(&stack, &names).await;
    new_projects(&stack, &names[0]).await;
    lists(&stack);
}

/// Waits until all repositories are indexed, and prints the cost.
async fn first_index(stack: &Stack, tenants: usize) {
    let begun = Instant::now();
    stack.workers[0]
        .completes_runs(tenants as f64, PATIENCE)
        .await;
    let (worker, postgres) = (stack.cpu().1, stack.postgres_cpu());
    println!(
        "  first index of all: {:.1} s; CPU a repository, worker + Postgres: {:.1} + {:.1} ms (target 10)",
        begun.elapsed().as_secs_f64(),
        worker * 1e3 / tenants as f64,
        postgres * 1e3 / tenants as f64
    );
}

/// Prints the CPU that is used while nothing happens.
async fn idle(stack: &Stack) {
    // What follows the first index ends: each repository is looked at once.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let seconds = number("--idle", 60);
    let (worker, database) = (stack.cpu().1, stack.postgres_cpu());
    tokio::time::sleep(Duration::from_secs(seconds as u64)).await;
    let share = |used: f64| used * 100.0 / seconds as f64;
    let usage = stack.workers[0].usage();
    println!(
        "  idle: worker {:.2} %, Postgres {:.2} % of a core (target 1); worker {:.0} MiB, peak {:.0}",
        share(stack.cpu().1 - worker),
        share(stack.postgres_cpu() - database),
        usage.resident_mib,
        usage.peak_mib
    );
}

/// Prints the latency of calls with many keys in turn compared with that of one key.
async fn calls(stack: &Stack, names: &[String]) {
    stack.set_limits(&names[0], 0).await;
    let tools = [
        (
            "read_file",
            json!({ "path": "src/module000/part0/file0.rs" }),
        ),
        ("grep_codebase", json!({ "pattern": "needle_in_haystack" })),
        (
            "context_search",
            json!({ "query": "where is the session cached" }),
        ),
    ];
    for (tool, arguments) in tools {
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments },
        });
        let call = call.to_string();
        let url = stack.gateways[0].url();
        let mut clients = Vec::new();
        for name in names.iter().take(KEYS) {
            clients.push(Client::connect(&url, stack.key(name), &call).await);
        }
        let mut one = Client::connect(&url, stack.key(&names[0]), &call).await;
        let (mut first, mut in_turn, mut alone) = (Vec::new(), Vec::new(), Vec::new());
        for client in &mut clients {
            first.extend(client.time(1).await);
        }
        let cpu = stack.cpu().1;
        for _ in 0..ROUNDS {
            for client in &mut clients {
                in_turn.extend(client.time(1).await);
                alone.extend(one.time(1).await);
            }
        }
        let calls = (in_turn.len() + alone.len()) as f64;
        let cpu = (stack.cpu().1 - cpu) * 1e6 / calls;
        let (turn, alone) = (median(&mut in_turn), median(&mut alone));
        println!(
            "  {tool}: {} keys in turn {turn:.2} ms, one key {alone:.2} ms: {:.2} (target 1.2); the first \
             call of each {:.2} ms; CPU a call {cpu:.0} µs",
            clients.len(),
            turn / alone,
            median(&mut first)
        );
    }
}

/// Prints how long after a commit the index has it.
async fn commits(stack: &Stack, names: &[String]) {
    let mut used = Vec::new();
    for number in 0..COMMITS {
        used.push(commit_until_indexed(stack, &names[..1], number).await);
    }
    println!(
        "  a commit where used is indexed after {:.1} s (target 5)",
        longest(&used)
    );
    // The last tenants have no keys among 1,000 and more.
    let quiet = &names[names.len().saturating_sub(10)..];
    if names.len() > KEYS {
        let seconds = commit_until_indexed(stack, quiet, COMMITS).await;
        println!(
            "  commits in {} quiet repositories after {seconds:.1} s (target 60)",
            quiet.len()
        );
    }
}

/// Commits in the repositories of these tenants. Returns the seconds until all are indexed.
async fn commit_until_indexed(stack: &Stack, tenants: &[String], number: usize) -> f64 {
    let before = stack.workers[0].metric(COMPLETED_RUNS);
    for tenant in tenants {
        commit(&stack.project(tenant), number);
    }
    let committed = Instant::now();
    stack.workers[0]
        .completes_runs(before + tenants.len() as f64, PATIENCE)
        .await;
    committed.elapsed().as_secs_f64()
}

/// Prints how long one tenant's new repositories take to be indexed.
async fn new_projects(stack: &Stack, tenant: &str) {
    let slugs: Vec<String> = (0..NEW_PROJECTS)
        .map(|number| format!("p{number:03}"))
        .collect();
    let before = stack.workers[0].metric(COMPLETED_RUNS);
    stack.add_projects(tenant, &slugs, Some(&Project::Generated(FILES)));
    let begun = Instant::now();
    stack.workers[0]
        .completes_runs(before + NEW_PROJECTS as f64, PATIENCE)
        .await;
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "  {NEW_PROJECTS} new repositories of one tenant are indexed after {seconds:.1} s (target 60)"
    );
}

/// Prints how long lists of everything take, and the worker's memory.
fn lists(stack: &Stack) {
    let time = |arguments: &[&str]| {
        let begun = Instant::now();
        stack.administer(arguments);
        begun.elapsed().as_secs_f64()
    };
    let worker = &stack.workers[0];
    println!(
        "  index status {:.2} s, project list {:.2} s (target 1); worker {:.0} MiB, peak {:.0}; \
         {} projects open, {} evicted",
        time(&["index", "status"]),
        time(&["project", "list"]),
        worker.usage().resident_mib,
        worker.usage().peak_mib,
        worker.metric("archway_worker_open_projects"),
        worker.metric("archway_worker_open_projects_evicted_total")
    );
}

fn commit(folder: &Path, number: usize) {
    fs::write(
        folder.join("marker.rs"),
        format!("fn marker_{number}() {{}}\n"),
    )
    .expect("a file");
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"]);
        let done = git.args(arguments).current_dir(folder).status();
        assert!(done.expect("git runs").success(), "git {arguments:?}");
    };
    git(&["add", "marker.rs"]);
    git(&["commit", "-qm", "marker"]);
}

fn longest(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(0.0, f64::max)
}
