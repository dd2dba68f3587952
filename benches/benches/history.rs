//! `git_log`, `git_blame` and `git_diff` through gateway and worker, compared with the git command.
//!
//! Measures CPU per call (user and system time of all of `archway dev`) and that of a whole git process, for
//! the same questions alternately, and the latency for clients. Every question is different, so no answer
//! is cached; blame is then repeated once. git has a commit-graph with Bloom filters; Archway must build its
//! own. Run: `cargo build --release && cargo bench -p archway-benches --bench history`, with `-- --commits N`
//! for a generated history of other than 60,000 commits, `--repo PATH` for an existing work tree,
//! `--questions N`, `--rounds N`.
//!
//! Targets, as ratios of CPU: 100 commits with their files ≤ 0.5; the log of an old folder ≤ 1.0; the log of
//! an old file, which Archway follows through renames and copies, ≤ 1.0 of git's with and without
//! `--follow`; blame ≤ 1.1, repeated under 5 ms; two tags ≤ 1.0. Peak memory of blames ≤ git's. Latency
//! p50/p95/p99 in ms: log 100/300/500, blame 150/400/800, diff 200/500/1000.

#[path = "history/git.rs"]
mod git;
#[path = "history/questions.rs"]
mod questions;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use archway_benches::{Client, Dev, argument, median, number, quantile};
use e2e::GeneratedHistory;
use serde_json::{Value, json};

use git::Git;
use questions::{Question, Questions};

const COMMITS: usize = 60_000;
const QUESTIONS: usize = 20;
const ROUNDS: usize = 3;

/// A kind of question, with the targets of its answers.
struct Kind {
    name: &'static str,
    /// As a ratio of git's CPU.
    ratio: f64,
    /// The targets of p50, p95 and p99, in milliseconds.
    waits: [f64; 3],
}

const KINDS: [Kind; questions::KINDS] = [
    Kind {
        name: "log of 100 commits",
        ratio: 0.5,
        waits: [100.0, 300.0, 500.0],
    },
    Kind {
        name: "log of an old folder",
        ratio: 1.0,
        waits: [100.0, 300.0, 500.0],
    },
    Kind {
        name: "old file, --follow",
        ratio: 1.0,
        waits: [100.0, 300.0, 500.0],
    },
    Kind {
        name: "old file, not so",
        ratio: 1.0,
        waits: [100.0, 300.0, 500.0],
    },
    Kind {
        name: "blame",
        ratio: 1.1,
        waits: [150.0, 400.0, 800.0],
    },
    Kind {
        name: "diff of two tags",
        ratio: 1.0,
        waits: [200.0, 500.0, 1000.0],
    },
];

#[tokio::main]
async fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let repo = repository(folder.path());
    let git = Git::beside(&repo, &folder.path().join("git"));
    let questions = Questions::about(&git, number("--questions", QUESTIONS));
    println!(
        "{} commits, {} files",
        git.count_commits(),
        git.count_files()
    );
    let rounds = number("--rounds", ROUNDS);
    let mut seen: Vec<Measurements> = KINDS.iter().map(|_| Measurements::default()).collect();
    let mut again = Measurements::default();
    for round in 0..rounds {
        // A new process has nothing in memory; its data stays, as on a server.
        let dev = Dev::start(&repo, &folder.path().join("data"));
        dev.lift().await;
        settle(&dev).await;
        for (kind, seen) in seen.iter_mut().enumerate() {
            let asked = questions.of(kind);
            if kind == questions::BLAMES {
                memory(&dev, &git, questions.untimed_blames(), round).await;
            }
            seen.theirs.push(git.cpu(asked));
            seen.ask(&dev, asked).await;
            if kind == questions::BLAMES {
                again.ask(&dev, asked).await;
            }
        }
        println!("peak memory of all: {:.0} MiB", dev.usage().peak_mib);
        if round == 0 {
            leave_all(&dev, &questions.long()).await;
        }
        dev.stop();
    }
    for (kind, seen) in KINDS.iter().zip(&mut seen) {
        seen.report(kind);
    }
    println!(
        "blame again           {:8.2} ms CPU   p50 {:.2} ms (target < 5)",
        1e3 * median(&mut again.ours),
        median(&mut again.waited)
    );
}

/// The repository for the questions.
fn repository(folder: &Path) -> PathBuf {
    if let Some(repo) = argument("--repo") {
        return repo.into();
    }
    let (repo, commits) = (folder.join("repo"), number("--commits", COMMITS));
    let started = tokio::time::Instant::now();
    GeneratedHistory { seed: 1, commits }.build(&repo);
    println!("generated in {:.0} s", started.elapsed().as_secs_f64());
    repo
}

