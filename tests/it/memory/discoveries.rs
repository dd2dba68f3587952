//! `search_memory` finds discoveries beside entries, by words and time, and pages over both.

use e2e::{Client, Repo};
use serde_json::{Value, json};

use super::{append, entry};
use crate::serve;

async fn record(client: &Client, discovery: Value) -> String {
    let reply = client.call("record_discovery", discovery).await;
    reply.structured()["id"].as_str().unwrap().to_owned()
}

/// The contents of the discoveries on a page.
async fn contents(client: &Client, arguments: Value) -> Vec<String> {
    let page = client.call("search_memory", arguments).await;
    let found = page.structured()["discoveries"].as_array();
    let found = found.into_iter().flatten();
    found
        .map(|it| it["content"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn discoveries_are_found_by_all_words_of_their_text_and_module() {
    let (_stack, client) = serve(Repo::new().file("src/a.txt", "a").commit()).await;
    let rule = json!({ "type": "rule", "content": "Tokens EXPIRE in ÄRGER", "module": "auth", "paths": ["src/a.txt"] });
    let first = record(&client, rule).await;
    let issue = json!({ "type": "issue", "content": "İstanbul is spelt so", "supersedes": first });
    let second = record(&client, issue).await;
    for (query, expected) in [
        ("expire", vec!["Tokens EXPIRE in ÄRGER"]),
        ("auth tokens", vec!["Tokens EXPIRE in ÄRGER"]),
        ("ärger", vec!["Tokens EXPIRE in ÄRGER"]),
        ("istanbul", vec!["İstanbul is spelt so"]),
        ("in", vec!["Tokens EXPIRE in ÄRGER"]),
        // A part of a word is none.
        ("expir", vec![]),
        ("tokens spelt", vec![]),
    ] {
        let query = json!({ "query": query });
        assert_eq!(contents(&client, query.clone()).await, expected, "{query}");
    }
    let all = client.call("search_memory", json!({})).await;
    let found = &all.structured()["discoveries"];
    assert_eq!(all.structured()["total"], 2);
    assert_eq!(
        (&found[0]["id"], &found[1]["id"]),
        (&json!(second), &json!(first))
    );
    assert_eq!(
        (&found[0]["supersedes"], &found[1]["superseded_by"]),
        (&json!(first), &json!(second))
    );
    assert_eq!(
        (&found[1]["type"], &found[1]["paths"]),
        (&json!("rule"), &json!(["src/a.txt"]))
    );
    assert_eq!(
        contents(&client, json!({ "file": "decisions.jsonl" })).await,
        [""; 0]
    );
    assert_eq!(
        contents(&client, json!({ "until": "2020-01-01" })).await,
        [""; 0]
    );
    assert_eq!(
        contents(&client, json!({ "since": "2020-01-01" }))
            .await
            .len(),
        2
    );
}

#[tokio::test]
async fn pages_of_entries_and_discoveries_join_to_all_of_them() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a").commit()).await;
    for number in 0..9 {
        let text = format!("number {number}");
        match number % 3 {
            0 => drop(record(&client, json!({ "type": "rule", "content": text })).await),
            _ => drop(append(&client, entry(&text)).await),
        }
    }
    for query in [json!({}), json!({ "query": "number" })] {
        let (mut arguments, mut seen) = (query, Vec::new());
        arguments["limit"] = json!(2);
        loop {
            let page = client.call("search_memory", arguments.clone()).await;
            let data = page.structured();
            assert_eq!(data["total"], 9);
            let mut page: Vec<(String, String)> = Vec::new();
            for (list, time, text) in [
                ("entries", "/written_at", "/entry/event"),
                ("discoveries", "/created_at", "/content"),
            ] {
                for item in data[list].as_array().into_iter().flatten() {
                    let part =
                        |pointer: &str| item.pointer(pointer).unwrap().as_str().unwrap().to_owned();
                    page.push((part(time), part(text)));
                }
            }
            assert!((1..=2).contains(&page.len()), "{data}");
            page.sort_by(|one, other| other.cmp(one));
            seen.extend(page.into_iter().map(|(_, text)| text));
            let Some(cursor) = data.get("cursor") else {
                break;
            };
            assert!(cursor.as_str().unwrap().len() <= 96);
            arguments["cursor"] = cursor.clone();
        }
        let expected: Vec<String> = (0..9)
            .rev()
            .map(|number| format!("number {number}"))
            .collect();
        assert_eq!(seen, expected);
    }
}
