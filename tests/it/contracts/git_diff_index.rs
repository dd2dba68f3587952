//! `git_diff` of the work tree where the index holds more than a list of files: sparse checkouts, files
//! that git ignores on request, conflicts, modes that do not count.
//!
//! Each case is compared with `git diff HEAD` in the same folder, and with the expected lines.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use e2e::{Client, Repo, Stack, git};
use serde_json::json;

use super::git_diff::{diff, files};
use crate::serve;

/// Two folders with two files each, and a file outside of them.
async fn project() -> (Stack, Client, PathBuf) {
    let repo = Repo::new().file("in/a", "1\n").file("in/b", "1\n");
    let repo = repo.file("out/a", "1\n").file("out/b", "1\n");
    let (stack, client) = serve(repo.file("top", "1\n").commit()).await;
    let folder = stack.folder("acme", "site");
    (stack, client, folder)
}

/// Compares the diff with git's and with these lines: `path () status +insertions -deletions`.
async fn differs(client: &Client, folder: &Path, expected: &[&str]) {
    let reply = diff(client, json!({})).await;
    let shown = files(&reply);
    assert_eq!(shown, expected);
    let numbers = git(folder, &["diff", "HEAD", "-M", "--numstat"]);
    let gits: Vec<String> = numbers
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| {
            let words: Vec<&str> = line.split('\t').collect();
            format!("{} +{} -{}", words[2], words[0], words[1])
        })
        .collect();
    let ours: Vec<String> = shown
        .iter()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            format!("{} {} {}", words[0], words[3], words[4])
        })
        .collect();
    assert_eq!(ours, gits, "{}", reply.text());
}

#[tokio::test]
async fn outside_a_sparse_checkout_only_existing_files_can_differ() {
    for index in ["--no-sparse-index", "--sparse-index"] {
        let (_stack, client, folder) = project().await;
        git(&folder, &["sparse-checkout", "set", "--cone", index, "in"]);
        assert!(!folder.join("out").exists());
        let listed = git(&folder, &["ls-files", "--sparse"]);
        let is_one_entry = listed.lines().any(|line| line == "out/");
        assert_eq!(is_one_entry, index == "--sparse-index", "{listed}");
        differs(&client, &folder, &[]).await;
        fs::write(folder.join("in/b"), "2\n").unwrap();
        fs::create_dir(folder.join("out")).unwrap();
        fs::write(folder.join("out/new"), "2\n").unwrap();
        differs(&client, &folder, &["in/b () modified +1 -1"]).await;
        fs::write(folder.join("out/b"), "2\n3\n").unwrap();
        let both = ["in/b () modified +1 -1", "out/b () modified +2 -1"];
        differs(&client, &folder, &both).await;
    }
}

#[tokio::test]
async fn a_file_marked_unchanged_in_the_index_does_not_differ() {
    for (mark, unmark) in [
        ("--skip-worktree", "--no-skip-worktree"),
        ("--assume-unchanged", "--no-assume-unchanged"),
    ] {
        let (_stack, client, folder) = project().await;
        git(&folder, &["update-index", mark, "in/a", "in/b"]);
        fs::write(folder.join("in/a"), "2\n").unwrap();
        fs::remove_file(folder.join("in/b")).unwrap();
        fs::write(folder.join("top"), "2\n").unwrap();
        differs(&client, &folder, &["top () modified +1 -1"]).await;
        git(&folder, &["update-index", unmark, "in/a", "in/b"]);
        let all = [
            "in/a () modified +1 -1",
            "in/b () deleted +0 -1",
            "top () modified +1 -1",
        ];
        differs(&client, &folder, &all).await;
    }
}

#[tokio::test]
async fn a_conflict_is_compared_as_it_is_in_the_work_tree() {
    let (_stack, client, folder) = project().await;
    git(&folder, &["checkout", "-qb", "side"]);
    let commit = |files: &[(&str, &str)], gone: &str| {
        for (path, text) in files {
            fs::write(folder.join(path), text).unwrap();
        }
        git(&folder, &["rm", "-q", gone]);
        git(&folder, &["add", "-A"]);
        git(&folder, &["commit", "-qm", gone]);
    };
    commit(
        &[("top", "side\n"), ("new", "side\n"), ("in/b", "side\n")],
        "in/a",
    );
    git(&folder, &["checkout", "-q", "main"]);
    commit(
        &[("top", "main\n"), ("new", "main\n"), ("in/a", "main\n")],
        "in/b",
    );
    let merge = std::process::Command::new("git")
        .current_dir(&folder)
        .args([
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@b.c",
            "merge",
            "-q",
            "side",
        ])
        .output();
    assert!(!merge.unwrap().status.success(), "there are conflicts");
    let unmerged = git(&folder, &["ls-files", "--unmerged"]);
    for path in ["in/a", "in/b", "new", "top"] {
        assert!(unmerged.contains(path), "{path}: {unmerged}");
    }
    // Two files contain both sides. Files deleted on one side have the content of the other.
    let reply = diff(&client, json!({ "file_path": "top" })).await;
    let patch = reply.structured()["files"][0]["patch"].as_str().unwrap();
    assert!(
        patch.contains("+<<<<<<< HEAD\n main\n+=======\n+side\n"),
        "{patch}"
    );
    let conflicts = [
        "in/b () added +1 -0",
        "new () modified +4 -0",
        "top () modified +4 -0",
    ];
    differs(&client, &folder, &conflicts).await;
    fs::write(folder.join("new"), "main\n").unwrap();
    fs::write(folder.join("in/a"), "side\n").unwrap();
    fs::remove_file(folder.join("in/b")).unwrap();
    fs::remove_file(folder.join("top")).unwrap();
    let edited = ["in/a () modified +1 -1", "top () deleted +0 -1"];
    differs(&client, &folder, &edited).await;
}

#[tokio::test]
async fn where_modes_of_files_do_not_count_the_index_has_them() {
    let (_stack, client, folder) = project().await;
    let set = |mode: u32| {
        fs::set_permissions(folder.join("top"), Permissions::from_mode(mode)).unwrap();
    };
    set(0o755);
    differs(&client, &folder, &["top () modified +0 -0"]).await;
    git(&folder, &["config", "core.fileMode", "false"]);
    differs(&client, &folder, &[]).await;
    fs::write(folder.join("top"), "2\n").unwrap();
    let reply = diff(&client, json!({})).await;
    assert!(
        reply.structured()["files"][0].get("mode").is_none(),
        "{}",
        reply.text()
    );
    differs(&client, &folder, &["top () modified +1 -1"]).await;
    set(0o644);
    git(&folder, &["update-index", "--chmod=+x", "top"]);
    let reply = diff(&client, json!({})).await;
    let file = &reply.structured()["files"][0];
    assert_eq!(
        (&file["old_mode"], &file["mode"]),
        (&json!("100644"), &json!("100755"))
    );
}

#[tokio::test]
async fn without_symlink_support_a_file_represents_a_link() {
    let (_stack, client, folder) = project().await;
    let link = folder.join("link");
    std::os::unix::fs::symlink("top", &link).unwrap();
    git(&folder, &["add", "link"]);
    git(&folder, &["commit", "-qm", "a link"]);
    fs::remove_file(&link).unwrap();
    fs::write(&link, "top").unwrap();
    differs(&client, &folder, &["link () type_changed +0 -0"]).await;
    git(&folder, &["config", "core.symlinks", "false"]);
    differs(&client, &folder, &[]).await;
    fs::write(&link, "in/a").unwrap();
    differs(&client, &folder, &["link () modified +1 -1"]).await;
}
