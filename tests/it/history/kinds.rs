//! Uncommon repositories: shallow, empty, bare, or with a work tree elsewhere.

use std::{fs, path::Path};

use e2e::{GeneratedHistory, Repo, git};
use serde_json::{Value, json};

use super::commit;
use crate::serve;

const ADA: &str = "Ada <ada@example.com>";
const DATE: &str = "2026-01-02T03:04:05Z";

fn three_commits(folder: &Path) {
    Repo::new().file("a.txt", "one\n").commit().build(folder);
    for text in ["one\ntwo\n", "one\ntwo\nthree\n"] {
        fs::write(folder.join("a.txt"), text).unwrap();
        commit(folder, ADA, DATE, "more");
    }
}

fn clone(from: &Path, to: &Path, how: &[&str]) {
    fs::remove_dir_all(to).unwrap();
    let url = format!("file://{}", from.display());
    let mut arguments = vec!["clone", "--quiet"];
    arguments.extend(how);
    arguments.extend([url.as_str(), to.to_str().unwrap()]);
    git(from, &arguments);
}

#[tokio::test]
async fn a_shallow_clone_ends_where_it_was_cut() {
    let origin = tempfile::tempdir().unwrap();
    three_commits(origin.path());
    let (stack, client) = serve(Repo::new()).await;
    let folder = stack.folder("acme", "site");
    clone(origin.path(), &folder, &["--depth", "2"]);
    let log = client.call("git_log", json!({})).await;
    let commits = log.structured()["commits"].as_array().unwrap();
    assert_eq!(commits.len(), 2, "{}", log.text());
    assert_eq!(
        commits[1]["files"],
        json!([{ "path": "a.txt", "status": "added" }]),
        "a root for us"
    );
    let blame = client
        .call("git_blame", json!({ "file_path": "a.txt" }))
        .await;
    let boundary = git(&folder, &["rev-parse", "HEAD~1"]);
    let lines = blame.structured()["lines"].as_array().unwrap();
    assert_eq!(
        (&lines[0]["sha"], &lines[1]["sha"]),
        (&json!(boundary), &json!(boundary))
    );
    let beyond = client
        .call("git_diff", json!({ "ref1": "HEAD~2", "ref2": "HEAD" }))
        .await;
    assert_eq!(beyond.code(), "revision_not_found", "{}", beyond.value());
}

#[tokio::test]
async fn a_repository_without_commits_has_no_history_and_only_new_files() {
    let (stack, client) = serve(Repo::new().file("a.txt", "a\n")).await;
    let folder = stack.folder("acme", "site");
    git(&folder, &["init", "--quiet"]);
    let log = client.call("git_log", json!({})).await;
    assert_eq!(log.structured()["commits"], json!([]), "{}", log.text());
    let blame = client
        .call("git_blame", json!({ "file_path": "a.txt" }))
        .await;
    assert_eq!(blame.code(), "file_not_tracked");
    let head = client.call("git_log", json!({ "ref": "HEAD" })).await;
    assert_eq!(head.code(), "revision_not_found", "{}", head.value());
    git(&folder, &["add", "a.txt"]);
    let diff = client.call("git_diff", json!({})).await;
    assert_eq!(diff.structured()["base"], Value::Null);
    assert_eq!(
        diff.structured()["files"][0]["status"],
        "added",
        "{}",
        diff.text()
    );
}

#[tokio::test]
async fn a_bare_repository_has_a_history_and_no_work_tree() {
    let origin = tempfile::tempdir().unwrap();
    three_commits(origin.path());
    let (stack, client) = serve(Repo::new()).await;
    clone(origin.path(), &stack.folder("acme", "site"), &["--bare"]);
    let log = client
        .call("git_log", json!({ "file_path": "a.txt" }))
        .await;
    assert_eq!(log.structured()["commits"].as_array().unwrap().len(), 3);
    let blame = client
        .call("git_blame", json!({ "file_path": "a.txt" }))
        .await;
    assert_eq!(blame.structured()["modified"], false);
    let diff = client
        .call("git_diff", json!({ "ref1": "HEAD~2", "ref2": "HEAD" }))
        .await;
    assert_eq!(diff.structured()["insertions"], 2);
    let with_tree = client.call("git_diff", json!({})).await;
    assert_eq!(with_tree.code(), "invalid_arguments");
    let said = with_tree.error()["message"].as_str().unwrap();
    assert!(said.contains("bare"), "{said}");
}

