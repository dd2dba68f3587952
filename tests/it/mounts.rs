//! What a project's folder may be: a work tree, a bare repository, a folder behind a link, as of git-sync;
//! and what a hostile one cannot do.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::Command,
};

use e2e::{Client, Harness, Repo, Stack, Tenant, git, sample_calls};
use serde_json::{Value, json};

/// A project with an empty folder, which the test fills.
async fn empty() -> (Stack, Client, std::path::PathBuf) {
    let acme = Tenant::new("acme").project("site", Repo::new());
    let stack = Harness::new().tenant(acme).indexing().start().await;
    let (client, folder) = (stack.client("acme"), stack.folder("acme", "site"));
    (stack, client, folder)
}

fn built(repo: Repo, folder: &Path) -> String {
    repo.commit().build(folder);
    git(folder, &["rev-parse", "HEAD"])
}

async fn content(client: &Client, path: &str) -> (String, Value) {
    let reply = client.call("read_file", json!({ "path": path })).await;
    let text = reply.structured()["file"]["content"]
        .as_str()
        .unwrap()
        .to_owned();
    (text, reply.meta("commit")["id"].clone())
}

#[tokio::test]
async fn every_call_follows_the_link_current_again() {
    let (_stack, client, folder) = empty().await;
    let one = built(
        Repo::new().file("a.txt", "one\n"),
        &folder.join("worktrees/1"),
    );
    let two = built(
        Repo::new().file("a.txt", "two\n").file("b.txt", "new\n"),
        &folder.join("worktrees/2"),
    );
    symlink("worktrees/1", folder.join("current")).unwrap();
    assert_eq!(
        content(&client, "a.txt").await,
        ("one\n".to_owned(), json!(one))
    );
    symlink("worktrees/2", folder.join("next")).unwrap();
    fs::rename(folder.join("next"), folder.join("current")).unwrap();
    assert_eq!(
        content(&client, "a.txt").await,
        ("two\n".to_owned(), json!(two))
    );
    let list = client.call("list_files", json!({})).await;
    assert_eq!(list.structured()["total_count"], 2, "{}", list.value());
}

#[tokio::test]
async fn a_current_that_leads_out_of_the_tenants_mount_is_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    built(Repo::new().file("a.txt", "sesame\n"), outside.path());
    let (_stack, client, folder) = empty().await;
    symlink(outside.path(), folder.join("current")).unwrap();
    for (tool, arguments) in [
        ("read_file", json!({ "path": "a.txt" })),
        ("read_file", json!({ "path": "current/a.txt" })),
        ("list_files", json!({ "directory": "current" })),
    ] {
        let reply = client.call(tool, arguments.clone()).await;
        assert!(reply.is_error(), "{tool} {arguments}: {}", reply.value());
    }
    let grep = client
        .call("grep_codebase", json!({ "pattern": "sesame" }))
        .await;
    assert!(
        grep.is_error() || grep.structured()["totalMatches"] == 0,
        "{}",
        grep.value()
    );
}

#[tokio::test]
async fn a_bare_repository_is_served_from_its_head() {
    let (_stack, client, folder) = empty().await;
    let origin = tempfile::tempdir().unwrap();
    let repo = Repo::new()
        .file(".gitignore", "*.log\n")
        .file("docs/a.md", "sesame\n")
        .file(".env", "sesame\n")
        .link("out", "/etc/passwd");
    let head = built(repo, origin.path());
    fs::remove_dir(&folder).unwrap();
    let (from, to) = (origin.path().to_str().unwrap(), folder.to_str().unwrap());
    git(origin.path(), &["clone", "--quiet", "--bare", from, to]);

    assert_eq!(
        content(&client, "docs/a.md").await,
        ("sesame\n".to_owned(), json!(head))
    );
    let list = client.call("list_files", json!({})).await;
    assert_eq!(
        list.structured()["total_count"],
        2,
        "docs and docs/a.md: {}",
        list.value()
    );
    // The committer's time: a bare repository has no other, for folders and files alike.
    for entry in list.structured()["files"].as_array().unwrap() {
        let time = entry["modified_at"].as_str().unwrap_or_default();
        assert!(time.starts_with("2026-01-02T03:04:05"), "{entry}");
    }
    let grep = client
        .call("grep_codebase", json!({ "pattern": "sesame" }))
        .await;
    assert_eq!(grep.structured()["totalMatches"], 1, "{}", grep.value());
    for path in [".env", "out", "HEAD", "refs/heads/main"] {
        let reply = client.call("read_file", json!({ "path": path })).await;
        assert!(reply.is_error(), "{path}: {}", reply.value());
    }
    let overview = client.call("get_repo_overview", json!({})).await;
    assert_eq!(overview.structured()["stats"]["total_files"], 1);
}

