//! `git_diff`: what its two sides are in every kind of repository, and what it omits.

use std::{fs, os::unix::fs::symlink};

use e2e::{Repo, git};
use serde_json::{Value, json};

use super::git_diff::{build, diff, files};
use crate::serve;

#[tokio::test]
async fn without_revisions_a_diff_shows_uncommitted_changes() {
    let (stack, client) = serve(Repo::new().file("a", "1\n").file("b", "2\n").commit()).await;
    let folder = stack.folder("acme", "site");
    assert_eq!(
        diff(&client, json!({})).await.text(),
        "# Git Diff: HEAD...working tree\n\nNo differences.\n"
    );
    fs::write(folder.join("a"), "changed\n").unwrap();
    fs::write(folder.join("untracked"), "3\n").unwrap();
    fs::write(folder.join("staged"), "4\n").unwrap();
    git(&folder, &["add", "staged"]);
    fs::remove_file(folder.join("b")).unwrap();
    symlink("a", folder.join("b")).unwrap();
    let reply = diff(&client, json!({ "ref1": "", "ref2": null })).await;
    let expected = [
        "a () modified +1 -1",
        "b () type_changed +1 -1",
        "staged () added +1 -0",
    ];
    assert_eq!(files(&reply), expected);
    assert_eq!(reply.structured()["head"], Value::Null);
    assert_eq!(
        reply.structured()["files"][1]["patch"],
        "@@ -1 +0,0 @@\n-2\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"
    );
}

#[tokio::test]
async fn line_ends_of_a_checkout_are_no_difference() {
    let repo = Repo::new()
        .file(".gitattributes", "*.txt text\n")
        .file("a.txt", "1\n2\n")
        .commit();
    let (stack, client) = serve(repo).await;
    let folder = stack.folder("acme", "site");
    fs::write(folder.join("a.txt"), "1\r\n2\r\n").unwrap();
    assert_eq!(files(&diff(&client, json!({})).await), [""; 0]);
    fs::write(folder.join("a.txt"), "1\r\nTWO\r\n").unwrap();
    let reply = diff(&client, json!({})).await;
    assert_eq!(
        reply.structured()["files"][0]["patch"],
        "@@ -1,2 +1,2 @@\n 1\n-2\n+TWO\n"
    );
}

#[tokio::test]
async fn a_blocked_file_is_in_no_diff() {
    let (stack, client) = serve(
        Repo::new()
            .file(".env", "KEY=1\n2\n3\n4\n")
            .file("a", "a\n")
            .commit(),
    )
    .await;
    let folder = stack.folder("acme", "site");
    fs::rename(folder.join(".env"), folder.join("settings")).unwrap();
    fs::write(folder.join("server.pem"), "a\n").unwrap();
    fs::remove_file(folder.join("a")).unwrap();
    git(&folder, &["add", "-A"]);
    for arguments in [json!({}), json!({ "ref1": "HEAD~1", "ref2": "HEAD" })] {
        let reply = diff(&client, arguments).await;
        assert_eq!(
            files(&reply),
            ["a () deleted +0 -1", "settings () added +4 -0"]
        );
        let whole = reply.value().to_string();
        assert!(!whole.contains(".env") && !whole.contains("pem"), "{whole}");
        git(&folder, &["commit", "-qm", "two", "--allow-empty"]);
    }
    for path in [".env", "no/such.pem", ".git/config"] {
        let reply = client.call("git_diff", json!({ "file_path": path })).await;
        assert_eq!(reply.code(), "access_denied", "{path}");
    }
}

#[tokio::test]
async fn a_submodule_is_one_entry_and_is_not_entered() {
    let other = tempfile::tempdir().unwrap();
    Repo::new()
        .file("inner.txt", "1\n")
        .commit()
        .build(other.path());
    let (stack, client) = serve(Repo::new().file("a", "a\n").commit()).await;
    let folder = stack.folder("acme", "site");
    let from = other.path().to_str().unwrap();
    git(
        &folder,
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            from,
            "sub",
        ],
    );
    git(&folder, &["commit", "-qm", "two"]);
    let reply = diff(
        &client,
        json!({ "ref1": "HEAD~1", "ref2": "HEAD", "file_path": "sub" }),
    )
    .await;
    assert_eq!(files(&reply), ["sub () added +1 -0"]);
    let id = git(other.path(), &["rev-parse", "HEAD"]);
    assert_eq!(
        reply.structured()["files"][0]["patch"],
        format!("@@ -0,0 +1 @@\n+Subproject commit {id}\n")
    );
    fs::write(folder.join("sub/inner.txt"), "changed\n").unwrap();
    assert_eq!(files(&diff(&client, json!({})).await), [""; 0]);
}

#[tokio::test]
async fn nothing_that_a_repository_names_is_run() {
    let (stack, client) = serve(
        Repo::new()
            .file(".gitattributes", "* filter=evil diff=evil\n")
            .file("a", "1\n")
            .commit(),
    )
    .await;
    let folder = stack.folder("acme", "site");
    let marker = folder.join("marker");
    let command = format!("touch {}; cat", marker.display());
    for name in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "diff.external",
        "core.fsmonitor",
    ] {
        git(&folder, &["config", name, &command]);
    }
    git(&folder, &["config", "filter.evil.required", "true"]);
    fs::write(folder.join("a"), "changed\n").unwrap();
    assert_eq!(
        files(&diff(&client, json!({})).await),
        ["a () modified +1 -1"]
    );
    assert!(!marker.exists());
}

#[tokio::test]
async fn uncomparable_sides_are_reported() {
    let (stack, client) = serve(Repo::new().file("a", "1\n")).await;
    let code = async |arguments: Value| client.call("git_diff", arguments).await.code().to_owned();
    assert_eq!(code(json!({})).await, "not_a_git_repository");
    assert_eq!(code(json!({ "ref2": "HEAD" })).await, "invalid_arguments");
    let folder = stack.folder("acme", "site");
    Repo::new().file("a", "1\n").commit().build(&folder);
    assert_eq!(code(json!({ "ref1": "none" })).await, "revision_not_found");
    assert_eq!(code(json!({ "file_path": "../a" })).await, "access_denied");
    assert_eq!(
        code(json!({ "context_lines": 101 })).await,
        "invalid_arguments"
    );
}

#[tokio::test]
async fn a_bare_repository_says_that_it_has_no_work_tree() {
    let (stack, client) = serve(Repo::new()).await;
    let source = tempfile::tempdir().unwrap();
    build(source.path());
    let folder = stack.folder("acme", "site");
    let from = source.path().to_str().unwrap();
    git(&folder, &["clone", "-q", "--bare", from, "."]);
    let reply = client.call("git_diff", json!({ "ref1": "v1" })).await;
    assert_eq!(reply.code(), "invalid_arguments");
    assert!(reply.text().contains("bare"), "{}", reply.text());
    let both = diff(&client, json!({ "ref1": "v1", "ref2": "v2" })).await;
    assert_eq!(both.structured()["files_changed"], 6);
}

#[tokio::test]
async fn before_the_first_commit_all_that_is_tracked_was_added() {
    let (stack, client) = serve(Repo::new()).await;
    let folder = stack.folder("acme", "site");
    git(&folder, &["init", "-q"]);
    fs::write(folder.join("a"), "1\n").unwrap();
    git(&folder, &["add", "a"]);
    let reply = diff(&client, json!({})).await;
    assert_eq!(files(&reply), ["a () added +1 -0"]);
    assert_eq!(reply.structured()["base"], Value::Null);
}
