//! Answers follow the files: no cache serves data older than the call.

use std::{
    fs::{self, File, FileTimes},
    time::{Duration, SystemTime},
};

use e2e::{Client, Harness, Repo, Tenant, git, sample_calls};
use serde_json::{Value, json};

use tokio::time::Instant;

use crate::serve;

async fn found(client: &Client, pattern: &str) -> u64 {
    let reply = client
        .call("grep_codebase", json!({ "pattern": pattern }))
        .await;
    reply.structured()["totalMatches"].as_u64().unwrap()
}

#[tokio::test]
async fn a_file_rewritten_with_the_same_size_and_time_is_searched_again() {
    let (stack, client) = serve(Repo::new().file("a.txt", "alpha\n").commit()).await;
    let path = stack.folder("acme", "site").join("a.txt");
    // Recent writes are not cached: first the file must be old enough.
    let settled = Duration::from_millis(300);
    stack
        .eventually(async || {
            let written = fs::metadata(&path).unwrap().modified().unwrap();
            (written + settled < SystemTime::now()).then_some(())
        })
        .await;
    for _ in 0..2 {
        assert_eq!(found(&client, "alpha").await, 1);
    }
    let written = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "omega\n").unwrap();
    let times = FileTimes::new().set_modified(written);
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_times(times)
        .unwrap();
    assert_eq!(
        (found(&client, "alpha").await, found(&client, "omega").await),
        (0, 1)
    );
}

#[tokio::test]
async fn files_that_come_and_go_do_so_in_the_next_answer() {
    let (stack, client) = serve(Repo::new().file("a.txt", "needle\n").commit()).await;
    let folder = stack.folder("acme", "site");
    for round in 1..=5_u64 {
        fs::create_dir_all(folder.join(format!("new{round}/deep"))).unwrap();
        fs::write(folder.join(format!("new{round}/deep/b.txt")), "needle\n").unwrap();
        assert_eq!(found(&client, "needle").await, 1 + round);
    }
    fs::write(folder.join(".gitignore"), "new*/\n").unwrap();
    assert_eq!(found(&client, "needle").await, 1, "ignored from now on");
    fs::remove_file(folder.join(".gitignore")).unwrap();
    fs::remove_dir_all(folder.join("new1")).unwrap();
    assert_eq!(found(&client, "needle").await, 5);
}

#[tokio::test]
async fn an_answer_names_its_commit_and_soon_whether_the_tree_is_dirty() {
    let (stack, client) = serve(Repo::new().file("a.txt", "one\n").commit()).await;
    let folder = stack.folder("acme", "site");
    let head = || git(&folder, &["rev-parse", "HEAD"]).trim().to_owned();
    let read = async || client.call("read_file", json!({ "path": "a.txt" })).await;
    let first = read().await;
    assert_eq!(
        first.meta("commit"),
        &json!({ "id": head() }),
        "no status was computed yet"
    );

    let dirty = async |wanted: bool| {
        let commit = read().await.meta("commit").clone();
        (commit["dirty"] == wanted).then_some(commit)
    };
    stack.eventually(async || dirty(false).await).await;
    fs::write(folder.join("a.txt"), "two\n").unwrap();
    stack.eventually(async || dirty(true).await).await;

    git(&folder, &["commit", "--quiet", "--all", "--message", "two"]);
    let reply = read().await;
    assert_eq!(
        reply.meta("commit")["id"],
        head(),
        "the next answer names the new commit"
    );
    assert_eq!(reply.structured()["file"]["content"], "two\n");
}

#[tokio::test]
async fn the_first_call_of_any_tool_makes_a_dirty_tree_known_within_5_s() {
    // A project for each tool, so that no other tool's call computes its status.
    let slug = |tool: &str| tool.replace('_', "-");
    let samples = sample_calls::table();
    let tools = samples.iter().filter(|samples| samples.names_commit);
    let calls: Vec<(&str, Value)> = tools
        .map(|samples| {
            (
                samples.tool,
                samples.in_project(&slug(samples.tool)).remove(0),
            )
        })
        .chain([("list_projects", json!({ "query": slug("list_projects") }))])
        .collect();
    let acme = calls.iter().fold(Tenant::new("acme"), |acme, (tool, _)| {
        acme.project(&slug(tool), sample_calls::fixture(Repo::new()))
    });
    let stack = Harness::new().tenant(acme).indexing().start().await;
    let client = stack.client("acme");
    sample_calls::of_listed(&client).await;
    for (tool, arguments) in calls {
        let slug = slug(tool);
        fs::write(stack.folder("acme", &slug).join("untracked"), "x").unwrap();
        let commit = async || {
            let reply = client.call(tool, arguments.clone()).await;
            if reply.is_error() {
                assert_eq!(reply.code(), "index_not_ready", "{}", reply.value());
                return None;
            }
            if tool == "list_projects" {
                return Some(reply.structured()["projects"][0]["commit"].clone());
            }
            assert_eq!(reply.meta("project"), &slug, "{tool}");
            Some(reply.meta("commit").clone())
        };
        stack.eventually(&commit).await;
        let first = Instant::now();
        let dirty = async || commit().await.filter(|commit| commit["dirty"] == true);
        let commit = stack.eventually(dirty).await;
        let head = git(&stack.folder("acme", &slug), &["rev-parse", "HEAD"]);
        assert_eq!(commit["id"], head, "{tool}");
        let took = first.elapsed();
        assert!(took < Duration::from_secs(5), "{tool}: {took:?}");
    }
}

#[tokio::test]
async fn an_answer_from_several_projects_or_none_names_no_project() {
    let repo = || Repo::new().file("a.txt", "sesame\n").commit();
    let acme = Tenant::new("acme")
        .project("site", repo())
        .project("shop", repo());
    let stack = Harness::new().tenant(acme).start().await;
    let client = stack.client("acme");
    for (tool, arguments) in [
        ("hello", json!({})),
        ("list_projects", json!({})),
        ("grep_codebase", json!({ "pattern": "x", "project": "*" })),
        ("search_files", json!({ "pattern": "x", "project": "*" })),
    ] {
        let reply = client.call(tool, arguments).await;
        let meta = reply.value()["_meta"].as_object().unwrap();
        assert!(!meta.contains_key("io.archway/project"), "{tool}: {meta:?}");
        assert!(meta["io.archway/commit"].is_null(), "{tool}: {meta:?}");
    }
}

#[tokio::test]
async fn a_read_is_counted_for_its_reader_off_the_path_of_the_call() {
    let (stack, client) = serve(Repo::new().file("a.txt", "one\n").commit()).await;
    for _ in 0..3 {
        client.call("read_file", json!({ "path": "a.txt" })).await;
    }
    let refused = client.call("read_file", json!({ "path": "b.txt" })).await;
    assert_eq!(refused.code(), "file_not_found");
    let owner = sqlx::PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    let counted = stack
        .eventually(async || {
            let rows: Vec<(String, i64)> = sqlx::query_as(
                "select path, count from file_accesses where principal like 'key:%'",
            )
            .fetch_all(&owner)
            .await
            .unwrap();
            (rows.iter().map(|(_, count)| count).sum::<i64>() == 3).then_some(rows)
        })
        .await;
    assert_eq!(counted, [("a.txt".to_owned(), 3)]);
}
