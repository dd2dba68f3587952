//! Replies that fit an agent's context window: what every tool answers to a call that asks for no more than the default,
//! on a repository of 5,000 files.

use e2e::{Client, Harness, Reply, Repo, Stack, Tenant};
use serde_json::{Value, json};

/// The most bytes of a reply, for text and for data: about 4,000 tokens.
const DEFAULT_BYTES: usize = 16_000;
/// The most bytes of a file that `read_file` returns.
const FILE_BYTES: usize = 64_000;
const CURSOR_CHARACTERS: usize = 96;
const FILES: usize = 5_000;
const COMMITS: usize = 12;

/// Files of few distinct texts in folders and at the root, documents, twelve commits of 150 files, and changes that are
/// not committed.
fn large() -> Repo {
    let text = |number: usize| {
        format!("fn needle_{number}() {{\n    lantern(\"{number}\");\n}}\n").repeat(8)
    };
    let mut repo = Repo::new().file(
        "long.txt",
        "a \"quoted\" line with a lantern\n".repeat(9_000),
    );
    for file in 0..FILES - 500 {
        let path = format!("src/part{:03}/deep/module{file:04}.rs", file % 90);
        repo = repo.file(&path, text(file % 40));
    }
    for file in 0..400 {
        repo = repo.file(
            &format!("a-document-at-the-root-{file:03}.md"),
            text(file % 40),
        );
    }
    for record in 0..99 {
        let text = format!(
            "# {record}. Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Decision\n\nWe will use PostgreSQL for the lantern {record}, not MongoDB.\n"
        );
        repo = repo.file(&format!("docs/adr/{record:04}-use-postgresql.md"), text);
    }
    let pattern = "# Lantern\n\n## Rules\n\nCode MUST NOT use `needle`.\n";
    repo = repo
        .file("docs/architecture/patterns/lantern.md", pattern)
        .commit();
    for commit in 0..COMMITS {
        for file in 0..150 {
            let path = format!("changes/of-a-commit/file-number-{file:03}.txt");
            repo = repo.file(&path, format!("{commit}\n"));
        }
        repo = repo.commit();
    }
    (0..150).fold(repo, |repo, file| {
        repo.file(
            &format!("changes/of-a-commit/file-number-{file:03}.txt"),
            "dirty lantern\n".repeat(3),
        )
    })
}

/// Calls that ask for no more than the default.
fn calls() -> Vec<(&'static str, Value)> {
    let code = "needle(1);\n".repeat(3_000);
    vec![
        ("hello", json!({})),
        ("list_projects", json!({})),
        ("list_files", json!({})),
        ("list_files", json!({ "pattern": "*.rs" })),
        ("read_file", json!({ "path": "long.txt" })),
        (
            "read_repo_file",
            json!({ "path": "docs/adr/0001-use-postgresql.md" }),
        ),
        ("get_repo_overview", json!({})),
        ("search_files", json!({ "pattern": "lantern" })),
        (
            "grep_codebase",
            json!({ "pattern": "lantern", "limit": 50 }),
        ),
        (
            "grep_codebase",
            json!({ "pattern": "lantern", "project": "*" }),
        ),
        ("git_log", json!({})),
        (
            "git_log",
            json!({ "since": "HEAD~11", "until": "2199-01-01", "max_count": 3 }),
        ),
        ("git_blame", json!({ "file_path": "long.txt" })),
        ("git_diff", json!({})),
        ("find_symbol", json!({ "name": "needle_*" })),
        ("find_references", json!({ "symbol": "lantern" })),
        ("outline", json!({ "path": "src" })),
        (
            "context_search",
            json!({ "query": "the lantern of a needle" }),
        ),
        (
            "context_search",
            json!({ "query": "the lantern of a needle", "limit": 20 }),
        ),
        ("search_memory", json!({})),
        ("search_architecture", json!({})),
        ("search_architecture", json!({ "query": "lantern" })),
        (
            "check_adr_alignment",
            json!({ "decision_description": "We will use MongoDB for the lantern 7." }),
        ),
        (
            "validate_pattern",
            json!({ "code": code, "pattern_name": "lantern" }),
        ),
        (
            "write_memory_entry",
            json!({ "file": "decisions.jsonl", "entry": { "decision": "x" } }),
        ),
        (
            "record_discovery",
            json!({ "type": "rule", "content": "x" }),
        ),
    ]
}

