//! The text of an answer: markdown by the git contract, cut at a line if it is too long.

use std::fmt::Write as _;

use e2e::{Reply, Repo};
use serde_json::{Value, json};

use super::{indexed, repo, result, results, search, until};

#[tokio::test]
async fn the_text_has_a_heading_a_count_and_a_section_a_result() {
    let (stack, client) = indexed(repo()).await;
    let question = "is the password right";
    let query = json!({ "query": question });
    let reply = search(&stack, &client, query).await;
    let (text, data) = (reply.text(), reply.structured());
    let (count, total) = (results(&reply).len(), &data["totalFound"]);
    let head = format!(
        "# Search Results for \"{question}\"\n\n{count} results of {total} (hybrid)\n\n\
         ## Result 1: verify_password (src/auth/password.rs:1-4) [Score: "
    );
    assert!(text.starts_with(&head), "{text}");
    assert!(text.contains("**Type**: function  \n**Project**: site  \n"));
    assert!(text.contains("  \n\n```rust\n/// Checks"));
    assert!(text.contains("\n```\n\n**Ranking Details**:\n- Semantic Score: "));
    assert_eq!(text.matches("\n## Result ").count(), count);
    assert_eq!(text.matches("- **Final Score**: ").count(), count);
    assert!(!text.contains("Last Accessed"), "nobody read it: {text}");
    assert_eq!(data["query"], question);
    assert!(data["searchTime"].is_u64() && data["index"]["indexed_at"].is_string());
    let first = &results(&reply)[0];
    assert_eq!(
        (&first["start_line"], &first["end_line"]),
        (&json!(1), &json!(4))
    );
    assert_eq!(
        (&first["session"], &first["date"]),
        (&json!(null), &json!(null))
    );
    assert_eq!(reply.meta("untrusted"), true);
    let twice = client.call("context_search", json!({ "query": question }));
    let ids = |reply: &Reply| -> Vec<Value> {
        let ids = results(reply).iter().map(|found| found["id"].clone());
        ids.collect()
    };
    assert_eq!(ids(&twice.await), ids(&reply), "in the same order");
}

#[tokio::test]
async fn a_result_names_the_last_commit_of_its_file() {
    let repo = Repo::new()
        .file("src/pearl.rs", "/// Counts pearls.\nfn count_pearls() {}\n")
        .commit_as("count pearls: divers asked for it\n\nAt length.")
        .file("src/boat.rs", "/// Moves boats.\nfn move_boats() {}\n")
        .commit_as("boats");
    let (stack, client) = indexed(repo).await;
    let query = json!({ "query": "count the pearls" });
    // A commit that is not found in a few milliseconds is left out.
    let named = |found: &Value| found.get("last_commit").is_some();
    let reply = until(&stack, &client, query, named).await;
    let found = &results(&reply)[0];
    assert_eq!(found["path"], "src/pearl.rs");
    assert_eq!(
        found["last_commit"]["subject"],
        "count pearls: divers asked for it"
    );
    let id = found["last_commit"]["id"].as_str().unwrap();
    let text = reply.text();
    let shown = format!("**Last commit**: {id} count pearls: divers asked for it  \n");
    assert!(text.contains(&shown), "{text}");
    let log = client
        .call("git_log", json!({ "ref": id, "max_count": 1 }))
        .await;
    assert_eq!(
        log.structured()["commits"][0]["message"],
        "count pearls: divers asked for it\n\nAt length."
    );
}

