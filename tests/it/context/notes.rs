//! Recorded notes: found within seconds, by type, ranked after their successor, and not found once
//! erased.

use std::collections::BTreeSet;
use std::time::Duration;

use archway::tenants::Tenants;
use e2e::{Client, Reply, Stack};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{indexed, owner, repo, result, results, search, until};

/// How soon a note must be found: 3 s, on a busy machine.
const SOON: Duration = Duration::from_secs(20);
const TYPES: [&str; 4] = ["pattern", "rule", "decision", "issue"];

/// A project with a complete index.
async fn ready() -> (Stack, Client) {
    let (stack, client) = indexed(repo()).await;
    search(&stack, &client, json!({ "query": "weather report" }))
        .await
        .structured();
    (stack, client)
}

/// Records a discovery and returns its id.
async fn record(client: &Client, discovery: Value) -> String {
    let reply = client.call("record_discovery", discovery).await;
    reply.structured()["id"].as_str().unwrap().to_owned()
}

/// Appends to a file of memory.
async fn write(client: &Client, file: &str, entry: Value) {
    let mut entry = entry;
    entry["timestamp"] = json!("2026-01-07T14:00:00Z");
    let arguments = json!({ "file": file, "entry": entry });
    client
        .call("write_memory_entry", arguments)
        .await
        .structured();
}

/// The answer that contains what was just written.
async fn soon(stack: &Stack, client: &Client, arguments: Value, id: &str) -> Reply {
    let written = Instant::now();
    let reply = until(stack, client, arguments, |found| found["id"] == id).await;
    let took = written.elapsed();
    println!("{id} was found after {took:?}");
    assert!(took < SOON, "{id} took {took:?}");
    reply
}

/// Erases as `archway memory erase` does.
async fn erase(stack: &Stack, what: &str) {
    let tenants = Tenants::new(owner(stack).await);
    let (tenant, what) = (stack.tenant_id("acme"), what.parse().unwrap());
    let erasing = tenants.change(async |tx| {
        let project = tx.find_project(tenant, "site").await?;
        tx.erase_memory(tenant, project.id, &what, "a secret").await
    });
    erasing.await.unwrap();
}

#[tokio::test]
async fn a_discovery_and_a_decision_are_found_soon_after_they_were_written() {
    let (stack, client) = ready().await;
    let content = "Letters to subscribers go through the outbox";
    let about = ["src/mail.rs", "doc/letters"];
    let discovery = json!({
        "type": "pattern", "content": content, "module": "mail", "paths": about
    });
    let id = record(&client, discovery).await;
    let query = json!({ "query": "outbox of letters" });
    let reply = soon(&stack, &client, query, &id).await;
    let found = result(&reply, &id).unwrap();
    for (field, expected) in [
        ("type", json!("pattern")),
        ("content", json!(content)),
        ("module", json!("mail")),
        ("source", json!("discovery")),
        ("project", json!("site")),
        ("path", Value::Null),
        ("paths", json!(about)),
        ("start_line", Value::Null),
        ("end_line", Value::Null),
        ("symbol", Value::Null),
    ] {
        assert_eq!(found.get(field), Some(&expected), "{field}");
    }
    assert!(found["date"].as_str().unwrap().ends_with('Z'), "{found}");
    assert!(
        reply
            .text()
            .contains("**Paths**: src/mail.rs, doc/letters  \n")
    );
    let session = found["session"].as_str().unwrap();
    let key = client.key().split('_').nth(1).unwrap();
    assert!(!session.is_empty() && !session.contains(key), "{session}");

    let decision = json!({ "decision": "Queues are kept in Postgres" });
    write(&client, "decisions.jsonl", decision).await;
    let query = json!({ "query": "where queues are kept" });
    let reply = soon(&stack, &client, query, "decisions.jsonl/1").await;
    let found = result(&reply, "decisions.jsonl/1").unwrap();
    assert_eq!(
        (&found["type"], &found["source"]),
        (&json!("decision"), &json!("memory"))
    );
    assert!(found.get("paths").is_none(), "{found}");
}