/// The most bytes of the reply to a call.
fn most_bytes(tool: &str, arguments: &Value) -> usize {
    match (tool, arguments["limit"].as_u64()) {
        ("context_search", None) => 8_000,
        ("context_search", Some(_)) => 20_000,
        _ => DEFAULT_BYTES,
    }
}

/// The reply once there is an index.
async fn reply(stack: &Stack, client: &Client, tool: &str, arguments: &Value) -> Reply {
    let ask = async || {
        let reply = client.call(tool, arguments.clone()).await;
        let is_ready = !reply.is_error() || reply.code() != "index_not_ready";
        is_ready.then_some(reply)
    };
    stack.eventually(ask).await
}

#[tokio::test]
async fn every_tools_default_reply_is_short() {
    let tenant = Tenant::new("acme").project(
        "a-project-with-a-long-name-of-63-characters-as-a-slug-may-have",
        large(),
    );
    let stack = Harness::new().tenant(tenant).indexing().start().await;
    let client = stack.client("acme");
    for number in 0..25 {
        let entry = json!({ "event": format!("{number} {}", "words ".repeat(200)) });
        let written = json!({ "file": "progress_log.jsonl", "entry": entry });
        client
            .call("write_memory_entry", written)
            .await
            .structured();
    }
    for _ in 0..10 {
        let found = json!({ "type": "rule", "content": "lantern ".repeat(300) });
        client.call("record_discovery", found).await.structured();
    }
    let list = client.rpc("tools/list", json!({})).await.json();
    for tool in list["result"]["tools"].as_array().unwrap() {
        let is_called = calls().iter().any(|(name, _)| *name == tool["name"]);
        assert!(
            is_called,
            "{} has no call here: add one that could be long",
            tool["name"]
        );
    }
    let (mut cursors, mut too_long) = (Vec::new(), Vec::new());
    for (tool, arguments) in calls() {
        let reply = reply(&stack, &client, tool, &arguments).await;
        let mut data = reply.structured().clone();
        if let Some(cursor) = data.get("cursor").and_then(Value::as_str) {
            cursors.push((tool, cursor.len()));
        }
        let mut text = reply.text().len();
        if tool == "read_file" {
            assert_eq!(data["file"]["truncated"], true);
            assert!(data["file"]["content"].as_str().unwrap().len() <= FILE_BYTES);
            data["file"]["content"] = "".into();
            text = data.to_string().len();
        }
        let size = text.max(data.to_string().len());
        if size > most_bytes(tool, &arguments) {
            too_long.push((tool, arguments, size));
        }
    }
    assert!(too_long.is_empty(), "{too_long:?}");
    assert!(cursors.len() >= 8, "{cursors:?}");
    let long = cursors
        .iter()
        .filter(|(_, length)| *length > CURSOR_CHARACTERS);
    assert_eq!(long.count(), 0, "{cursors:?}");
}

#[tokio::test]
async fn a_caller_that_asks_for_more_gets_more() {
    let (_stack, client) = crate::serve(large()).await;
    for (tool, arguments) in [
        ("list_files", json!({ "max_depth": 10 })),
        (
            "search_files",
            json!({ "pattern": "lantern", "max_results": 1000 }),
        ),
        (
            "grep_codebase",
            json!({ "pattern": "lantern", "limit": 100 }),
        ),
        ("git_log", json!({ "max_count": 100 })),
        (
            "git_blame",
            json!({ "file_path": "long.txt", "end_line": 2000 }),
        ),
        ("git_diff", json!({ "file_path": "changes" })),
    ] {
        let reply = client.call(tool, arguments).await;
        let size = reply.structured().to_string().len();
        assert!(
            (DEFAULT_BYTES + 1..65_536).contains(&size),
            "{tool}: {size}"
        );
    }
}
