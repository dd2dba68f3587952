//! An erased entry is gone but keeps its position, and a removed project takes its memory along.

use archway::tenants::Tenants;
use e2e::{Repo, Stack};
use serde_json::json;
use sqlx::PgPool;

use super::{append, entry};
use crate::serve;

async fn owner(stack: &Stack) -> PgPool {
    PgPool::connect_with(stack.database().owner())
        .await
        .unwrap()
}

/// The same as `archway memory erase`.
async fn erase(stack: &Stack, what: &str) -> Result<(), String> {
    let tenants = Tenants::new(owner(stack).await);
    let tenant = stack.tenant_id("acme");
    let what = what.parse().unwrap();
    let erasing = tenants.change(async |tx| {
        let project = tx.find_project(tenant, "site").await?;
        tx.erase_memory(tenant, project.id, &what, "a secret").await
    });
    erasing.await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn an_erased_entry_leaves_a_tombstone_and_counts_go_on() {
    let (stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    for event in ["one", "sesame", "three"] {
        append(&client, entry(event)).await.structured();
    }
    erase(&stack, "progress_log.jsonl/2").await.unwrap();
    let again = erase(&stack, "progress_log.jsonl/2").await.unwrap_err();
    assert!(again.contains("progress_log.jsonl/2"), "{again}");
    let all = client.call("search_memory", json!({})).await;
    assert_eq!(all.structured()["total"], 3);
    let gone = &all.structured()["entries"][1];
    assert_eq!(gone["number"], 2);
    assert!(gone["entry"]["erased_at"].is_string(), "{gone}");
    let found = client
        .call("search_memory", json!({ "query": "sesame" }))
        .await;
    assert_eq!(found.structured()["total"], 0);
    let next = append(&client, entry("four")).await;
    assert_eq!(next.structured()["entry_count"], 4);

    let owner = owner(&stack).await;
    let kept: Vec<(String, String)> = sqlx::query_as("select what, reason from memory_erasures")
        .fetch_all(&owner)
        .await
        .unwrap();
    assert_eq!(
        kept,
        [("progress_log.jsonl/2".to_owned(), "a secret".to_owned())]
    );
    let bytes: bool = sqlx::query_scalar(
        "select bytes = (select sum(octet_length(entry)) from memory_entries) from memory_logs",
    )
    .fetch_one(&owner)
    .await
    .unwrap();
    assert!(bytes, "the room it took is free");
    owner.close().await;
}

#[tokio::test]
async fn an_erased_discovery_keeps_its_id_for_its_successors() {
    let (stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    let record = async |more: serde_json::Value| {
        let mut discovery = json!({ "type": "rule", "content": "sesame" });
        discovery
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        client.call("record_discovery", discovery).await
    };
    let first = record(json!({ "module": "auth", "paths": ["src/./a.rs"] })).await;
    let id = first.structured()["id"].as_str().unwrap();
    erase(&stack, &format!("discoveries/{id}")).await.unwrap();
    record(json!({ "supersedes": id })).await.structured();
    let owner = owner(&stack).await;
    let left: i64 = sqlx::query_scalar(
        "select count(*) from discoveries where erased_at is not null and content = '' \
         and module is null and paths = '{}'",
    )
    .fetch_one(&owner)
    .await
    .unwrap();
    assert_eq!(left, 1);
    owner.close().await;
}

#[tokio::test]
async fn a_purged_project_takes_its_memory_with_it() {
    let (stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    append(&client, entry("one")).await.structured();
    let first = json!({ "type": "rule", "content": "x" });
    let first = client.call("record_discovery", first).await;
    let second = json!({ "type": "rule", "content": "y", "supersedes": first.structured()["id"] });
    client.call("record_discovery", second).await.structured();
    erase(&stack, "progress_log.jsonl/1").await.unwrap();
    let owner = owner(&stack).await;
    let tenants = Tenants::new(owner.clone());
    let tenant = stack.tenant_id("acme");
    let purging = tenants.change(async |tx| {
        tx.remove_project(tenant, "site").await?;
        tx.purge_project(tenant, "site").await
    });
    purging.await.unwrap();
    let left: i64 = sqlx::query_scalar(
        "select (select count(*) from memory_entries) + (select count(*) from discoveries) \
              + (select count(*) from memory_logs) + (select count(*) from memory_writes) \
              + (select count(*) from memory_erasures)",
    )
    .fetch_one(&owner)
    .await
    .unwrap();
    assert_eq!(left, 0);
    owner.close().await;
}
