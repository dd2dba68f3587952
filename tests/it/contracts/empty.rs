//! An answer without results says what to do next, in the text and in the data.

use e2e::Repo;
use serde_json::json;

use super::both;
use crate::serve;

#[tokio::test]
async fn an_empty_answer_says_what_to_do_next() {
    let repo = Repo::new()
        .file("a.txt", "needle\n")
        .file("docs/adr/0001-use-postgres.md", "# Use Postgres\n")
        .commit();
    let (_stack, client) = serve(repo).await;
    for (tool, arguments, expected) in [
        (
            "search_files",
            json!({ "pattern": "nail" }),
            "Try a shorter text, or context_search",
        ),
        (
            "search_files",
            json!({ "pattern": "n.il", "is_regex": true }),
            "It is a regular expression within one line",
        ),
        (
            "search_files",
            json!({ "pattern": "nail", "glob": "*.txt" }),
            "Try it without glob",
        ),
        (
            "search_files",
            json!({ "pattern": "needle", "glob": "*.rs" }),
            "none fits glob",
        ),
        (
            "list_files",
            json!({ "pattern": "*.rs" }),
            "try *name*, or include_hidden",
        ),
        (
            "list_files",
            json!({ "pattern": "*.rs", "max_depth": 1 }),
            "leave out max_depth",
        ),
        (
            "list_projects",
            json!({ "query": "nonesuch" }),
            "leave out query",
        ),
        (
            "search_memory",
            json!({}),
            "write_memory_entry and record_discovery write",
        ),
        (
            "search_memory",
            json!({ "query": "nail" }),
            "leave out query, file",
        ),
        (
            "search_architecture",
            json!({ "query": "zzyzzx" }),
            "leave out query and resource_type",
        ),
        (
            "search_architecture",
            json!({ "resource_type": "patterns" }),
            "of this resource_type: leave it out",
        ),
    ] {
        let reply = client.call(tool, arguments.clone()).await;
        let data = both(&reply);
        let said = [&data["message"], &data["note"]];
        let said = said.iter().find_map(|it| it.as_str()).unwrap_or_default();
        assert!(said.contains(expected), "{tool} {arguments}: {data}");
    }
}

#[tokio::test]
async fn an_answer_with_results_has_no_message() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "needle\n").commit()).await;
    for (tool, arguments) in [
        ("search_files", json!({ "pattern": "needle" })),
        ("list_files", json!({ "pattern": "*.txt" })),
        ("list_projects", json!({})),
    ] {
        let reply = client.call(tool, arguments).await;
        assert!(both(&reply).get("message").is_none(), "{tool}");
    }
}
