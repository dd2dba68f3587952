//! Repositories that cannot be read, or not in time.

use std::{
    fs::{self, File, OpenOptions},
    path::Path,
    process::Command,
};

use e2e::{Harness, Repo, Stack, Tenant, git};
use futures::future::join_all;
use serde_json::json;
use tokio::time::{Duration, sleep};

use super::{Targets, acme, assert_fires, call, nothing, until};

/// A commit of files that the repository lacks.
const HOLLOW: &str = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4905
author Ada <ada@example.org> 1750000000 +0000
committer Ada <ada@example.org> 1750000000 +0000

hollow
";

/// An installation whose projects are indexed; the last one is a mirror of the first.
async fn indexed(projects: &[&str]) -> Stack {
    let repo = Repo::new().file("a.rs", "pub fn open_gate() {}\n").commit();
    let add = |tenant: Tenant, project: &&str| tenant.project(project, repo.clone());
    let tenant = projects.iter().fold(Tenant::new("acme"), add);
    let stack = Harness::new().tenant(tenant).indexing().start().await;
    let (first, last) = (projects.first().unwrap(), projects.last().unwrap());
    stack.make_mirror("acme", first, last);
    let client = stack.client("acme");
    for project in projects {
        let question = json!({ "query": "open the gate", "project": project });
        let is_indexed = async || {
            let reply = client.call("context_search", question.clone()).await;
            let is_answer = !reply.is_error();
            (is_answer && reply.structured()["index"]["commit"].is_string()).then_some(())
        };
        stack.eventually(is_indexed).await;
    }
    stack
}

/// Lets HEAD name a commit whose tree is missing, as after a copy that was cut off.
fn hollow_out(folder: &Path) {
    let commit = folder.join("commit");
    fs::write(&commit, HOLLOW.replace("4b825dc6", "4b825dc7")).unwrap();
    let arguments = ["hash-object", "-w", "--literally", "-t", "commit", "commit"];
    let id = git(folder, &arguments);
    fs::remove_file(commit).unwrap();
    git(folder, &["update-ref", "HEAD", id.trim()]);
}

#[tokio::test]
async fn runs_of_the_indexer_that_fail_are_noticed() {
    let projects = ["one", "two", "three", "four", "five", "six"];
    let stack = indexed(&projects).await;
    let targets = Targets::of(&stack);
    let calm = targets.scrape().await;
    for project in projects {
        hollow_out(&stack.folder("acme", project));
    }
    let runs = "archway_worker_index_run_seconds_count";
    let caused = until(&targets, |it| it.sum(runs, "outcome=\"failed\"") > 8.0).await;
    assert_fires(&["ArchwayIndexRunsFailing"], &calm, &caused, 40);
}

#[tokio::test]
async fn repositories_that_cannot_be_read_are_noticed() {
    let stack = indexed(&["site", "mirror"]).await;
    let targets = Targets::of(&stack);
    let calm = targets.scrape().await;
    // Its path rules are those of its last commit.
    hollow_out(&stack.folder("acme", "mirror"));
    let unreadable = "archway_worker_index_projects_unreadable";
    let caused = until(&targets, |it| it.sum(unreadable, "") > 0.5).await;
    assert_fires(&["ArchwayProjectsUnreadable"], &calm, &caused, 20);
}

/// Replaces HEAD by a named pipe. Who reads the repository hangs until the file is dropped.
fn hang_up(folder: &Path) -> File {
    let head = folder.join(".git/HEAD");
    fs::remove_file(&head).unwrap();
    let made = Command::new("mkfifo").arg(&head).status().unwrap();
    assert!(made.success());
    let mut options = OpenOptions::new();
    options.read(true).write(true).open(head).unwrap()
}

#[tokio::test]
async fn calls_that_wait_for_threads_are_noticed() {
    const CALLS: u8 = 40;
    let slow = Tenant::new("slow").project("site", Repo::new().file("a.txt", "").commit());
    let harness = Harness::new().tenant(acme()).tenant(slow);
    let stack = harness.blocking_calls(1).start().await;
    let targets = Targets::of(&stack);
    let calm = targets.scrape().await;
    let pipe = hang_up(&stack.folder("slow", "site"));
    let client = stack.client("slow");
    let hanging = tokio::spawn(async move { call(&client, "list_files", &nothing(), 1).await });
    let (waits, waiting) = (
        "archway_worker_call_wait_seconds_count",
        "archway_worker_calls_waiting",
    );
    until(&targets, |it| it.sum(waits, "of=\"place\"") > 0.5).await;
    let client = stack.client("acme");
    let calls = tokio::spawn(async move {
        let none = nothing();
        join_all((0..CALLS).map(|_| call(&client, "list_files", &none, 1))).await;
    });
    until(&targets, |it| {
        it.sum(waiting, "of=\"place\"") > f64::from(CALLS) - 0.5
    })
    .await;
    // What the alert is about: a wait of more than a second.
    sleep(Duration::from_secs(2)).await;
    drop(pipe);
    hanging.await.unwrap();
    calls.await.unwrap();
    let caused = targets.scrape().await;
    assert_fires(&["ArchwayWorkersCrowded"], &calm, &caused, 30);
}
