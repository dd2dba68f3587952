//! The cost of an index, and the latency of `context_search` with it.
//!
//! Uses a worker and a gateway as in an installation, the built-in table of vectors, the exact vector
//! store, and the last commit of a real repository. Prints:
//! - source indexed per second of the worker's CPU: cutting, embedding and storing (target ≥ 2 MB/s;
//!   Postgres, a separate process, is not included);
//! - memory of the index per chunk, as the worker reports it (target ≤ 1.5 KB), and how much its resident
//!   memory grows by the first query;
//! - latency of `context_search` through the gateway, for queries of words from the repository, each sent
//!   once (target: p95 ≤ 20 ms with 50,000 chunks);
//! - how long indexing a commit of one file takes (target ≤ 1 s), and how long after the commit it is
//!   found: a project in use is looked at every 2 s.
//!
//! Run: `cargo build --release && cargo bench -p archway-benches --bench index -- --repo PATH`, followed by
//! `--questions N` and `--commits N` for other numbers.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use archway_benches::{
    COMPLETED_RUNS, Client, Layout, Project, Running, Stack, argument, median, number, quantile,
};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Value, json};
use tokio::time::Instant;

const TENANT: &str = "bench";
const QUESTIONS: usize = 400;
const COMMITS: usize = 10;
/// How long an index may take.
const PATIENCE: Duration = Duration::from_secs(1800);
/// Words of typical queries about code.
const WORD: std::ops::RangeInclusive<usize> = 4..=12;

#[tokio::main]
async fn main() {
    let repository = argument("--repo").expect("-- --repo PATH");
    let repository = fs::canonicalize(repository).expect("a repository");
    let stack = Stack::start(Layout {
        tenants: vec![TENANT.to_owned()],
        project: Project::CloneOf(repository),
        ..Layout::default()
    });
    let stack = stack.await;
    stack.set_limits(TENANT, 0).await;
    let folder = stack.project(TENANT);
    let (files, bytes) = size(&folder);
    println!("{files} files, {:.1} MB", bytes / 1e6);

    let chunks = indexed(&stack.workers[0], bytes).await;
    let words = words(&folder);
    search(&stack, &words, chunks).await;
    commits(&stack, &folder).await;
}

/// Waits for the first index, and prints its cost. Returns the number of chunks.
async fn indexed(worker: &Running, bytes: f64) -> f64 {
    worker.completes_runs(1.0, PATIENCE).await;
    let (chunks, usage) = (worker.metric(CHUNKS), worker.usage());
    println!(
        "index: {chunks} chunks; {:.2} s, of the worker's CPU {:.2} s: {:.1} MB/s (target ≥ 2); \
         peak memory {:.0} MiB",
        worker.metric(RUN_SECONDS),
        usage.cpu_seconds,
        bytes / 1e6 / usage.cpu_seconds,
        usage.peak_mib
    );
    chunks
}

/// Runs queries, and prints the index's memory and the latencies.
async fn search(stack: &Stack, words: &[String], chunks: f64) {
    let (worker, mut random) = (&stack.workers[0], StdRng::seed_from_u64(5));
    let before = worker.usage().resident_mib;
    let first = ask(stack, "how is it read and written").await;
    let memory = worker.metric("archway_worker_index_memory_bytes");
    println!(
        "memory: {:.2} KB a chunk (target ≤ 1.5); resident {before:.0} → {:.0} MiB by the first \
         question, which took {first:.0} ms",
        memory / chunks / 1e3,
        worker.usage().resident_mib
    );
    let mut taken = Vec::new();
    for _ in 0..number("--questions", QUESTIONS) {
        let count = random.random_range(2..=6);
        let question: Vec<&str> = (0..count)
            .map(|_| words.choose(&mut random).expect("words").as_str())
            .collect();
        taken.push(ask(stack, &question.join(" ")).await);
    }
    println!(
        "context_search, {} questions: p50 {:.1} ms, p95 {:.1} ms (target ≤ 20), most {:.1} ms",
        taken.len(),
        median(&mut taken),
        quantile(&mut taken, 0.95),
        quantile(&mut taken, 1.0)
    );
}

