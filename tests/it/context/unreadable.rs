//! A file that cannot be read for a moment is found again, and no other file is lost for it.

use std::fs;

use e2e::{Stack, git, http::Request};
use serde_json::json;

use super::{indexed, owner, paths, repo, search, until};

const STORY: &str = "the lighthouse keeper counted ships in the fog\n";

/// Waits until the index has this state.
async fn stands(stack: &Stack, so: &str) {
    let owner = owner(stack).await;
    let query = format!("select count(*) from indexes where {so}");
    stack
        .eventually(async || {
            let count = sqlx::query_scalar(sqlx::AssertSqlSafe(query.clone()));
            let count: i64 = count.fetch_one(&owner).await.unwrap();
            (count > 0).then_some(())
        })
        .await;
    owner.close().await;
}

#[tokio::test]
async fn an_object_missing_at_indexing_is_found_once_present() {
    let (stack, client) = indexed(repo()).await;
    let ships = json!({ "query": "lighthouse keeper counted ships in the fog" });
    search(&stack, &client, ships.clone()).await;
    let folder = stack.folder("acme", "site");
    fs::write(folder.join("story.txt"), STORY).unwrap();
    git(&folder, &["add", "story.txt"]);
    let said = |arguments: &[&str]| git(&folder, arguments).trim().to_owned();
    let blob = said(&["hash-object", "story.txt"]);
    let tree = said(&["write-tree"]);
    let commit = said(&["commit-tree", "-p", "HEAD", "-m", "story", &tree]);
    let (start, rest) = blob.split_at(2);
    let object = folder.join(".git/objects").join(start).join(rest);
    let aside = folder.join(".git/aside");
    fs::rename(&object, &aside).unwrap();
    git(&folder, &["update-ref", "HEAD", &commit]);
    stands(&stack, &format!("commit_id = '{commit}' and done < total")).await;
    let reply = search(&stack, &client, ships.clone()).await;
    assert!(!paths(&reply).contains(&"story.txt"), "{}", reply.value());

    fs::rename(&aside, &object).unwrap();
    let owner = owner(&stack).await;
    let asked = "update indexes set asked_at = clock_timestamp()";
    sqlx::query(asked).execute(&owner).await.unwrap();
    owner.close().await;
    until(&stack, &client, ships, |found| found["path"] == "story.txt").await;
    stands(&stack, "done = total").await;
}

#[tokio::test]
async fn a_head_that_can_not_be_read_for_a_moment_empties_no_index() {
    let (stack, client) = indexed(repo()).await;
    let password = json!({ "query": "verify the password of a user" });
    search(&stack, &client, password.clone()).await;
    let head = stack.folder("acme", "site").join(".git/HEAD");
    let good = fs::read(&head).unwrap();
    fs::write(&head, "garbage").unwrap();
    stands(
        &stack,
        "failure like 'the repository is not used%' and total > 0",
    )
    .await;
    let reply = search(&stack, &client, password.clone()).await;
    assert!(
        reply.is_error(),
        "nothing found is another answer: {}",
        reply.value()
    );

    fs::write(&head, good).unwrap();
    let reply = search(&stack, &client, password).await;
    assert_eq!(paths(&reply)[0], "src/auth/password.rs");
    stands(&stack, "failure is null").await;
}

#[tokio::test]
async fn an_indexed_project_that_becomes_unreadable_is_reported() {
    let (stack, client) = indexed(repo()).await;
    let password = json!({ "query": "verify the password of a user" });
    search(&stack, &client, password).await.structured();
    let unreadable = async |count: u8| {
        let line = format!("archway_worker_index_projects_unreadable {count}\n");
        let is_told = async || {
            let admin = stack.worker_admins()[0];
            let metrics = Request::new("GET", "/metrics").send(admin).await.text();
            metrics.contains(&line).then_some(())
        };
        stack.eventually(is_told).await;
    };
    unreadable(0).await;
    // As a program leaves it that was interrupted between two steps.
    let folder = stack.folder("acme", "site");
    let aside = folder.with_file_name(".aside");
    fs::rename(&folder, &aside).unwrap();
    std::os::unix::fs::symlink("nowhere", &folder).unwrap();
    unreadable(1).await;
    fs::remove_file(&folder).unwrap();
    fs::rename(&aside, &folder).unwrap();
    unreadable(0).await;
}
