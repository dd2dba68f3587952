//! A write is done once under its idempotency key, whoever repeats it.

use e2e::{Client, Harness, Key, Reply, Repo, Tenant};
use futures::future::join_all;
use serde_json::{Value, json};

use super::entry;
use crate::serve;

/// Calls a tool with an idempotency key.
async fn under(client: &Client, key: &str, tool: &str, arguments: Value) -> Value {
    let meta = json!({ "io.archway/idempotencyKey": key });
    let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    client.rpc("tools/call", params).await.json()["result"].take()
}

async fn append(client: &Client, key: &str, file: &str, entry: Value) -> Value {
    let arguments = json!({ "file": file, "entry": entry });
    under(client, key, "write_memory_entry", arguments).await
}

fn count(result: &Value) -> u64 {
    let count = &result["structuredContent"]["entry_count"];
    count.as_u64().unwrap_or_else(|| panic!("{result}"))
}

fn code(result: &Value) -> &Value {
    &result["_meta"]["io.archway/error"]["error"]["code"]
}

const LOG: &str = "progress_log.jsonl";

#[tokio::test]
async fn the_same_key_and_content_is_one_entry_and_other_content_is_refused() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    let written = json!({ "timestamp": "2026-01-07T14:00:00Z", "event": "x", "n": 1.5 });
    let turned = json!({ "n": 1.5, "event": "x", "timestamp": "2026-01-07T14:00:00Z" });
    assert_eq!(count(&append(&client, "a", LOG, written.clone()).await), 1);
    assert_eq!(count(&append(&client, "a", LOG, turned).await), 1);
    assert_eq!(count(&append(&client, "b", LOG, written.clone()).await), 2);
    assert_eq!(count(&append(&client, "a", LOG, written.clone()).await), 1);
    for other in [
        append(&client, "a", LOG, entry("y")).await,
        append(&client, "a", "decisions.jsonl", written.clone()).await,
    ] {
        assert_eq!(code(&other), "invalid_arguments", "{other}");
    }
    // A refusal uses up no number and no key.
    assert_eq!(count(&append(&client, "c", LOG, entry("y")).await), 3);
    let found = client.call("search_memory", json!({})).await;
    assert_eq!(found.structured()["total"], 3);
}

#[tokio::test]
async fn a_key_is_its_principals_and_its_tools_own() {
    let acme = Tenant::new("acme").project("site", Repo::new().file("a.txt", "a"));
    let stack = Harness::new()
        .tenant(acme.key(Key::new("other")))
        .start()
        .await;
    let (client, other) = (stack.client("acme"), stack.keyed("acme", "other"));
    assert_eq!(count(&append(&client, "a", LOG, entry("x")).await), 1);
    assert_eq!(count(&append(&other, "a", LOG, entry("x")).await), 2);
    let discovery = json!({ "type": "rule", "content": "x" });
    let recorded = under(&client, "a", "record_discovery", discovery.clone()).await;
    let id = &recorded["structuredContent"]["id"];
    assert!(id.is_string(), "{recorded}");
    let again = under(&client, "a", "record_discovery", discovery).await;
    assert_eq!(again["structuredContent"], recorded["structuredContent"]);
    let changed = json!({ "type": "issue", "content": "x" });
    let refused = under(&client, "a", "record_discovery", changed).await;
    assert_eq!(code(&refused), "invalid_arguments");
}

#[tokio::test]
async fn repeats_at_the_same_moment_are_one_entry() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    let same = (0..12).map(|_| append(&client, "a", LOG, entry("x")));
    let counts: Vec<u64> = join_all(same).await.iter().map(count).collect();
    assert_eq!(counts, [1; 12]);
}

#[tokio::test]
async fn without_a_key_every_call_is_an_entry_whatever_its_json_rpc_id() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    let write = || async { super::append(&client, entry("x")).await };
    let count = |reply: &Reply| reply.structured()["entry_count"].as_u64().unwrap();
    // The test's client gives every request the id 1.
    assert_eq!(count(&write().await), 1);
    assert_eq!(count(&write().await), 2);
}

#[tokio::test]
async fn a_key_is_free_again_after_a_day() {
    let (stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    assert_eq!(count(&append(&client, "a", LOG, entry("x")).await), 1);
    let owner = sqlx::PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    sqlx::query("update memory_writes set written_at = written_at - interval '25 hours'")
        .execute(&owner)
        .await
        .unwrap();
    assert_eq!(count(&append(&client, "a", LOG, entry("y")).await), 2);
    sqlx::query("update memory_writes set written_at = written_at - interval '25 hours'")
        .execute(&owner)
        .await
        .unwrap();
    assert_eq!(count(&append(&client, "b", LOG, entry("z")).await), 3);
    let kept: i64 = sqlx::query_scalar("select count(*) from memory_writes")
        .fetch_one(&owner)
        .await
        .unwrap();
    assert_eq!(kept, 1, "old keys are swept by whoever writes");
    owner.close().await;
}