#[tokio::test]
async fn a_git_folder_that_lies_elsewhere_is_no_git_folder() {
    let (_stack, client, folder) = empty().await;
    let outside = tempfile::tempdir().unwrap();
    built(Repo::new().file("a.txt", "a\n"), outside.path());
    fs::write(folder.join("a.txt"), "own\n").unwrap();
    let gitdir = format!("gitdir: {}\n", outside.path().join(".git").display());
    fs::write(folder.join(".git"), gitdir).unwrap();
    assert_eq!(
        content(&client, "a.txt").await,
        ("own\n".to_owned(), Value::Null)
    );
}

#[tokio::test]
async fn borrowed_objects_from_elsewhere_are_not_read() {
    let (_stack, client, folder) = empty().await;
    let outside = tempfile::tempdir().unwrap();
    built(Repo::new().file("a.txt", "a\n"), outside.path());
    built(Repo::new().file("b.txt", "b\n"), &folder);
    let objects = format!("{}\n", outside.path().join(".git/objects").display());
    fs::write(folder.join(".git/objects/info/alternates"), objects).unwrap();
    assert_eq!(
        content(&client, "b.txt").await,
        ("b\n".to_owned(), Value::Null)
    );
}

/// Settings of a repository that name a command for git to run.
const COMMANDS: [&str; 16] = [
    "core.fsmonitor",
    "core.sshCommand",
    "core.pager",
    "core.editor",
    "core.alternateRefsCommand",
    "core.gitProxy",
    "credential.helper",
    "diff.external",
    "diff.evil.command",
    "diff.evil.textconv",
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "gpg.program",
    "merge.evil.driver",
    "uploadpack.packObjectsHook",
];

/// Makes a repository hostile: whatever git might run for it leaves a trace.
fn arm(folder: &Path, trace: &Path) {
    let run = format!("touch {}", trace.display());
    let included = folder.join(".git/included");
    let settings: String = COMMANDS
        .iter()
        .filter_map(|setting| setting.rsplit_once('.'))
        .map(|(section, name)| match section.split_once('.') {
            Some((section, part)) => format!("[{section} \"{part}\"]\n{name} = {run}\n"),
            None => format!("[{section}]\n{name} = {run}\n"),
        })
        .collect();
    fs::write(&included, &settings).unwrap();
    let config = folder.join(".git/config");
    let own = fs::read_to_string(&config).unwrap();
    let include = format!("[include]\npath = {}\n", included.display());
    fs::write(&config, format!("{own}{settings}{include}")).unwrap();
    for hook in [
        "post-checkout",
        "post-index-change",
        "fsmonitor-watchman",
        "reference-transaction",
    ] {
        let hook = folder.join(".git/hooks").join(hook);
        fs::write(&hook, format!("#!/bin/sh\n{run}\n")).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[tokio::test]
async fn nothing_that_a_repositorys_configuration_names_is_run() {
    let (stack, client, folder) = empty().await;
    let attributes = "* filter=evil diff=evil merge=evil\n";
    let repo = Repo::new().file(".gitattributes", attributes);
    built(sample_calls::fixture(repo), &folder);
    let trace = stack.repositories().join("ran");
    arm(&folder, &trace);
    fs::write(folder.join("treasure.txt"), "changed\nchanged\n").unwrap();
    for samples in sample_calls::of_listed(&client).await {
        let tool = samples.tool;
        for arguments in samples.arguments {
            let ask = async || {
                let reply = client.call(tool, arguments.clone()).await;
                let is_indexed = !reply.is_error() || reply.code() != "index_not_ready";
                is_indexed.then_some(reply)
            };
            let reply = stack.eventually(ask).await;
            assert!(!reply.is_error(), "{tool}: {}", reply.value());
            assert!(!trace.exists(), "{tool} ran a command of the repository");
        }
    }
    let dirty = stack.eventually(async || {
        let reply = client.call("list_files", json!({})).await;
        reply.meta("commit").get("dirty").cloned()
    });
    assert_eq!(dirty.await, true);
    assert!(
        !trace.exists(),
        "the status ran a command of the repository"
    );
    // It may fail at the command that it ran.
    let status = Command::new("git")
        .arg("status")
        .current_dir(&folder)
        .output();
    assert!(status.is_ok());
    assert!(trace.exists(), "git itself would have run one");
}

#[tokio::test]
async fn an_unmounted_project_is_not_found_and_reveals_no_path() {
    let (stack, client, folder) = empty().await;
    fs::remove_dir(&folder).unwrap();
    let reply = client.call("list_files", json!({})).await;
    assert!(reply.is_error(), "{}", reply.value());
    assert!(
        !reply
            .value()
            .to_string()
            .contains(&stack.repositories().display().to_string())
    );
}
