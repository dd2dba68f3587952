//! What a result names beside its text: other matches in its file, its tests, the whole of which it is a part.

use std::collections::BTreeSet;

use e2e::Repo;
use serde_json::{Value, json};

use super::{indexed, results, search};

/// The result of a file.
fn of_file<'a>(results: &'a [Value], path: &str) -> &'a Value {
    let mut results = results.iter();
    let found = results.find(|result| result["path"] == path);
    found.unwrap_or_else(|| panic!("no result of {path}"))
}

#[tokio::test]
async fn other_matches_of_a_file_are_named_under_its_first() {
    let function = |name: &str| format!("/// A chest of pearls.\nfn {name}() {{}}\n\n");
    let names = ["open_chest", "close_chest", "count_pearls"];
    let repo = Repo::new()
        .file("src/chest.rs", names.map(function).concat())
        .file("src/boat.rs", "/// A boat for pearls.\nfn row_boat() {}\n");
    let (stack, client) = indexed(repo.commit()).await;
    // The glob lets all pass, however dissimilar.
    let query = json!({ "query": "a chest of pearls", "limit": 1, "path_glob": "src/*" });
    let reply = search(&stack, &client, query).await;
    let [first] = results(&reply) else {
        panic!("{}", reply.value());
    };
    assert_eq!(first["path"], "src/chest.rs");
    let more = first["more"].as_array().unwrap();
    let symbol = |place: &Value| place["symbol"].as_str().unwrap().to_owned();
    let all: BTreeSet<String> = more.iter().chain([first]).map(symbol).collect();
    assert_eq!(all, BTreeSet::from(names.map(str::to_owned)), "{first}");
    let other = &more[0];
    let (from, to) = (&other["start_line"], &other["end_line"]);
    let shown = format!("**Also in this file**: {} ({from}-{to}), ", symbol(other));
    assert!(reply.text().contains(&shown), "{}", reply.text());
}

#[tokio::test]
async fn a_result_names_the_tests_that_are_called_like_its_file() {
    let test =
        |what: &str| format!("/// Whether {what} are counted.\nfn {what}_are_counted() {{}}\n");
    let repo = Repo::new()
        .file("src/pearl.rs", "/// Counts pearls.\nfn count_pearls() {}\n")
        .file(
            "src/oyster.rs",
            "/// Counts oysters.\nfn count_oysters() {}\n",
        )
        .file("tests/pearl.rs", test("pearls"))
        .file("tests/boat.rs", test("boats"));
    let (stack, client) = indexed(repo.commit()).await;
    let query = json!({ "query": "count pearls", "path_glob": "**", "limit": 10 });
    let reply = search(&stack, &client, query).await;
    let found = results(&reply);
    assert_eq!(found.len(), 4, "{}", reply.text());
    let pearl = of_file(found, "src/pearl.rs");
    assert_eq!(pearl["tested_by"], json!(["tests/pearl.rs"]));
    for other in ["src/oyster.rs", "tests/pearl.rs", "tests/boat.rs"] {
        let other = of_file(found, other);
        assert_eq!(other.get("tested_by"), None, "{other}");
    }
    let shown = "**Tested by**: tests/pearl.rs  \n";
    assert_eq!(reply.text().matches(shown).count(), 1, "{}", reply.text());
}

#[tokio::test]
async fn a_part_of_a_long_declaration_names_the_whole() {
    let body: String = (0..500).map(|n| format!("    weigh({n});\n")).collect();
    let long = format!("/// Weighs pearls.\npub fn weigh_pearls() {{\n{body}}}\n");
    let short = "/// Weighs boats.\npub fn weigh_boat() {}\n";
    let repo = Repo::new()
        .file("src/pearl.rs", long)
        .file("src/boat.rs", short);
    let (stack, client) = indexed(repo.commit()).await;
    let query = json!({ "query": "weigh pearls", "path_glob": "**", "limit": 20 });
    let reply = search(&stack, &client, query).await;
    let (whole, parts): (Vec<&Value>, Vec<&Value>) = results(&reply)
        .iter()
        .partition(|found| found["path"] == "src/boat.rs");
    assert_eq!(whole.len(), 1, "{}", reply.text());
    assert_eq!(whole[0].get("part_of"), None);
    assert!(parts.len() > 2, "{}", reply.text());
    for part in parts {
        let is_first = part["start_line"].as_u64().unwrap() <= 2;
        let mut expected = json!({ "start_line": 2, "end_line": 503 });
        if !is_first {
            expected["signature"] = json!("pub fn weigh_pearls()");
        }
        assert_eq!(part["part_of"], expected, "{part}");
    }
    let shown = "**Part of**: pub fn weigh_pearls() (2-503)  \n";
    assert!(reply.text().contains(shown), "{}", reply.text());
}
