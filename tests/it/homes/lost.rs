//! What a home lost is brought there again, with the next commit or without one.

use std::{fs, time::Duration};

use e2e::{Client, Harness, Qdrant, Repo, Stack, Tenant, git};
use serde_json::json;
use sqlx::PgPool;
use tokio::time::{Instant, sleep};

const QUERY: &str = "who opens the gate in the morning";

fn acme() -> Tenant {
    let gate = "/// Opens the gate in the morning.\npub fn open_gate() {}\n";
    let bell = "/// Rings the bell at noon.\npub fn ring_bell() {}\n";
    let repo = Repo::new()
        .file("src/gate.rs", gate)
        .file("src/bell.rs", bell);
    Tenant::new("acme").project("site", repo.commit())
}

/// Whether the gate is found now.
async fn is_found(client: &Client) -> bool {
    let reply = client
        .call("context_search", json!({ "query": QUERY }))
        .await;
    !reply.is_error() && reply.structured()["results"][0]["path"] == "src/gate.rs"
}

async fn is_indexed(stack: &Stack, client: &Client) {
    stack
        .eventually(async || is_found(client).await.then_some(()))
        .await;
}

#[tokio::test]
async fn a_collection_that_was_lost_is_filled_again_though_nobody_commits() {
    let qdrant = Qdrant::start().await;
    let stack = Harness::new().tenant(acme()).qdrant(&qdrant).start().await;
    let client = stack.client("acme");
    is_indexed(&stack, &client).await;
    let chunks = qdrant.chunks().await;
    qdrant.lose_everything();
    assert!(!is_found(&client).await, "it was lost");
    // A project is counted every 20 seconds.
    let deadline = Instant::now() + Duration::from_secs(90);
    while !is_found(&client).await {
        assert!(Instant::now() < deadline, "it is found again");
        sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(qdrant.chunks().await, chunks);
}

#[tokio::test]
async fn a_commit_brings_all_home_that_was_lost_and_not_just_what_is_new() {
    let qdrant = Qdrant::start().await;
    let stack = Harness::new().tenant(acme()).qdrant(&qdrant).start().await;
    let client = stack.client("acme");
    is_indexed(&stack, &client).await;
    qdrant.lose_everything();
    let folder = stack.folder("acme", "site");
    fs::write(folder.join("src/lamp.rs"), "pub fn light_lamp() {}\n").unwrap();
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "lamp"]);
    is_indexed(&stack, &client).await;
}

#[tokio::test]
async fn rows_that_went_come_back_with_the_next_commit_and_memory_follows() {
    let stack = Harness::new().tenant(acme()).indexing().start().await;
    let client = stack.client("acme");
    is_indexed(&stack, &client).await;
    let owner = PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    let rows = async || {
        let rows = sqlx::query_scalar::<_, i64>("select count(*) from index_pieces");
        rows.fetch_one(&owner).await.unwrap()
    };
    let before = rows().await;
    let one = "delete from index_pieces where blob = \
               (select blob from index_pieces order by blob limit 1)";
    sqlx::query(one).execute(&owner).await.unwrap();
    assert_eq!(rows().await, before - 1);
    let folder = stack.folder("acme", "site");
    fs::write(folder.join("src/lamp.rs"), "pub fn light_lamp() {}\n").unwrap();
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "lamp"]);
    let are_back = async || (rows().await == before + 1).then_some(());
    stack.eventually(are_back).await;
    is_indexed(&stack, &client).await;
    // Notes stay what they were: it is no longer lost.
    let lost = sqlx::query_scalar::<_, i64>("select count(*) from indexes where edition < 0");
    assert_eq!(lost.fetch_one(&owner).await.unwrap(), 0);
}