/// Waits until background work is done: the process is idle for a second.
async fn settle(dev: &Dev) {
    let log = Question::ours(
        "git_log",
        json!({ "file_path": "no/such/file", "max_count": 1 }),
    );
    ask(dev, &log).await;
    let mut before = dev.usage().cpu_seconds;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = dev.usage().cpu_seconds;
        if now - before < 0.05 {
            return;
        }
        before = now;
    }
}

/// How much CPU is used for calls whose client has left.
async fn leave_all(dev: &Dev, questions: &[Question]) {
    for question in questions {
        let spent = match leave(dev, question).await {
            Some(spent) => format!("{spent:.0} ms CPU after its client left (target ≤ 100)"),
            None => "over before its client could leave".to_owned(),
        };
        println!("{} {}: {spent}", question.tool, question.arguments);
    }
}

/// Abandons a call while it runs. Returns the CPU milliseconds that were used afterwards, or `None` if it
/// had ended by then.
async fn leave(dev: &Dev, question: &Question) -> Option<f64> {
    let mut client = Client::connect(&dev.url, &dev.key, &question.call()).await;
    let before = dev.usage().cpu_seconds;
    let call = tokio::spawn(async move {
        client.exchange().await;
    });
    while dev.usage().cpu_seconds - before < 0.03 {
        tokio::time::sleep(Duration::from_millis(2)).await;
        if call.is_finished() {
            return None;
        }
    }
    // Aborting the task closes the socket.
    call.abort();
    let left = dev.usage().cpu_seconds;
    tokio::time::sleep(Duration::from_millis(500)).await;
    Some(1e3 * (dev.usage().cpu_seconds - left))
}

/// The measurements of one kind.
#[derive(Default)]
struct Measurements {
    /// CPU seconds per question, by round.
    ours: Vec<f64>,
    theirs: Vec<f64>,
    /// Latencies in milliseconds.
    waited: Vec<f64>,
}

impl Measurements {
    /// Runs all questions once.
    async fn ask(&mut self, dev: &Dev, questions: &[Question]) {
        let before = dev.usage().cpu_seconds;
        for question in questions {
            self.waited.push(ask(dev, question).await);
        }
        let spent = dev.usage().cpu_seconds - before;
        self.ours.push(spent / questions.len() as f64);
    }

    fn report(&mut self, kind: &Kind) {
        let (ours, theirs) = (median(&mut self.ours), median(&mut self.theirs));
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|at| quantile(&mut self.waited, at));
        let waits = kind.waits.map(|wait| format!("{wait:.0}")).join("/");
        println!(
            "{:20} CPU: call {:8.2} ms   git {:8.2} ms   ratio {:.2} (target ≤ {})   \
             p50 {p50:.1} p95 {p95:.1} p99 {p99:.1} ms (target {waits})",
            kind.name,
            1e3 * ours,
            1e3 * theirs,
            ours / theirs,
            kind.ratio
        );
    }
}

/// Runs a question once. Returns the latency in milliseconds until it is complete. A log takes two pages,
/// because a hundred commits with many files don't fit into one answer.
async fn ask(dev: &Dev, question: &Question) -> f64 {
    let mut arguments = question.arguments.clone();
    let mut taken = 0.0;
    for _ in 0..question.pages {
        let call = Question::ours(question.tool, arguments.clone()).call();
        let mut client = Client::connect(&dev.url, &dev.key, &call).await;
        let started = tokio::time::Instant::now();
        let reply: Value = serde_json::from_slice(client.post().await).expect("JSON");
        taken += started.elapsed().as_secs_f64() * 1e3;
        let data = &reply["result"]["structuredContent"];
        assert!(data.is_object(), "{arguments}: {reply}");
        match data.get("cursor") {
            Some(cursor) => arguments["cursor"] = cursor.clone(),
            None => break,
        }
    }
    taken
}

/// The memory that a large blame adds, compared with git's. Only a process without earlier blames shows it,
/// and the file is in no timed list, since it would be cached by then.
async fn memory(dev: &Dev, git: &Git, blames: &[Question], round: usize) {
    let before = dev.usage();
    for question in blames.iter().skip(round).take(1) {
        ask(dev, question).await;
        let after = dev.usage();
        println!(
            "memory of a blame: {:.1} MiB more than before   git {:.1} MiB (target ≤ 1.0)",
            (after.peak_mib - before.peak_mib).max(after.resident_mib - before.resident_mib),
            git.peak_mib(question)
        );
    }
}