#[tokio::test]
async fn a_linked_work_tree_whose_repository_lies_in_the_mount_has_its_history() {
    let (stack, client) = serve(Repo::new()).await;
    let folder = stack.folder("acme", "site");
    three_commits(&folder.join("main"));
    git(
        &folder.join("main"),
        &["worktree", "add", "--quiet", "../linked", "HEAD~1"],
    );
    std::os::unix::fs::symlink("linked", folder.join("current")).unwrap();
    let log = client.call("git_log", json!({})).await;
    assert_eq!(
        log.structured()["commits"].as_array().unwrap().len(),
        2,
        "{}",
        log.text()
    );
    fs::write(folder.join("linked/a.txt"), "other\n").unwrap();
    let diff = client.call("git_diff", json!({})).await;
    assert_eq!(diff.structured()["files_changed"], 1, "{}", diff.text());
    let blame = client
        .call("git_blame", json!({ "file_path": "a.txt" }))
        .await;
    assert_eq!(blame.structured()["modified"], true);
}

#[tokio::test]
async fn replaced_commits_are_shown_unreplaced() {
    let (stack, client) = serve(Repo::new()).await;
    let folder = stack.folder("acme", "site");
    fs::remove_dir(&folder).unwrap();
    three_commits(&folder);
    // git itself would show a history of one commit.
    git(&folder, &["replace", "HEAD", "HEAD~2"]);
    let log = client.call("git_log", json!({})).await;
    assert_eq!(
        log.structured()["commits"].as_array().unwrap().len(),
        3,
        "{}",
        log.text()
    );
}

#[tokio::test]
async fn every_answer_about_a_wild_history_fits_the_schema_and_the_budget() {
    let (_stack, client) = serve(Repo::new().history(GeneratedHistory {
        seed: 5,
        commits: 400,
    }))
    .await;
    let list = client.rpc("tools/list", json!({})).await.json();
    let tools = list["result"]["tools"].as_array().unwrap();
    let file = client.call("git_log", json!({ "max_count": 100 })).await;
    let changed = file.structured()["commits"].as_array().unwrap();
    let files = changed
        .iter()
        .flat_map(|commit| commit["files"].as_array().unwrap());
    let alive = files
        .filter(|file| file["status"] == "modified")
        .map(|file| &file["path"]);
    let mut calls = vec![
        ("git_log", json!({ "max_count": 100 })),
        ("git_log", json!({ "file_path": "src", "max_count": 100 })),
        ("git_diff", json!({ "ref1": "HEAD~100", "ref2": "HEAD" })),
        (
            "git_diff",
            json!({ "ref1": "HEAD~4", "ref2": "HEAD", "context_lines": 100 }),
        ),
    ];
    calls.extend(
        alive
            .take(20)
            .map(|path| ("git_blame", json!({ "file_path": path, "ref": "HEAD~1" }))),
    );
    for (tool, arguments) in calls {
        let reply = client.call(tool, arguments.clone()).await;
        if reply.is_error() {
            // Deleted by then, or binary.
            let known = ["file_not_tracked", "binary_file"].contains(&reply.code());
            assert!(known, "{tool} {arguments}: {}", reply.text());
            continue;
        }
        let schema = &tools.iter().find(|entry| entry["name"] == tool).unwrap()["outputSchema"];
        let schema = jsonschema::validator_for(schema).unwrap();
        let wrong: Vec<String> = schema
            .iter_errors(reply.structured())
            .map(|error| error.to_string())
            .collect();
        assert!(wrong.is_empty(), "{tool} {arguments}: {wrong:?}");
        let sizes = [reply.text().len(), reply.structured().to_string().len()];
        assert!(
            sizes.iter().all(|&size| size <= 64 << 10),
            "{tool} {arguments}: {sizes:?}"
        );
    }
}
