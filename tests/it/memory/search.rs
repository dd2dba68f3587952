//! `search_memory`: by words, file and time, newest first, in pages.

use e2e::{Client, Harness, Repo, Stack, Tenant};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::{append, entry, events};
use crate::serve;

async fn empty() -> (Stack, Client) {
    serve(Repo::new().file("a.txt", "a").commit()).await
}

async fn found(client: &Client, arguments: Value) -> (Vec<String>, u64) {
    let page = client.call("search_memory", arguments).await;
    let total = page.structured()["total"].as_u64().unwrap();
    (events(&page), total)
}

#[tokio::test]
async fn all_words_must_occur_in_any_key_or_string_whatever_their_case() {
    let (_stack, client) = empty().await;
    for written in [
        json!({ "timestamp": "2026-01-07T14:00:00Z", "event": "one", "file": "src/Auth/jwt.ts" }),
        json!({ "timestamp": "2026-01-07T14:00:00Z", "event": "two", "Größe": [{ "deep": "JWT" }] }),
        json!({ "timestamp": "2026-01-07T14:00:00Z", "event": "three", "count": 17 }),
    ] {
        append(&client, written).await.structured();
    }
    for (query, events) in [
        ("jwt", vec!["two", "one"]),
        ("JWT auth", vec!["one"]),
        ("auth größe", vec![]),
        ("GRÖßE deep", vec!["two"]),
        ("timestamp", vec!["three", "two", "one"]),
        ("src/auth/jwt.ts", vec!["one"]),
        // A part of a word does not match, and a number is no string.
        ("aut", vec![]),
        ("17", vec![]),
        // Operators of a query language are not words.
        ("jwt & !auth | 'x", vec![]),
        ("jwt:*", vec!["two", "one"]),
    ] {
        let expected = (
            events.iter().map(ToString::to_string).collect(),
            events.len() as u64,
        );
        assert_eq!(
            found(&client, json!({ "query": query })).await,
            expected,
            "{query}"
        );
    }
    let none = client
        .call("search_memory", json!({ "query": "-- …" }))
        .await;
    assert_eq!(none.code(), "invalid_arguments");
}

#[tokio::test]
async fn no_more_entries_are_counted_than_ten_thousand() {
    let (stack, client) = empty().await;
    append(&client, entry("first")).await.structured();
    let owner = stack.database().owner();
    let mut owner = PgConnection::connect_with(&owner).await.unwrap();
    let many = "insert into memory_entries (tenant_id, project_id, file, number, principal, \
                                            written_at, entry, words) \
                select tenant_id, project_id, file, number + n, principal, written_at, entry, words \
                from memory_entries, generate_series(1, 10050) as n";
    sqlx::query(many).execute(&mut owner).await.unwrap();
    let (first, before) = (json!("first"), json!("2020-01-01"));
    for (arguments, total) in [
        (json!({}), 10_000),
        (json!({ "query": first }), 10_000),
        (json!({ "query": first, "since": before }), 10_000),
        (json!({ "query": first, "until": before }), 0),
        (json!({ "query": "second" }), 0),
        (json!({ "until": before }), 0),
    ] {
        let counted = found(&client, arguments.clone()).await.1;
        assert_eq!(counted, total, "{arguments}");
    }
}

#[tokio::test]
async fn times_are_the_servers_at_writing_and_not_the_writers() {
    let (stack, client) = empty().await;
    append(&client, entry("written now")).await.structured();
    // By name, a day could end between writing and searching.
    let days = "select to_char(written_at at time zone 'utc', 'YYYY-MM-DD'), \
                to_char(written_at at time zone 'utc' - interval '1 day', 'YYYY-MM-DD') \
                from memory_entries";
    let owner = stack.database().owner();
    let mut owner = PgConnection::connect_with(&owner).await.unwrap();
    let (day, before): (String, String) = sqlx::query_as(days).fetch_one(&mut owner).await.unwrap();
    for (arguments, total) in [
        (json!({ "since": "1 hour ago" }), 1),
        (json!({ "until": "1 hour ago" }), 0),
        (json!({ "since": "2026-01-07", "until": "2026-01-07" }), 0),
        (json!({ "since": "yesterday" }), 1),
        (json!({ "since": day, "until": day }), 1),
        (json!({ "query": "written", "since": day }), 1),
        (json!({ "query": "written", "until": before }), 0),
    ] {
        assert_eq!(
            found(&client, arguments.clone()).await.1,
            total,
            "{arguments}"
        );
    }
    for bad in ["HEAD~3", "tomorrow-ish"] {
        let refused = client.call("search_memory", json!({ "since": bad })).await;
        assert_eq!(refused.code(), "invalid_arguments", "{bad}");
    }
}