/// Repeatedly commits a change of one file, and prints how long indexing took.
async fn commits(stack: &Stack, folder: &Path) {
    let worker = &stack.workers[0];
    let (mut taken, mut seen) = (Vec::new(), Vec::new());
    for number in 0..number("--commits", COMMITS) {
        let (count, seconds) = (worker.metric(COMPLETED_RUNS), worker.metric(RUN_SECONDS));
        commit(folder, number);
        let committed = Instant::now();
        worker.completes_runs(count + 1.0, PATIENCE).await;
        seen.push(committed.elapsed().as_secs_f64());
        taken.push(worker.metric(RUN_SECONDS) - seconds);
        let found = answer(stack, &format!("bench marker {number}")).await;
        let found = found["results"].as_array().expect("results");
        let symbol = format!("bench_marker_{number}");
        let is_found = found.iter().any(|result| result["symbol"] == symbol);
        assert!(is_found, "{symbol} is not among {found:?}");
    }
    println!(
        "a commit of one file: {:.2} s for the index (target ≤ 1), most {:.2} s; {:.1} s after the \
         commit it is there, most {:.1} s",
        median(&mut taken),
        quantile(&mut taken, 1.0),
        median(&mut seen),
        quantile(&mut seen, 1.0)
    );
}

const RUN_SECONDS: &str = r#"archway_worker_index_run_seconds_sum{outcome="whole"}"#;
const CHUNKS: &str = "archway_worker_index_chunks_total";

/// How many files HEAD has, and how many bytes.
fn size(folder: &Path) -> (usize, f64) {
    let listed = git(folder, &["ls-tree", "-r", "-l", "HEAD"]);
    let sizes = listed
        .lines()
        .filter_map(|line| line.split_whitespace().nth(3)?.parse::<f64>().ok());
    sizes.fold((0, 0.0), |(files, bytes), size| (files + 1, bytes + size))
}

/// Words of the repository, sorted.
fn words(folder: &Path) -> Vec<String> {
    let listed = git(folder, &["ls-files", "-z"]);
    let paths: Vec<PathBuf> = listed.split('\0').map(|path| folder.join(path)).collect();
    let mut words = BTreeSet::new();
    for text in paths
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
    {
        let parts = text.split(|letter: char| !letter.is_ascii_alphabetic());
        let parts = parts.filter(|part| WORD.contains(&part.len()));
        words.extend(parts.take(200).map(str::to_lowercase));
    }
    words.into_iter().collect()
}

/// Adds a function in a file of its own, and commits it.
fn commit(folder: &Path, number: usize) {
    let text = format!(
        "/// Bench marker {number}.\nfn bench_marker_{number}() -> usize {{\n    {number}\n}}\n"
    );
    fs::write(folder.join("bench_marker.rs"), text).expect("a file");
    git(folder, &["add", "bench_marker.rs"]);
    let who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    git(folder, &[&who[..], &["commit", "-qm", "marker"]].concat());
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    let done = git.args(arguments).current_dir(folder).output();
    let done = done.expect("git runs");
    assert!(done.status.success(), "git {arguments:?}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Runs a query. Returns its latency in milliseconds.
async fn ask(stack: &Stack, question: &str) -> f64 {
    let mut client = client(stack, question).await;
    let started = Instant::now();
    client.post().await;
    started.elapsed().as_secs_f64() * 1e3
}

/// Runs a query. Returns the matches.
async fn answer(stack: &Stack, question: &str) -> Value {
    let mut client = client(stack, question).await;
    let answer: Value = serde_json::from_slice(client.post().await).expect("JSON");
    answer["result"]["structuredContent"].clone()
}

async fn client(stack: &Stack, question: &str) -> Client {
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "context_search", "arguments": { "query": question } },
    });
    let url = stack.gateways[0].url();
    Client::connect(&url, stack.key(TENANT), &call.to_string()).await
}
