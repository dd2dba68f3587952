//! Written entries are read back unchanged: by search, and as the file of the learning contract.

use e2e::{Client, Repo};
use serde_json::{Value, json};

use super::{append, entry};
use crate::serve;

const LOG: &str = ".claude/memory/progress_log.jsonl";

async fn lines(client: &Client, path: &str) -> Vec<Value> {
    let reply = client.call("read_repo_file", json!({ "path": path })).await;
    let content = reply.structured()["content"].as_str().unwrap().to_owned();
    let lines = content
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// Values that are easily changed on the way.
fn odd() -> Value {
    let text = r#"{
        "timestamp": "2026-01-07T14:00:00.120+02:00", "event": "odd", "z": 1, "a": 2,
        "numbers": [0.1, 1e300, 5e-324, -0.0, 9007199254740993, 18446744073709551615,
                    0.30000000000000004, 123456789.123456789, 1.7976931348623157e308],
        "texts": ["", "ä", "é", "😀", "a\nb\t\"\\", "\u0001", "\u007f"],
        "hidden": "a\u202eb\u200bc\udb40\udc41", "ke\u200by": null,
        "empty": [{}, [], null, true, false]
    }"#;
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn entries_come_back_as_the_same_json_values() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    append(&client, odd()).await.structured();
    let found = client.call("search_memory", json!({})).await;
    assert_eq!(found.structured()["entries"][0]["entry"], odd());
    assert_eq!(lines(&client, LOG).await, [odd()]);
}

#[tokio::test]
async fn misleading_characters_are_escaped_in_the_text_only() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    append(&client, odd()).await.structured();
    append(&client, entry("plain")).await.structured();
    let first = client.call("search_memory", json!({ "limit": 1 })).await;
    let text: Value = serde_json::from_str(first.text()).unwrap();
    assert_eq!(
        &text,
        first.structured(),
        "nothing to escape: the same JSON"
    );
    let second = json!({ "limit": 1, "cursor": first.structured()["cursor"] });
    let second = client.call("search_memory", second).await;
    let text: Value = serde_json::from_str(second.text()).unwrap();
    let shown = &text["entries"][0]["entry"];
    assert_eq!(shown["hidden"], "a\\u{202e}b\\u{200b}c\\u{e0041}");
    assert_eq!(shown["ke\\u{200b}y"], Value::Null);
    assert!(!second.text().contains(['\u{202e}', '\u{200b}']));
    assert_eq!(second.meta("untrusted"), &json!(true));
    assert_eq!(second.meta("escaped"), &json!(6));
    // A cursor is in both forms of an answer.
    append(&client, odd()).await.structured();
    let cut = client.call("search_memory", json!({ "limit": 1 })).await;
    let text: Value = serde_json::from_str(cut.text()).unwrap();
    assert_eq!(text["cursor"], cut.structured()["cursor"]);
    assert!(text["cursor"].is_string());
}

#[tokio::test]
async fn a_memory_file_is_the_repositorys_until_something_is_written() {
    let decisions = ".claude/memory/decisions.jsonl";
    let repo = Repo::new()
        .file(LOG, "{\"event\":\"of the repository\"}\n")
        .file(decisions, "{\"decision\":\"of the repository\"}\n")
        .commit();
    let (stack, client) = serve(repo).await;
    assert_eq!(lines(&client, LOG).await[0]["event"], "of the repository");
    for event in ["one", "two"] {
        append(&client, entry(event)).await.structured();
    }
    assert_eq!(lines(&client, LOG).await, [entry("one"), entry("two")]);
    assert_eq!(
        lines(&client, "./.claude//memory/progress_log.jsonl")
            .await
            .len(),
        2
    );
    let reply = client.call("read_repo_file", json!({ "path": LOG })).await;
    let data = reply.structured();
    assert_eq!(data["path"], LOG);
    assert_eq!(data["size_bytes"], data["content"].as_str().unwrap().len());
    assert_eq!(
        lines(&client, decisions).await[0]["decision"],
        "of the repository"
    );
    // The file tools still show the repository's own files.
    let file = client.call("read_file", json!({ "path": LOG })).await;
    let content = file.structured()["file"]["content"].as_str().unwrap();
    assert!(content.contains("of the repository"));
    drop(stack);
}

#[tokio::test]
async fn a_memory_file_that_is_too_long_to_read_at_once_leads_to_search_memory() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    let mut large = entry("large");
    large["text"] = json!("x".repeat(10_000));
    for _ in 0..105 {
        append(&client, large.clone()).await.structured();
    }
    let reply = client.call("read_repo_file", json!({ "path": LOG })).await;
    assert_eq!(reply.code(), "file_too_large");
    assert!(
        reply.error()["suggestion"]
            .as_str()
            .unwrap()
            .contains("search_memory")
    );
}

#[tokio::test]
async fn an_entry_without_a_time_is_found_with_the_servers() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a")).await;
    append(&client, json!({ "event": "timeless" }))
        .await
        .structured();
    append(&client, entry("dated")).await.structured();
    let found = client.call("search_memory", json!({})).await;
    let [dated, timeless] = found.structured()["entries"].as_array().unwrap().as_slice() else {
        panic!("{}", found.value());
    };
    assert_eq!(timeless["entry"]["event"], "timeless");
    assert_eq!(timeless["entry"]["timestamp"], timeless["written_at"]);
    assert_eq!(dated["entry"]["timestamp"], entry("dated")["timestamp"]);
}
