//! Filters of a search: module, kind of code, glob; and combinations that are refused.

use std::collections::BTreeSet;

use e2e::{Client, Reply, Stack};
use serde_json::{Value, json};

use super::{indexed, paths, repo, results, search, until};

const SHAPES: &str = "\
/** What has an area. */
export interface Shape { area(): number }

/** How a shape is called. */
export type Name = string;

/** A round shape. */
export class Circle implements Shape {
    /** Pi times the square of the radius. */
    area(): number { return 3.14; }
}

/** Draws a shape on the canvas. */
export function draw(shape: Shape): void {}
";

async fn shapes() -> (Stack, Client) {
    let repo = repo().file("src/draw/shapes.ts", SHAPES).commit();
    let (stack, client) = indexed(repo).await;
    search(&stack, &client, json!({ "query": "a shape" }))
        .await
        .structured();
    (stack, client)
}

async fn asked(client: &Client, more: Value) -> Reply {
    let mut arguments = json!({ "query": "area of a shape", "limit": 20 });
    let arguments = arguments.as_object_mut().unwrap();
    arguments.extend(more.as_object().unwrap().clone());
    client.call("context_search", json!(arguments)).await
}

fn set<'a>(reply: &'a Reply, field: &str) -> BTreeSet<&'a str> {
    let found = results(reply).iter();
    found.map(|found| found[field].as_str().unwrap()).collect()
}

#[tokio::test]
async fn kinds_of_code_are_found_by_their_names() {
    let (_stack, client) = shapes().await;
    for kind in ["function", "class", "method", "interface", "type"] {
        let reply = asked(&client, json!({ "chunk_type": [kind] })).await;
        assert_eq!(set(&reply, "type"), BTreeSet::from([kind]));
        assert_eq!(set(&reply, "source"), BTreeSet::from(["code"]));
    }
    let two = json!({ "chunk_type": ["class", "interface"] });
    let reply = asked(&client, two).await;
    assert_eq!(set(&reply, "type"), BTreeSet::from(["class", "interface"]));
    let class = results(&reply)
        .iter()
        .find(|found| found["type"] == "class");
    let class = class.unwrap();
    assert_eq!(
        (&class["symbol"], &class["start_line"]),
        (&json!("Circle"), &json!(7))
    );
}

#[tokio::test]
async fn a_glob_names_the_files_of_which_something_is_found() {
    let (_stack, client) = shapes().await;
    for (glob, expected) in [
        ("*.ts", vec!["src/draw/shapes.ts"]),
        ("src/draw/", vec!["src/draw/shapes.ts"]),
        ("/*.ts", vec![]),
        (
            "src/*/*.rs",
            vec!["src/auth/password.rs", "src/weather/report.rs"],
        ),
        ("nothing/**", vec![]),
        (
            "!src/draw/**",
            vec!["src/auth/password.rs", "src/weather/report.rs"],
        ),
    ] {
        let reply = asked(&client, json!({ "path_glob": glob })).await;
        let expected: BTreeSet<&str> = expected.into_iter().collect();
        assert_eq!(set(&reply, "path"), expected, "{glob}");
    }
    for glob in ["!!*.ts", "![", "src/["] {
        let refused = asked(&client, json!({ "path_glob": glob })).await;
        assert_eq!(refused.code(), "invalid_pattern", "{glob}");
    }
}

#[tokio::test]
async fn a_module_is_a_name_or_a_folder_of_whole_components() {
    let (stack, client) = shapes().await;
    let mut ids = Vec::new();
    for module in ["auth", "auth/session", "authors"] {
        let discovery = json!({ "type": "rule", "content": "salt passwords", "module": module });
        let reply = client.call("record_discovery", discovery).await;
        ids.push(reply.structured()["id"].as_str().unwrap().to_owned());
    }
    let query = json!({ "query": "salt passwords", "limit": 20 });
    until(&stack, &client, query, |found| found["id"] == ids[2]).await;
    let code = "src/auth/password.rs";
    for (module, expected) in [
        ("auth", vec![code, &ids[0], &ids[1]]),
        ("auth/session", vec![ids[1].as_str()]),
        ("src/auth", vec![code]),
        ("src/auth/", vec![code]),
        ("src/au", vec![]),
        ("Auth", vec![]),
    ] {
        let reply = asked(&client, json!({ "module": module })).await;
        let found = results(&reply).iter();
        let name = |found: &'_ Value| {
            let name = found["path"].as_str().or(found["id"].as_str());
            name.unwrap().to_owned()
        };
        let found: BTreeSet<String> = found.map(name).collect();
        let expected: BTreeSet<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(found, expected, "{module}");
    }
    let both = json!({ "module": "auth", "type": "rule" });
    let reply = asked(&client, both).await;
    assert_eq!(set(&reply, "source"), BTreeSet::from(["discovery"]));
    let both = json!({ "module": "auth", "path_glob": "*.rs" });
    assert_eq!(paths(&asked(&client, both).await), [code]);
}

#[tokio::test]
async fn filters_of_code_are_refused_for_notes() {
    let (_stack, client) = shapes().await;
    for kind in ["pattern", "rule", "decision", "issue"] {
        for about_code in [
            json!({ "type": kind, "chunk_type": ["class"] }),
            json!({ "type": kind, "path_glob": "*.rs" }),
        ] {
            let refused = asked(&client, about_code.clone()).await;
            assert_eq!(refused.code(), "invalid_arguments", "{about_code}");
        }
    }
    let all = json!({ "type": "all", "chunk_type": ["class"], "path_glob": "*.ts" });
    assert_eq!(
        set(&asked(&client, all).await, "symbol"),
        BTreeSet::from(["Circle"])
    );
    for bad in [
        json!({ "query": "ab" }),
        json!({ "query": "x".repeat(5_001) }),
        json!({ "limit": 0 }),
        json!({ "limit": 21 }),
        json!({ "chunk_type": [] }),
        json!({ "chunk_type": ["module"] }),
        json!({ "type": "event" }),
        json!({ "module": "" }),
    ] {
        let refused = asked(&client, bad.clone()).await;
        assert_eq!(refused.code(), "invalid_arguments", "{bad}");
    }
    let query = |length| {
        let text: String = "circles ".chars().cycle().take(length).collect();
        json!({ "query": text })
    };
    for length in [501, 5_000] {
        let reply = asked(&client, query(length)).await;
        assert!(!results(&reply).is_empty(), "{length}");
    }
    let refused = asked(&client, query(5_001)).await;
    let violation = &refused.error()["details"]["violations"][0];
    let allowed = json!("a string, 3 to 5000 characters");
    assert_eq!(
        (&violation["path"], &violation["allowed"]),
        (&json!("query"), &allowed)
    );
}

#[tokio::test]
async fn filters_that_fit_nothing_are_named_in_the_note() {
    let (_stack, client) = shapes().await;
    for (filters, named) in [
        (json!({ "path_glob": "*.nonesuch" }), "path_glob"),
        (
            json!({ "path_glob": "*.nonesuch", "chunk_type": ["class"] }),
            "chunk_type, path_glob",
        ),
    ] {
        let reply = asked(&client, filters).await;
        assert!(results(&reply).is_empty(), "{named}");
        let note = reply.structured()["note"].as_str().unwrap();
        let advice = format!("try it without {named}");
        assert!(note.contains(&advice), "{note}");
        assert!(reply.text().contains(&advice), "{}", reply.text());
    }
    let found = asked(&client, json!({ "path_glob": "*.ts" })).await;
    assert!(!found.text().contains("without"), "{}", found.text());
}
