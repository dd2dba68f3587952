//! `grep_codebase` by the search index, compared with starting ripgrep and with a worker that has no index.
//!
//! Serves the last commit of a repository as a work tree and as a bare mirror, each by a worker with an
//! index and by one without. All of them and `rg` get the same patterns, alternately. The patterns are
//! words that the repository has: a rare one, one with hundreds of matches, one in a tenth of all files.
//! Prints the wall time of a call divided by that of `rg`, and its CPU (gateway and worker) divided by that
//! of the same call without an index. Then restarts the workers, and commits to the mirror. Needs `rg` in PATH
//! or in `ARCHWAY_TEST_RG`.
//!
//! A worker remembers the counts of recent patterns, so each pattern is sent in more spellings than it
//! remembers. With `--spellings 1` searches are repeated.
//!
//! Run: `cargo build --release && cargo bench -p archway-benches --bench search -- --repo PATH [--rounds N]
//! [--calls N] [--spellings N]`; `--calls` is the number of calls whose CPU is measured.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use archway_benches::{
    Client, Layout, Project, Stack, argument, grep_call, median, number, rg, total_matches,
};
use tempfile::TempDir;
use tokio::time::Instant;

#[path = "search/changes.rs"]
mod changes;

const TENANT: &str = "bench";
const ROUNDS: usize = 30;
/// More than the patterns whose counts a worker remembers.
const SPELLINGS: usize = 16;
/// Calls in a row whose CPU is measured: the kernel counts it in steps of 10 ms.
const CPU_CALLS: usize = 100;
/// How long an index may take.
const PATIENCE: Duration = Duration::from_secs(600);
const BUILDS: &str = "archway_worker_search_index_builds_total";

/// A worker and a gateway that serve the repository in one way.
struct Served {
    name: &'static str,
    stack: Stack,
    cache: TempDir,
}

#[tokio::main]
async fn main() {
    let repository = argument("--repo").expect("-- --repo PATH");
    let repository = fs::canonicalize(repository).expect("a repository");
    let rounds = number("--rounds", ROUNDS);
    let (tree, mirror) = (
        Project::CloneOf(repository.clone()),
        Project::MirrorOf(repository),
    );
    let mut served = [
        serve("work tree, scan", tree.clone(), false).await,
        serve("work tree, index", tree, true).await,
        serve("mirror, scan", mirror.clone(), false).await,
        serve("mirror, index", mirror, true).await,
    ];
    let folder = served[0].stack.project(TENANT);
    let files = texts(&folder);
    let bytes: usize = files.iter().map(String::len).sum();
    println!(
        "{} texts, {:.1} MB; {rounds} rounds, medians",
        files.len(),
        bytes as f64 / 1e6
    );
    build(&served, bytes as f64).await;
    for (what, pattern) in patterns(&files) {
        compare(&served, &folder, (what, &pattern), rounds).await;
    }
    for served in &served {
        let usage = served.stack.workers[0].usage();
        println!(
            "{:17} peak memory of the worker {:.0} MiB",
            served.name, usage.peak_mib
        );
    }
    for served in served.iter_mut().filter(|served| served.is_indexed()) {
        changes::restarts(served, "no_such_word_anywhere").await;
    }
    changes::commits(&served[3]).await;
}

impl Served {
    fn is_indexed(&self) -> bool {
        self.name.ends_with("index")
    }
}

async fn serve(name: &'static str, project: Project, is_indexed: bool) -> Served {
    let cache = tempfile::tempdir().expect("a folder");
    let folder = cache.path().display().to_string();
    let index = match is_indexed {
        true => vec!["--cache".to_owned(), folder],
        false => vec!["--search-cache-bytes".to_owned(), "0".to_owned()],
    };
    let stack = Stack::start(Layout {
        tenants: vec![TENANT.to_owned()],
        project,
        worker_arguments: [index, vec!["--indexing".to_owned(), "false".to_owned()]].concat(),
        ..Layout::default()
    });
    let stack = stack.await;
    stack.set_limits(TENANT, 0).await;
    Served { name, stack, cache }
}