#[tokio::test]
async fn where_nothing_was_noted_of_a_type_the_answer_says_where_files_are() {
    let adr = "# 1. Queues in Postgres\n\n## Status\n\nAccepted\n";
    let (stack, client) = indexed(repo().file("docs/adr/0001-queues.md", adr).commit()).await;
    for kind in TYPES {
        let query = json!({ "query": "queues in postgres", "type": kind });
        let reply = search(&stack, &client, query).await;
        assert_eq!(results(&reply), [Value::Null; 0]);
        let note = reply.structured()["note"].as_str().unwrap();
        assert!(
            note.contains("search_architecture") && reply.text().contains(note),
            "{note}"
        );
    }
    let reply = search(&stack, &client, json!({ "query": "queues in postgres" })).await;
    assert_eq!(results(&reply)[0]["path"], "docs/adr/0001-queues.md");
    assert!(reply.structured().get("note").is_none());
}

#[tokio::test]
async fn a_type_finds_its_notes_and_only_all_finds_events() {
    let (stack, client) = ready().await;
    write(
        &client,
        "progress_log.jsonl",
        json!({ "event": "the outbox was emptied" }),
    )
    .await;
    write(
        &client,
        "decisions.jsonl",
        json!({ "decision": "the outbox is emptied daily" }),
    )
    .await;
    let mut ids = Vec::new();
    for kind in TYPES {
        let content = format!("the outbox, as a {kind}");
        let discovery = json!({ "type": kind, "content": content });
        ids.push(record(&client, discovery).await);
    }
    let all = json!({ "query": "outbox emptied", "limit": 20 });
    let reply = soon(&stack, &client, all, &ids[3]).await;
    let event = result(&reply, "progress_log.jsonl/1").expect("an event");
    assert_eq!(
        (&event["type"], &event["source"]),
        (&json!("event"), &json!("memory"))
    );
    for (kind, id) in TYPES.iter().zip(&ids) {
        // With a filter every match is ranked, whatever the query.
        let query = json!({ "query": "quite unrelated", "type": kind, "limit": 20 });
        let reply = client.call("context_search", query).await;
        let found = results(&reply).iter();
        let found: BTreeSet<&str> = found.map(|found| found["id"].as_str().unwrap()).collect();
        let mut expected = BTreeSet::from([id.as_str()]);
        expected.extend((*kind == "decision").then_some("decisions.jsonl/1"));
        assert_eq!(found, expected, "{kind}");
    }
}

#[tokio::test]
async fn a_superseded_discovery_ranks_below_its_successor_and_says_so() {
    let (stack, client) = ready().await;
    let old = json!({ "type": "rule", "content": "retry the outbox with jitter" });
    let old = record(&client, old).await;
    let new = "letters are tried again after a pause, which is long for the outbox";
    let new = json!({ "type": "rule", "content": new, "supersedes": old });
    let new = record(&client, new).await;
    // The older note fits the query better.
    let query = json!({ "query": "retry the outbox with jitter", "limit": 20 });
    let reply = soon(&stack, &client, query, &new).await;
    let place = |id: &str| {
        let found = results(&reply).iter();
        let mut found = found.map(|found| &found["id"]);
        found.position(|found| found == id).unwrap()
    };
    assert!(place(&new) < place(&old), "{}", reply.text());
    assert_eq!(result(&reply, &old).unwrap()["superseded_by"], new);
    assert_eq!(result(&reply, &new).unwrap()["supersedes"], old);
    assert!(reply.text().contains(&format!("**Superseded by**: {new}")));
    let scores: Vec<f64> = results(&reply)
        .iter()
        .map(|found| found["score"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
}

#[tokio::test]
async fn an_erased_note_is_gone_from_the_next_answer() {
    let (stack, client) = ready().await;
    let entry = json!({ "event": "the sesame of the outbox" });
    write(&client, "progress_log.jsonl", entry).await;
    let discovery = json!({ "type": "issue", "content": "sesame stands in the outbox" });
    let id = record(&client, discovery).await;
    let query = json!({ "query": "sesame outbox", "limit": 20 });
    let reply = soon(&stack, &client, query.clone(), &id).await;
    assert!(result(&reply, "progress_log.jsonl/1").is_some());
    erase(&stack, "progress_log.jsonl/1").await;
    erase(&stack, &format!("discoveries/{id}")).await;
    let reply = client.call("context_search", query.clone()).await;
    assert!(!reply.text().contains("sesame stands") && !reply.text().contains("the sesame of"));
    assert!(result(&reply, &id).is_none());
    assert!(result(&reply, "progress_log.jsonl/1").is_none());
    // The index forgets it, too.
    let owner = owner(&stack).await;
    stack
        .eventually(async || {
            let documents: i64 =
                sqlx::query_scalar("select count(*) from index_documents where source > 0")
                    .fetch_one(&owner)
                    .await
                    .unwrap();
            (documents == 0).then_some(())
        })
        .await;
    owner.close().await;
}
