//! Without Postgres, memory fails soon and clearly; everything else continues.

use std::time::Duration;

use e2e::{Client, Reply, Repo};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{append, entry};
use crate::serve;

/// The default deadline of a call.
const DEADLINE: Duration = Duration::from_secs(10);

/// Calls a tool that needs memory during the outage.
async fn refused(client: &Client, tool: &str, arguments: Value) -> Reply {
    let asked = Instant::now();
    let reply = client.call(tool, arguments).await;
    assert!(
        asked.elapsed() < DEADLINE,
        "{tool} took {:?}",
        asked.elapsed()
    );
    assert_eq!(reply.code(), "unavailable", "{tool}");
    let seconds = &reply.error()["details"]["retry_after_seconds"];
    assert!(
        seconds.as_u64().is_some_and(|seconds| seconds > 0),
        "{tool}: {seconds}"
    );
    reply
}

#[tokio::test]
async fn memory_is_unavailable_while_postgres_is_away_and_back_with_it() {
    let repo = Repo::new().file("a.txt", "sesame\n").commit();
    let (stack, client) = serve(repo).await;
    append(&client, entry("before")).await.structured();
    stack.database().close().await;
    let written = json!({ "file": "progress_log.jsonl", "entry": entry("lost") });
    let write = refused(&client, "write_memory_entry", written).await;
    assert_eq!(write.error()["details"]["outcome"], "not_written");
    let discovery = json!({ "type": "rule", "content": "x" });
    let record = refused(&client, "record_discovery", discovery).await;
    assert_eq!(record.error()["details"]["outcome"], "not_written");
    let read = refused(&client, "search_memory", json!({})).await;
    assert!(read.error()["details"].get("outcome").is_none());
    let path = ".claude/memory/progress_log.jsonl";
    refused(&client, "read_repo_file", json!({ "path": path })).await;
    let file = client.call("read_file", json!({ "path": "a.txt" })).await;
    assert_eq!(file.structured()["file"]["content"], "sesame\n");

    stack.database().open().await;
    let again = stack.eventually(async || {
        let reply = append(&client, entry("after")).await;
        (!reply.is_error()).then(|| reply.structured()["entry_count"].clone())
    });
    assert_eq!(again.await, 2, "what was refused was not written");
}
