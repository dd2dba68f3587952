//! A restart of the worker, and commits of one file.

use std::{path::Path, process::Command, time::Duration};

use archway_benches::{HELLO, median};
use tokio::time::Instant;

use super::{BUILDS, PATIENCE, Served, TENANT, client, cpu};

const RESTARTS: usize = 5;
const COMMITS: usize = 10;
/// Longer than an index rests after the build of a small commit.
const REST: Duration = Duration::from_secs(2);

/// Prints the time of the first search after a restart over the same cache, divided by that of later ones.
pub(crate) async fn restarts(served: &mut Served, pattern: &str) {
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for _ in 0..RESTARTS {
        served.stack.restart_worker();
        connected(served).await;
        let mut client = client(served, pattern).await;
        first.extend(client.time(1).await);
        later.extend(client.time(9).await);
    }
    let (first, later) = (median(&mut first), median(&mut later));
    println!(
        "{:17} first search after a restart {first:.2} ms, {:.2} of later ones",
        served.name,
        first / later
    );
}

/// Waits until the gateway reaches the restarted worker.
async fn connected(served: &Served) {
    let begun = Instant::now();
    loop {
        let mut client = client(served, "").await;
        client.set_body(HELLO);
        let answer = client.exchange().await.expect("an answer");
        if answer.status == 200 && client.body(answer).contains("\"result\"") {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "the worker does not answer");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Prints how much CPU it takes to index a commit of one file in a bare mirror.
pub(crate) async fn commits(served: &Served) {
    let pattern = "no_such_word_anywhere";
    let mut client = client(served, pattern).await;
    let search = cpu(served, &mut client, (pattern, 20)).await;
    let (repository, worker) = (served.stack.project(TENANT), &served.stack.workers[0]);
    let mut used = 0.0;
    for number in 0..COMMITS {
        // The index rests after a build, and a search while it rests requests none.
        tokio::time::sleep(REST).await;
        commit(&repository, number);
        let (before, builds) = (worker.usage().cpu_seconds, worker.metric(BUILDS));
        client.post().await;
        let begun = Instant::now();
        while worker.metric(BUILDS) == builds {
            assert!(begun.elapsed() < PATIENCE, "the commit is not indexed");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        used += worker.usage().cpu_seconds - before;
    }
    println!(
        "{:17} a commit of one file: {:.1} ms of CPU with a search, {:.1} without",
        served.name,
        used * 1e3 / COMMITS as f64,
        (used / COMMITS as f64 - search) * 1e3
    );
}

/// Commits a file to a bare repository.
fn commit(repository: &Path, number: usize) {
    let index = tempfile::tempdir().expect("a folder");
    let git = |arguments: &[&str]| {
        let done = Command::new("git")
            .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"])
            .args(arguments)
            .current_dir(repository)
            .env("GIT_INDEX_FILE", index.path().join("index"))
            .output();
        let done = done.expect("git runs");
        assert!(done.status.success(), "git {arguments:?}");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    };
    let text = index.path().join("text");
    std::fs::write(&text, format!("a line of commit {number}\n")).expect("a file");
    let blob = git(&[
        "hash-object",
        "-w",
        "--no-filters",
        &text.display().to_string(),
    ]);
    git(&["read-tree", "HEAD"]);
    let entry = format!("100644,{blob},of_the_bench.txt");
    git(&["update-index", "--add", "--cacheinfo", &entry]);
    let tree = git(&["write-tree"]);
    let commit = git(&["commit-tree", &tree, "-p", "HEAD", "-m", "one"]);
    git(&["update-ref", "HEAD", &commit]);
}
