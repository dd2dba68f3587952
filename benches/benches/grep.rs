//! `grep_codebase` through gateway and worker, compared with starting ripgrep.
//!
//! Both use the same tree, pattern and number of threads, alternately. The call includes everything that a
//! client gets: HTTP, credential, JSON, `_meta`. Target: at most 0.65 of rg's wall time on a warm tree of
//! at least 5,000 files. Needs `rg` in PATH or in `ARCHWAY_TEST_RG`. Run: `cargo build --release && cargo
//! bench -p archway-benches --bench grep [-- FILES]`.

use std::{
    path::Path,
    process::{Command, Stdio},
};
use tokio::time::Instant;

use archway_benches::{Client, Dev, median};
use serde_json::{Value, json};

const ROUNDS: usize = 30;
const PATTERNS: [&str; 4] = [
    "needle_in_haystack",
    "tenant_(cache|index)_token",
    r"\bimpl_\w+_worker\b",
    "zzz_not_there",
];

#[tokio::main]
async fn main() {
    let files = std::env::args()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(5_000);
    let folder = tempfile::tempdir().expect("a folder");
    let repo = folder.path().join("repo");
    archway_benches::generate(&repo, files);
    let dev = Dev::start(&repo, &folder.path().join("data"));
    dev.lift().await;
    let threads = std::thread::available_parallelism()
        .expect("cores")
        .get()
        .to_string();

    println!("{files} files, {threads} threads, {ROUNDS} rounds; medians");
    let mut ratios = Vec::new();
    for pattern in PATTERNS {
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "grep_codebase", "arguments": { "pattern": pattern } },
        });
        let mut client = Client::connect(&dev.url, &dev.key, &call.to_string()).await;
        let found = total(client.post().await);
        assert_eq!(
            found,
            count(&repo, pattern, &threads),
            "both find the same lines: {pattern}"
        );
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            theirs.push(time_rg(&repo, pattern, &threads));
            ours.extend(client.time(1).await);
        }
        let (ours, theirs) = (median(&mut ours), median(&mut theirs));
        println!(
            "{pattern:28} {found:6} lines   call {ours:7.2} ms   rg {theirs:7.2} ms   ratio {:.2}",
            ours / theirs
        );
        ratios.push(ours / theirs);
    }
    println!(
        "wall time per call, archway / rg: {:.2} (target ≤ 0.65)",
        median(&mut ratios)
    );
    println!(
        "peak memory, gateway and worker in one process: {:.0} MiB",
        dev.usage().peak_mib
    );
    dev.stop();
}

fn rg(repo: &Path, pattern: &str, threads: &str) -> Command {
    let rg = std::env::var_os("ARCHWAY_TEST_RG").unwrap_or_else(|| "rg".into());
    let mut command = Command::new(rg);
    command
        .args([
            "--no-config",
            "--hidden",
            "--ignore-case",
            "--line-number",
            "--column",
        ])
        .args([
            "--threads",
            threads,
            "--glob",
            "!.git",
            "--regexp",
            pattern,
            ".",
        ])
        .current_dir(repo)
        .stdin(Stdio::null());
    command
}

fn time_rg(repo: &Path, pattern: &str, threads: &str) -> f64 {
    let mut command = rg(repo, pattern, threads);
    let started = Instant::now();
    command.output().expect("rg runs");
    started.elapsed().as_secs_f64() * 1e3
}

fn count(repo: &Path, pattern: &str, threads: &str) -> u64 {
    let output = rg(repo, pattern, threads).output().expect("rg runs").stdout;
    output.iter().filter(|&&byte| byte == b'\n').count() as u64
}

fn total(reply: &[u8]) -> u64 {
    let reply: Value = serde_json::from_slice(reply).expect("JSON");
    let total = &reply["result"]["structuredContent"]["totalMatches"];
    total
        .as_u64()
        .unwrap_or_else(|| panic!("no result: {reply}"))
}