#[tokio::test]
async fn pages_give_every_entry_once_though_others_are_written_meanwhile() {
    let (_stack, client) = empty().await;
    for number in 0..7 {
        append(&client, entry(&format!("old {number}")))
            .await
            .structured();
    }
    for arguments in [json!({ "limit": 3 }), json!({ "limit": 3, "query": "old" })] {
        let mut seen = Vec::new();
        let mut next = arguments.clone();
        loop {
            let page = client.call("search_memory", next.clone()).await;
            seen.extend(events(&page));
            append(&client, entry("old, but new")).await.structured();
            let data = page.structured();
            assert_eq!(
                data["truncated"] == true,
                data["cursor"].is_string(),
                "{data}"
            );
            match data["cursor"].as_str() {
                Some(cursor) => next["cursor"] = json!(cursor),
                None => break,
            }
        }
        seen.retain(|event| event != "old, but new");
        let all: Vec<String> = (0..7).rev().map(|number| format!("old {number}")).collect();
        assert_eq!(seen, all, "{arguments}");
    }
}

#[tokio::test]
async fn a_cursor_is_good_for_the_same_question_only() {
    let (_stack, client) = empty().await;
    for event in ["one", "two"] {
        append(&client, entry(event)).await.structured();
    }
    let page = client.call("search_memory", json!({ "limit": 1 })).await;
    let cursor = page.structured()["cursor"].as_str().unwrap();
    for other in [
        json!({ "limit": 1, "query": "one", "cursor": cursor }),
        json!({ "limit": 1, "cursor": "1:progress_log.jsonl:1" }),
    ] {
        let refused = client.call("search_memory", other).await;
        assert_eq!(refused.code(), "invalid_arguments");
        let advice = refused.error()["suggestion"].as_str().unwrap();
        assert!(advice.contains("start again without a cursor"), "{advice}");
    }
}

#[tokio::test]
async fn a_page_of_large_entries_ends_within_the_budget_and_goes_on() {
    let (_stack, client) = empty().await;
    for number in 0..8 {
        let mut large = entry(&format!("large {number}"));
        large["text"] = json!("x".repeat(10_000));
        append(&client, large).await.structured();
    }
    let more = json!({ "limit": 50 });
    let first = client.call("search_memory", more).await;
    assert!(
        first.text().len() <= 64 << 10,
        "{} bytes",
        first.text().len()
    );
    assert_eq!(events(&first).len(), 6);
    let next = json!({ "limit": 50, "cursor": first.structured()["cursor"] });
    let second = client.call("search_memory", next).await;
    assert_eq!(events(&second), ["large 1", "large 0"]);
    assert!(second.structured().get("cursor").is_none());
}

#[tokio::test]
async fn memory_is_its_projects_and_its_tenants_alone() {
    let repo = || Repo::new().file("a.txt", "a");
    let acme = Tenant::new("acme")
        .project("site", repo())
        .project("shop", repo());
    let zeta = Tenant::new("zeta").project("site", repo());
    let stack = Harness::new().tenant(acme).tenant(zeta).start().await;
    let (acme, zeta) = (stack.client("acme"), stack.client("zeta"));
    let arguments = json!({ "project": "site", "file": "decisions.jsonl",
        "entry": { "timestamp": "2026-01-07T14:00:00Z", "decision": "sesame" } });
    acme.call("write_memory_entry", arguments)
        .await
        .structured();
    for query in [json!({}), json!({ "query": "sesame" })] {
        let of = async |client: &Client, project: &str| {
            let mut arguments = query.clone();
            arguments["project"] = json!(project);
            let page = client.call("search_memory", arguments).await;
            page.structured()["total"].as_u64().unwrap()
        };
        assert_eq!(of(&acme, "site").await, 1);
        assert_eq!(of(&acme, "shop").await, 0);
        assert_eq!(of(&zeta, "site").await, 0);
    }
}