/// Waits until the indexes are built, and prints what they cost.
async fn build(served: &[Served], bytes: f64) {
    for served in served.iter().filter(|served| served.is_indexed()) {
        let worker = &served.stack.workers[0];
        let before = worker.usage().cpu_seconds;
        let mut client = client(served, "no_such_word_anywhere").await;
        let begun = Instant::now();
        client.post().await;
        while worker.metric(BUILDS) < 1.0 {
            assert!(begun.elapsed() < PATIENCE, "the index is not built");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let cpu = worker.usage().cpu_seconds - before;
        println!(
            "{:17} built in {:.2} s, CPU with the first search {cpu:.2} s ({:.0} MB/s); {:.2} of the text on disk",
            served.name,
            begun.elapsed().as_secs_f64(),
            bytes / 1e6 / cpu,
            size(served.cache.path()) as f64 / bytes,
        );
    }
}

async fn compare(served: &[Served], folder: &Path, (what, pattern): (&str, &str), rounds: usize) {
    let calls = number("--calls", CPU_CALLS);
    let mut clients = Vec::new();
    let mut totals = BTreeSet::new();
    for served in served {
        let mut client = client(served, pattern).await;
        totals.insert(total_matches(client.post().await));
        clients.push(client);
    }
    assert_eq!(totals.len(), 1, "all find the same lines: {pattern}");
    let (mut theirs, mut ours) = (Vec::new(), vec![Vec::new(); clients.len()]);
    for round in 0..rounds {
        theirs.push(time_rg(folder, pattern));
        for (client, times) in clients.iter_mut().zip(&mut ours) {
            times.extend(time_call(client, pattern, round).await);
        }
    }
    let theirs = median(&mut theirs);
    println!(
        "{what}: {pattern}, {:?} lines; rg {theirs:.2} ms",
        totals.first()
    );
    let mut scan = f64::NAN;
    for ((served, client), times) in served.iter().zip(&mut clients).zip(&mut ours) {
        let (wall, cpu) = (median(times), cpu(served, client, (pattern, calls)).await);
        if !served.is_indexed() {
            scan = cpu;
        }
        println!(
            "    {:17} wall {wall:8.2} ms, {:.3} of rg; CPU {:8.2} ms, {:.3} of the scan",
            served.name,
            wall / theirs,
            cpu * 1e3,
            cpu / scan
        );
    }
}

/// The CPU seconds of a call, of so many.
async fn cpu(served: &Served, client: &mut Client, (pattern, calls): (&str, usize)) -> f64 {
    let used = || {
        let (gateways, workers) = served.stack.cpu();
        gateways + workers
    };
    let before = used();
    for number in 0..calls {
        time_call(client, pattern, number).await;
    }
    (used() - before) / calls as f64
}

/// The time of a call with one of the spellings of a pattern.
async fn time_call(client: &mut Client, pattern: &str, number: usize) -> Vec<f64> {
    let spelling = number % number_of_spellings();
    client.set_body(&grep_call(&format!("{pattern}{}", "(?:)".repeat(spelling))));
    client.time(1).await
}

fn number_of_spellings() -> usize {
    number("--spellings", SPELLINGS).max(1)
}

async fn client(served: &Served, pattern: &str) -> Client {
    let url = served.stack.gateways[0].url();
    Client::connect(&url, served.stack.key(TENANT), &grep_call(pattern)).await
}

/// A rare word, one with hundreds of matches, one in a tenth of all files, one that no file has, and a
/// regular expression without three literal letters.
fn patterns(files: &[String]) -> Vec<(&'static str, String)> {
    let is_word = |word: &&str| (8..=24).contains(&word.len());
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for text in files {
        let words = text.split(|letter: char| !(letter.is_ascii_lowercase() || letter == '_'));
        let mut seen = BTreeSet::new();
        for word in words.filter(is_word) {
            let (in_files, lines) = counts.entry(word).or_default();
            *lines += 1;
            *in_files += usize::from(seen.insert(word));
        }
    }
    let nearest = |far: &dyn Fn(usize, usize) -> usize| {
        let found = counts
            .iter()
            .min_by_key(|(_, (files, lines))| far(*files, *lines));
        found.expect("words").0.to_string()
    };
    vec![
        (
            "rare",
            nearest(&|files, lines| files.abs_diff(1) + lines.abs_diff(2)),
        ),
        (
            "hundreds of matches",
            nearest(&|_, lines| lines.abs_diff(500)),
        ),
        (
            "in a tenth of all files",
            nearest(&|it, _| it.abs_diff(files.len() / 10)),
        ),
        ("absent", "no_such_word_anywhere".to_owned()),
        ("no literal", "[a-z]+_[0-9]{4}".to_owned()),
    ]
}

/// The texts of a work tree.
fn texts(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            let about = fs::symlink_metadata(&path).expect("an entry");
            if about.is_dir() && path.file_name().is_some_and(|name| name != ".git") {
                folders.push(path);
            } else if about.is_file() {
                texts.extend(fs::read_to_string(&path));
            }
        }
    }
    texts
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// The size of all files beneath a folder, in bytes.
fn size(folder: &Path) -> u64 {
    let sizes = entries(folder).into_iter().map(|path| match path.is_dir() {
        true => size(&path),
        false => fs::metadata(&path).expect("a file").len(),
    });
    sizes.sum()
}

fn time_rg(folder: &Path, pattern: &str) -> f64 {
    let started = Instant::now();
    rg(folder, pattern).output().expect("rg runs");
    started.elapsed().as_secs_f64() * 1e3
}
