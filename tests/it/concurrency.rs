//! Concurrent calls: none waits for another longer than the work takes.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use e2e::{Harness, Repo, Tenant};
use serde_json::json;

use crate::serve;

const FOLDERS: usize = 1_200;
const CLIENTS: usize = 10;
const CALLS_EACH: usize = 5;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_of_a_tree_that_changes_under_them_all_end_in_time() {
    let paths: Vec<String> = (0..FOLDERS).map(|n| format!("d{n}/a.txt")).collect();
    let files = paths.iter().map(|path| (path.as_str(), "needle\n"));
    let (stack, client) = serve(Repo::new().files(files).commit()).await;
    let folder = stack.folder("acme", "site");
    let done = Arc::new(AtomicBool::new(false));
    let writer = std::thread::spawn({
        let done = Arc::clone(&done);
        move || {
            let mut written = 0_usize;
            while !done.load(Ordering::Relaxed) {
                let at = folder.join(format!("d{}/b.txt", written % FOLDERS));
                fs::write(&at, "other\n").unwrap();
                fs::remove_file(&at).unwrap();
                written += 1;
                std::thread::yield_now();
            }
        }
    });
    let mut calls = Vec::new();
    for _ in 0..CLIENTS {
        let client = client.clone();
        calls.push(tokio::spawn(async move {
            for _ in 0..CALLS_EACH {
                let reply = client
                    .call("grep_codebase", json!({ "pattern": "needle" }))
                    .await;
                assert!(!reply.is_error(), "{}", reply.value());
                assert!(reply.meta("incomplete").is_null(), "{}", reply.value());
                assert_eq!(reply.structured()["totalMatches"], FOLDERS);
            }
        }));
    }
    for call in calls {
        call.await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    writer.join().unwrap();
}

#[tokio::test]
async fn a_missing_folder_is_reported_with_the_time_it_went_missing() {
    let acme = Tenant::new("acme").project("site", Repo::new().file("a.txt", "a\n").commit());
    let stack = Harness::new().tenant(acme).start().await;
    let (client, folder) = (stack.client("acme"), stack.folder("acme", "site"));
    let aside = folder.with_extension("aside");
    let read = async || client.call("read_file", json!({ "path": "a.txt" })).await;
    let away = async || {
        let reply = read().await;
        assert_eq!(reply.code(), "unavailable", "{}", reply.value());
        let error = reply.error().clone();
        let since = error["details"]["since"].as_str().unwrap().to_owned();
        let (to_the_second, _) = since.split_once('.').unwrap();
        let said = format!("the folder of project site has not been there since {to_the_second}Z");
        assert_eq!(error["message"], said);
        assert_eq!(
            error["suggestion"],
            "try again in 60 seconds; if it does not come, ask the operator for the folder"
        );
        assert_eq!(error["details"]["retry_after_seconds"], 60);
        let host = stack.repositories().to_str().unwrap();
        assert!(!reply.text().contains(host), "{}", reply.text());
        since
    };
    assert!(!read().await.is_error());
    fs::rename(&folder, &aside).unwrap();
    let (first, second) = (away().await, away().await);
    assert_eq!(first, second, "it is the same absence");
    fs::rename(&aside, &folder).unwrap();
    assert!(!read().await.is_error());
    fs::rename(&folder, &aside).unwrap();
    assert!(away().await > first, "it is another absence");
}

#[tokio::test]
async fn an_unmounted_project_is_named_and_the_others_are_searched() {
    let repo = || Repo::new().file("a.txt", "needle\n").commit();
    let acme = Tenant::new("acme")
        .project("here", repo())
        .project("gone", repo());
    let stack = Harness::new().tenant(acme).start().await;
    fs::remove_dir_all(stack.folder("acme", "gone")).unwrap();
    let client = stack.client("acme");
    for tool in ["grep_codebase", "search_files"] {
        let reply = client
            .call(tool, json!({ "pattern": "needle", "project": "*" }))
            .await;
        let found = reply.structured();
        let skipped = found
            .get("skippedProjects")
            .or(found.get("skipped_projects"));
        assert_eq!(skipped, Some(&json!(["gone"])), "{found}");
        assert_eq!(
            (&found["matches"][0]["project"], &found["truncated"]),
            (&json!("here"), &json!(true))
        );
    }
}
