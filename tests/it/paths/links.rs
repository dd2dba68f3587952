//! Symbolic links that leave, dangle, loop or are swapped during a call; and special files.

use std::{
    fs,
    os::unix::fs::symlink,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use e2e::Repo;
use serde_json::json;

use super::by_every_opening_tool;
use crate::serve;

#[tokio::test]
async fn a_link_that_leaves_dangles_or_loops_is_denied_and_never_shown() {
    let bad = [
        ("docs/absolute", "/etc/passwd"),
        ("docs/up", "../../../../../../etc/passwd"),
        ("docs/etc", "/etc"),
        ("docs/dangling", "nowhere"),
        ("docs/loop", "loop"),
        ("docs/ping", "pong"),
        ("docs/pong", "ping"),
        ("docs/root", "/proc/self/root"),
        ("docs/fd", "/proc/self/fd"),
        ("docs/self", "/"),
        ("docs/innocent.txt", "../.env"),
        ("docs/folder", "../secrets"),
        ("docs/repo", "../.git"),
    ];
    let start = Repo::new()
        .file("docs/a.txt", "a\n")
        .file("real/b.txt", "b\n")
        .commit();
    let start = start
        .file(".env", "sesame\n")
        .file("secrets/x.txt", "sesame\n");
    let repo = bad
        .into_iter()
        .fold(start, |repo, (path, target)| repo.link(path, target));
    let (_stack, client) = serve(repo).await;
    for (path, target) in bad {
        for (tool, reply) in by_every_opening_tool(&client, path).await {
            assert_eq!(
                reply.code(),
                "access_denied",
                "{tool} {path} → {target}: {}",
                reply.value()
            );
        }
    }
    for path in [
        "docs/etc/passwd",
        "docs/root/etc/passwd",
        "docs/self/etc/passwd",
        "docs/folder/x.txt",
        "docs/repo/config",
        "docs/etc/no-such-file",
    ] {
        let reply = client.call("read_file", json!({ "path": path })).await;
        assert_eq!(reply.code(), "access_denied", "{path}: {}", reply.value());
    }
    let list = client
        .call(
            "list_files",
            json!({ "include_hidden": true, "max_depth": 10 }),
        )
        .await;
    assert_eq!(
        list.structured()["total_count"],
        4,
        "two folders, two files: {}",
        list.value()
    );
    let overview = client
        .call("get_repo_overview", json!({ "max_depth": 5 }))
        .await;
    assert_eq!(overview.structured()["stats"]["total_files"], 2);
    let grep = client
        .call("grep_codebase", json!({ "pattern": "sesame|root" }))
        .await;
    assert_eq!(grep.structured()["totalMatches"], 0, "{}", grep.value());
}

#[tokio::test]
async fn a_link_to_a_closed_path_is_denied_whatever_it_leads_to() {
    let repo = Repo::new()
        .file(".archway.toml", "deny = ['shut/']\n")
        .file("docs/a.txt", "a\n")
        .file("docs/shut/b.txt", "sesame\n")
        .file("config/.env", "sesame\n")
        .link("docs/file", "../config/.env")
        .link("docs/folder", "shut");
    let (stack, client) = serve(repo.commit()).await;
    let folder = stack.folder("acme", "site");
    let bare = folder.with_extension("bare");
    let mut seen = Vec::new();
    for files in ["work tree", "bare"] {
        // The last two are plain names, one that exists and one that does not.
        for path in ["docs/file", "docs/folder", "docs/shut", "shut"] {
            for (tool, reply) in by_every_opening_tool(&client, path).await {
                let said = (files, path, tool, reply.code().to_owned());
                seen.push(said);
            }
        }
        let (from, to) = (folder.to_str().unwrap(), bare.to_str().unwrap());
        if !bare.exists() {
            e2e::git(&folder, &["clone", "--quiet", "--bare", from, to]);
            fs::remove_dir_all(&folder).unwrap();
            fs::rename(&bare, &folder).unwrap();
        }
    }
    let others: Vec<_> = seen.iter().filter(|it| it.3 != "access_denied").collect();
    assert!(others.is_empty(), "{others:?}");
}

#[tokio::test]
async fn an_inner_link_is_shown_as_its_target_and_not_walked() {
    let repo = Repo::new()
        .file("real/a.txt", "sesame\n")
        .link("docs/file.txt", "../real/a.txt")
        .link("docs/dir", "../real")
        .link("docs/chain", "dir")
        .commit();
    let (_stack, client) = serve(repo).await;
    let list = client.call("list_files", json!({ "max_depth": 10 })).await;
    let seen: Vec<(&str, &str)> = list.structured()["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| {
            (
                file["path"].as_str().unwrap(),
                file["type"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("docs", "directory"),
            ("docs/chain", "directory"),
            ("docs/dir", "directory"),
            ("docs/file.txt", "file"),
            ("real", "directory"),
            ("real/a.txt", "file"),
        ]
    );
    for path in ["docs/file.txt", "docs/dir/a.txt", "docs/chain/a.txt"] {
        let reply = client.call("read_file", json!({ "path": path })).await;
        assert_eq!(reply.structured()["file"]["content"], "sesame\n", "{path}");
        assert_eq!(reply.structured()["file"]["path"], path);
    }
    let inside = client
        .call("list_files", json!({ "directory": "docs/dir" }))
        .await;
    assert_eq!(inside.structured()["files"][0]["path"], "docs/dir/a.txt");
    let grep = client
        .call("grep_codebase", json!({ "pattern": "sesame" }))
        .await;
    assert_eq!(grep.structured()["totalMatches"], 1, "{}", grep.value());
}

#[tokio::test]
async fn a_link_swapped_during_calls_never_shows_outside_content() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("a.txt"), "outside\n").unwrap();
    let repo = Repo::new()
        .file("real/a.txt", "inside\n")
        .link("swap", "real")
        .commit();
    let (stack, client) = serve(repo).await;
    let folder = stack.folder("acme", "site");
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = thread::spawn({
        let (stop, outside) = (Arc::clone(&stop), outside.path().to_owned());
        move || {
            let mut swaps = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                for target in [outside.as_path(), "real".as_ref()] {
                    symlink(target, folder.join("next")).unwrap();
                    fs::rename(folder.join("next"), folder.join("swap")).unwrap();
                    swaps += 1;
                }
            }
            swaps
        }
    });
    let (mut read, mut denied) = (0, 0);
    for _ in 0..300 {
        let reply = client
            .call("read_file", json!({ "path": "swap/a.txt" }))
            .await;
        if reply.is_error() {
            assert_eq!(reply.code(), "access_denied", "{}", reply.value());
            denied += 1;
        } else {
            assert_eq!(reply.structured()["file"]["content"], "inside\n");
            read += 1;
        }
        let grep = client
            .call("grep_codebase", json!({ "pattern": "outside" }))
            .await;
        assert_eq!(grep.structured()["totalMatches"], 0);
    }
    stop.store(true, Ordering::Relaxed);
    let swaps = swapper.join().unwrap();
    println!("{read} read, {denied} denied, {swaps} swaps");
    assert!(swaps > 100, "the swapper ran during the calls");
}

#[tokio::test]
async fn special_files_are_not_found_and_never_block() {
    let (stack, client) = serve(Repo::new().file("docs/a.txt", "a\n").commit()).await;
    let folder = stack.folder("acme", "site").join("docs");
    let made = std::process::Command::new("mkfifo")
        .arg(folder.join("pipe"))
        .status()
        .unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
    for path in ["docs/pipe", "docs/socket"] {
        for tool in ["read_file", "read_repo_file"] {
            let reply = client.call(tool, json!({ "path": path })).await;
            assert_eq!(
                reply.code(),
                "file_not_found",
                "{tool} {path}: {}",
                reply.value()
            );
        }
    }
    let list = client.call("list_files", json!({})).await;
    assert_eq!(list.structured()["total_count"], 2, "{}", list.value());
    let grep = client
        .call("grep_codebase", json!({ "pattern": "a" }))
        .await;
    assert_eq!(grep.structured()["filesSearched"], 1);
}
