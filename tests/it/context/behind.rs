//! An index of another commit than HEAD: missing, behind, or next to a changed work tree.

use std::fs;
use std::path::Path;

use e2e::{Embeddings, Harness, Mishap, Repo, Tenant, git};
use serde_json::json;

use super::{AUTH, hold, indexed, owner, paths, repo, results, search, until};
use crate::serve;

fn commit(folder: &Path, path: &str, content: &str) {
    fs::write(folder.join(path), content).unwrap();
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-qm", "more"]);
}

#[tokio::test]
async fn without_an_index_the_error_has_progress_and_an_alternative() {
    let (_stack, client) = serve(repo()).await;
    let query = json!({ "query": "password of a user" });
    let refused = client.call("context_search", query).await;
    assert_eq!(refused.code(), "index_not_ready");
    let error = refused.error();
    assert_eq!(error["details"], json!({ "indexed": 0, "total": 0 }));
    let suggestion = error["suggestion"].as_str().unwrap();
    assert!(suggestion.contains("grep_codebase"), "{suggestion}");
}

#[tokio::test]
async fn a_partial_index_is_not_searched_and_reports_its_progress() {
    let service = Embeddings::start(64).await;
    service.always(Some(Mishap::Hang));
    let tenant = Tenant::new("acme").project("site", repo());
    let harness = Harness::new().tenant(tenant).indexing();
    let stack = harness.embedder(&service).start().await;
    let client = stack.client("acme");
    let query = json!({ "query": "password of a user" });
    let ask = async || {
        let refused = client.call("context_search", query.clone()).await;
        assert_eq!(refused.code(), "index_not_ready");
        let details = refused.error()["details"].clone();
        (details["total"] != 0).then_some((details, refused.text().to_owned()))
    };
    let (details, text) = stack.eventually(ask).await;
    assert_eq!(details, json!({ "indexed": 0, "total": 2 }));
    assert!(text.contains("0 of 2 files"), "{text}");
}

#[tokio::test]
async fn commits_behind_are_counted_while_another_worker_is_indexing() {
    let (stack, client) = indexed(repo()).await;
    let query = json!({ "query": "weather report", "limit": 20 });
    search(&stack, &client, query.clone()).await;
    let owner = owner(&stack).await;
    hold(&stack, &owner, "1 hour").await;
    let folder = stack.folder("acme", "site");
    let before = git(&folder, &["rev-parse", "HEAD"]);
    for (number, note) in [(1, "1 commit behind"), (2, "2 commits behind")] {
        commit(&folder, &format!("{number}.txt"), "snow\n");
        let reply = client.call("context_search", query.clone()).await;
        let index = &reply.structured()["index"];
        assert_eq!(index["behind"], number);
        assert_eq!(index["commit"], before, "as it was when it was whole");
        assert_eq!(reply.meta("commit")["id"], before);
        assert!(reply.text().contains(note), "{}", reply.text());
        assert!(!paths(&reply).iter().any(|path| path.ends_with(".txt")));
    }
    // The holder's lease ends no later than it states.
    let end = "update indexes set held_until = now() + interval '1 second'";
    sqlx::query(end).execute(&owner).await.unwrap();
    let snow = json!({ "query": "snow" });
    let reply = until(&stack, &client, snow, |found| found["path"] == "1.txt").await;
    assert_eq!(reply.structured()["index"]["behind"], 0);
    owner.close().await;
}

#[tokio::test]
async fn a_file_changed_in_the_work_tree_is_shown_as_committed_and_stale() {
    let (stack, client) = indexed(repo()).await;
    let query = json!({ "query": "is the password of this user right" });
    let reply = search(&stack, &client, query.clone()).await;
    assert!(results(&reply)[0].get("stale").is_none());
    let file = stack.folder("acme", "site").join("src/auth/password.rs");
    for change in [Some("fn other() {}\n"), None] {
        match change {
            Some(content) => fs::write(&file, content).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        let reply = client.call("context_search", query.clone()).await;
        let found = &results(&reply)[0];
        assert_eq!(
            (&found["path"], &found["stale"]),
            (&json!("src/auth/password.rs"), &json!(true))
        );
        assert!(
            found["content"]
                .as_str()
                .unwrap()
                .contains("constant_time_eq")
        );
        assert!(reply.text().contains("**Stale**"), "{}", reply.text());
    }
    // Line endings are git's choice.
    fs::write(&file, AUTH.replace('\n', "\r\n")).unwrap();
    let reply = client.call("context_search", query).await;
    assert!(results(&reply)[0].get("stale").is_none());
}

#[tokio::test]
async fn a_file_that_was_renamed_is_found_under_its_new_name_alone() {
    let (stack, client) = indexed(repo()).await;
    let query = json!({ "query": "is the password of this user right", "limit": 20 });
    search(&stack, &client, query.clone()).await;
    let folder = stack.folder("acme", "site");
    fs::create_dir_all(folder.join("src/login")).unwrap();
    git(
        &folder,
        &["mv", "src/auth/password.rs", "src/login/check.rs"],
    );
    git(&folder, &["commit", "-qm", "moved"]);
    let new = "src/login/check.rs";
    let reply = until(&stack, &client, query, |found| found["path"] == new).await;
    assert_eq!(paths(&reply)[0], new);
    assert!(!paths(&reply).contains(&"src/auth/password.rs"));
    let narrowed = json!({ "query": "password", "module": "login" });
    let reply = client.call("context_search", narrowed).await;
    assert_eq!(paths(&reply), [new]);
}

#[tokio::test]
async fn a_project_without_files_has_an_index_and_nothing_in_it() {
    let (stack, client) = indexed(Repo::new().commit()).await;
    let reply = search(&stack, &client, json!({ "query": "anything at all" })).await;
    assert_eq!(reply.structured()["totalFound"], 0);
    assert_eq!(reply.structured()["index"]["behind"], 0);
}

#[tokio::test]
async fn list_projects_shows_the_progress_of_each_index() {
    let service = Embeddings::start(64).await;
    service.always(Some(Mishap::Hang));
    let tenant = Tenant::new("acme").project("site", repo());
    let harness = Harness::new().tenant(tenant).indexing();
    let stack = harness.embedder(&service).start().await;
    let client = stack.client("acme");
    let is_so = async |expected: serde_json::Value| {
        stack
            .eventually(async || {
                let reply = client.call("list_projects", json!({})).await;
                (reply.structured()["projects"][0]["indexed"] == expected).then_some(())
            })
            .await;
    };
    is_so(json!({ "indexed": 0, "total": 2 })).await;
    service.always(None);
    is_so(json!({ "indexed": 2, "total": 2 })).await;
}

#[tokio::test]
async fn a_complete_index_reports_all_texts_and_no_run_progress() {
    let (stack, client) = indexed(repo()).await;
    search(&stack, &client, json!({ "query": "weather report" })).await;
    let owner = owner(&stack).await;
    let said = "select done, total from indexes";
    let said: (i64, i64) = sqlx::query_as(said).fetch_one(&owner).await.unwrap();
    assert_eq!(said, (2, 2), "the run was over before it said anything");
    owner.close().await;
}
