//! An index follows the path rules as it follows HEAD: opened files are found, closed ones disappear at
//! once and take no place among the results.

use std::fs;

use archway::tenants::{ProjectSettings, Tenants};
use e2e::{Repo, Stack};
use serde_json::{Value, json};

use super::{hold, indexed, owner, paths, repo, search, until};

const LINE: &str = "the treasure is buried under the sesame tree\n";
/// More files than either list of candidates holds.
const MANY: usize = 120;

fn treasure() -> Value {
    json!({ "query": "treasure under the sesame tree", "limit": 20 })
}

fn is_at(path: &str) -> impl Fn(&Value) -> bool {
    move |result| result["path"] == path
}

/// Sets what `archway project set` sets.
async fn set(stack: &Stack, settings: ProjectSettings) {
    let tenants = Tenants::new(owner(stack).await);
    let tenant = stack.tenant_id("acme");
    let setting = tenants.change(async |tx| {
        let project = tx.find_project(tenant, "site").await?;
        tx.set_project(project.id, &settings).await
    });
    setting.await.unwrap();
}

/// Waits until the index contains a file, or no longer contains it.
async fn has(stack: &Stack, path: &str, is_there: bool) {
    let owner = owner(stack).await;
    let count = "select count(*) from index_documents where name = $1";
    stack
        .eventually(async || {
            let count = sqlx::query_scalar(count).bind(path.as_bytes());
            let count: i64 = count.fetch_one(&owner).await.unwrap();
            ((count == 1) == is_there).then_some(())
        })
        .await;
    owner.close().await;
}

/// Many files that match best, and an open one that matches less.
fn crowd(repo: Repo) -> Repo {
    let long = "a long story of other things that happened in the hills\n".repeat(20);
    let repo = repo.file("open.txt", format!("{long}{LINE}"));
    let file =
        |repo: Repo, number| repo.file(&format!("vault/{number}.txt"), format!("{number} {LINE}"));
    (0..MANY).fold(repo, file).commit()
}

#[tokio::test]
async fn a_file_that_the_operator_opens_is_found_without_a_new_commit() {
    let repo = repo().file("secrets/map.txt", LINE).commit();
    let (stack, client) = indexed(repo).await;
    let reply = search(&stack, &client, treasure()).await;
    assert!(!paths(&reply).contains(&"secrets/map.txt"));
    let opened = ProjectSettings {
        open: vec!["secrets/map.txt".to_owned()],
        ..ProjectSettings::default()
    };
    set(&stack, opened).await;
    let reply = until(&stack, &client, treasure(), is_at("secrets/map.txt")).await;
    assert_eq!(paths(&reply)[0], "secrets/map.txt");
    assert_eq!(reply.structured()["index"]["behind"], 0);
}

#[tokio::test]
async fn paths_denied_in_the_work_tree_leave_the_index_and_come_back() {
    let repo = repo().file("vault/map.txt", LINE).commit();
    let (stack, client) = indexed(repo).await;
    search(&stack, &client, treasure()).await;
    has(&stack, "vault/map.txt", true).await;
    let manifest = stack.folder("acme", "site").join(".archway.toml");
    for _ in 0..2 {
        fs::write(&manifest, "deny = ['vault/']\n").unwrap();
        // At once, without a new index run.
        let reply = client.call("context_search", treasure()).await;
        assert!(!paths(&reply).contains(&"vault/map.txt"));
        has(&stack, "vault/map.txt", false).await;
        fs::remove_file(&manifest).unwrap();
        until(&stack, &client, treasure(), is_at("vault/map.txt")).await;
    }
}

#[tokio::test]
async fn closed_files_take_no_place_among_the_results() {
    let (stack, client) = indexed(crowd(repo())).await;
    let reply = search(&stack, &client, treasure()).await;
    assert!(paths(&reply).iter().all(|path| path.starts_with("vault/")));
    let owner = owner(&stack).await;
    hold(&stack, &owner, "1 hour").await;
    let manifest = stack.folder("acme", "site").join(".archway.toml");
    fs::write(&manifest, "deny = ['vault/']\n").unwrap();
    let reply = client.call("context_search", treasure()).await;
    assert_eq!(paths(&reply)[0], "open.txt");
    assert!(
        reply.structured()["totalFound"].as_u64() < Some(10),
        "{reply:?}"
    );

    fs::remove_file(&manifest).unwrap();
    let closed = ProjectSettings {
        close: vec!["vault/".to_owned()],
        ..ProjectSettings::default()
    };
    set(&stack, closed).await;
    let reply = until(&stack, &client, treasure(), is_at("open.txt")).await;
    assert_eq!(paths(&reply)[0], "open.txt");
    owner.close().await;
}
