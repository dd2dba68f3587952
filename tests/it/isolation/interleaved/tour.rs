//! Each tenant sees its own words. Otherwise their absence from the other's answers would prove nothing.

use e2e::Stack;
use serde_json::{Value, json};

use super::{planted::Planted, witness::Witness};

/// Finds the word of every place by a call whose answer contains it, as the witness would catch it for
/// the other tenant.
pub(super) async fn tour(stack: &Stack, planted: &Planted, other: &Planted) {
    let client = stack.client(planted.tenant);
    let caught = Witness::new(other, planted);
    let mut missed = Vec::new();
    for (place, method, params) in ways(planted) {
        let seen = async || {
            let answer = client.rpc(method, params.clone()).await;
            let word = format!("{place} ({})", planted.at(place));
            let mut leaks = caught.judge(&answer).into_iter();
            leaks.find(|leak| leak.ends_with(&word))
        };
        // The index and the projects' names appear after a while, all else at once.
        match place {
            "discovery" | "display name" => drop(stack.eventually(seen).await),
            _ if seen().await.is_none() => {
                let answer = client.rpc(method, params.clone()).await.text();
                missed.push(format!("{place}: {params} → {answer}"));
            }
            _ => {}
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

type Way = (&'static str, &'static str, Value);

fn ways(planted: &Planted) -> Vec<Way> {
    let files = calls(planted)
        .into_iter()
        .map(|(place, tool, mut arguments)| {
            arguments["project"] = json!("site");
            let params = json!({ "name": tool, "arguments": arguments });
            (place, "tools/call", params)
        });
    files.chain(others(planted)).collect()
}

/// Through calls of tools about a project.
fn calls(planted: &Planted) -> Vec<Way> {
    let at = |place| planted.at(place);
    let file = format!("{}/{}.rs", at("folder"), at("file"));
    let code = format!("{}()", at("pattern text"));
    let branch = json!({ "path": "src/lib.rs", "ref": at("branch") });
    vec![
        ("content", "read_file", json!({ "path": file.clone() })),
        (
            "symbol",
            "grep_codebase",
            json!({ "pattern": at("symbol") }),
        ),
        (
            "symbol",
            "find_symbol",
            json!({ "name": format!("*{}", at("symbol")) }),
        ),
        ("symbol", "outline", json!({ "path": file })),
        ("uncommitted", "read_file", json!({ "path": "src/lib.rs" })),
        (
            "removed line",
            "git_diff",
            json!({ "ref1": "HEAD~1", "ref2": "HEAD" }),
        ),
        ("author", "git_log", json!({ "max_count": 5 })),
        ("address", "git_log", json!({ "max_count": 5 })),
        ("message", "git_log", json!({ "max_count": 5 })),
        ("branch content", "read_file", branch),
        (
            "decision title",
            "search_architecture",
            json!({ "query": at("decision text") }),
        ),
        ("event", "search_memory", json!({})),
        ("entry", "search_memory", json!({ "query": at("entry") })),
        (
            "discovery",
            "context_search",
            json!({ "query": at("discovery") }),
        ),
        ("file", "list_files", json!({})),
        ("folder", "get_repo_overview", json!({})),
        (
            "pattern text",
            "validate_pattern",
            json!({ "pattern_name": at("pattern"), "code": code }),
        ),
    ]
}

/// Through resources, prompts and calls about no single project.
fn others(planted: &Planted) -> Vec<Way> {
    let at = |place| planted.at(place);
    let read = |place, uri: String| (place, "resources/read", json!({ "uri": uri }));
    let list = json!({ "name": "list_projects", "arguments": {} });
    let prompt = json!({ "name": format!("site/{}", at("prompt")) });
    vec![
        ("display name", "tools/call", list.clone()),
        ("slug", "tools/call", list),
        read(
            "decision text",
            format!("architecture://site/adr/0001-{}", at("decision")),
        ),
        read(
            "guideline text",
            "architecture://site/guideline/common".to_owned(),
        ),
        read("second content", format!("repo://{}/lib.rs", at("slug"))),
        ("decision", "resources/list", json!({})),
        ("pattern", "resources/list", json!({})),
        ("prompt", "prompts/list", json!({})),
        ("prompt description", "prompts/list", json!({})),
        ("prompt text", "prompts/get", prompt),
    ]
}
