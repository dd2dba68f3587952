//! `grep_codebase` through gateway and worker, compared with starting ripgrep.
//!
//! Both use the same tree, pattern and number of threads, alternately. The call includes everything that a
//! client gets: HTTP, credential, JSON, `_meta`. Target: at most 0.65 of rg's wall time on a warm tree of
//! at least 5,000 files. Needs `rg` in PATH or in `ARCHWAY_TEST_RG`. Run: `cargo build --release && cargo
//! bench -p archway-benches --bench grep [-- FILES]`.

use std::{path::Path, process::Command};
use tokio::time::Instant;

use archway_benches::{Client, Dev, grep_call, median, rg, total_matches};

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
        let call = grep_call(pattern);
        let mut client = Client::connect(&dev.url, &dev.key, &call).await;
        let found = total_matches(client.post().await);
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

/// ripgrep with as many threads as the worker has.
fn rg_with(repo: &Path, pattern: &str, threads: &str) -> Command {
    let mut command = rg(repo, pattern);
    command.args(["--threads", threads]);
    command
}

fn time_rg(repo: &Path, pattern: &str, threads: &str) -> f64 {
    let mut command = rg_with(repo, pattern, threads);
    let started = Instant::now();
    command.output().expect("rg runs");
    started.elapsed().as_secs_f64() * 1e3
}

fn count(repo: &Path, pattern: &str, threads: &str) -> u64 {
    let output = rg_with(repo, pattern, threads)
        .output()
        .expect("rg runs")
        .stdout;
    output.iter().filter(|&&byte| byte == b'\n').count() as u64
}