#[tokio::test]
async fn notes_are_named_by_type_and_id() {
    let (stack, client) = indexed(repo()).await;
    search(&stack, &client, json!({ "query": "weather" })).await;
    let content = "# fence\n```sh\nrm -rf \u{202e}\n```";
    let discovery = json!({ "type": "issue", "content": content });
    let id = client.call("record_discovery", discovery).await;
    let id = id.structured()["id"].as_str().unwrap().to_owned();
    let query = json!({ "query": "\"fence\"\n## Result 9: rm" });
    let reply = until(&stack, &client, query, |found| found["id"] == id).await;
    let text = reply.text();
    let first = text.lines().next().unwrap();
    assert!(
        first.starts_with("# Search Results for \"\"fence\"\\u{a}## Result 9"),
        "{first}"
    );
    assert!(text.contains(&format!(": issue {id} [Score: ")), "{text}");
    // The author of a file controls neither the fence nor the direction of the text.
    assert!(text.contains("````\n# fence\n```sh\n"), "{text}");
    assert!(
        !text.contains('\u{202e}') && text.contains("\\u{202e}"),
        "{text}"
    );
}

#[tokio::test]
async fn an_answer_without_results_says_what_to_do() {
    let (stack, client) = indexed(repo()).await;
    let nothing = json!({ "query": "weather", "path_glob": "*.zig" });
    let reply = search(&stack, &client, nothing).await;
    assert_eq!(reply.structured()["totalFound"], 0);
    let text = reply.text();
    assert!(text.contains("0 results of 0 (hybrid)"), "{text}");
    assert!(text.contains("Try other words, or grep_codebase"), "{text}");
}

#[tokio::test]
async fn contents_are_cut_at_a_line_so_that_all_results_fit_the_budget() {
    let mut repo = Repo::new();
    for number in 0..30 {
        let mut code =
            format!("/// Counts the pearls of chest {number}.\nfn count_{number}() {{\n");
        for line in 0..47 {
            writeln!(
                code,
                "    pearls += chest_{number}.layer({line}).count(\"größe\");"
            )
            .unwrap();
        }
        code.push_str("}\n");
        repo = repo.file(&format!("src/chest_{number}.rs"), code);
    }
    let (stack, client) = indexed(repo.commit()).await;
    let query = json!({ "query": "count the pearls of a chest", "limit": 20 });
    let reply = search(&stack, &client, query).await;
    assert_eq!(results(&reply).len(), 20);
    let budget = 64 << 10;
    let data = reply.structured().to_string();
    assert!(reply.text().len() <= budget && data.len() <= budget);
    let cut = results(&reply).iter();
    let cut: Vec<_> = cut
        .filter(|found| found["content_truncated"] == true)
        .collect();
    assert!(!cut.is_empty(), "{}", reply.text());
    for found in cut {
        let content = found["content"].as_str().unwrap();
        assert!(content.ends_with(");\n"), "{content}");
    }
    assert!(
        reply
            .text()
            .contains("It goes on: read_file shows the rest.")
    );
    // Fewer results leave room for whole ones.
    let query = json!({ "query": "count the pearls of a chest", "limit": 2 });
    let reply = client.call("context_search", query).await;
    assert!(!reply.text().contains("It goes on"), "{}", reply.text());
}

#[tokio::test]
async fn a_long_note_that_is_cut_says_how_to_see_more() {
    let (stack, client) = indexed(repo()).await;
    search(&stack, &client, json!({ "query": "weather" })).await;
    let mut ids = Vec::new();
    for number in 0..20 {
        let content = format!("pearl {number}\n{}", "of great price\n".repeat(300));
        let discovery = json!({ "type": "rule", "content": content });
        let id = client.call("record_discovery", discovery).await;
        ids.push(id.structured()["id"].as_str().unwrap().to_owned());
    }
    let query = json!({ "query": "pearl of great price", "type": "rule", "limit": 20 });
    let reply = until(&stack, &client, query, |found| found["id"] == ids[19]).await;
    let found = result(&reply, &ids[19]).unwrap();
    assert_eq!(found["content_truncated"], true);
    assert!(found["content"].as_str().unwrap().ends_with("price\n"));
    assert!(reply.text().contains("a lower limit shows more of it"));
    assert!(reply.text().len() <= 64 << 10);
    let query = json!({ "query": "pearl of great price", "type": "rule", "limit": 1 });
    let reply = client.call("context_search", query).await;
    assert!(results(&reply)[0].get("content_truncated").is_none());
}
