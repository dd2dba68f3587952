//! The official SDKs as an agent's host uses them, in both eras, against the real thing.
//!
//! `tests/run` installs them; where they are not, as under plain `cargo test`, these tests say so
//! and pass, unless it is CI.

use std::{env, ffi::OsString, process::Stdio};

use e2e::{Repo, git};
use serde_json::Value;
use tokio::process::Command;

use crate::serve;

const TOOLS: [&str; 8] = [
    "get_repo_overview",
    "grep_codebase",
    "hello",
    "list_files",
    "list_projects",
    "read_file",
    "read_repo_file",
    "search_files",
];

#[tokio::test]
async fn the_python_client_lists_and_calls_in_the_older_era() {
    looks_around(python(), "legacy", "2025-11-25").await;
}

#[tokio::test]
async fn the_python_client_lists_and_calls_in_the_modern_era() {
    looks_around(python(), "modern", "2026-07-28").await;
}

#[tokio::test]
async fn the_typescript_client_lists_and_calls_in_the_older_era() {
    looks_around(typescript(), "legacy", "2025-11-25").await;
}

#[tokio::test]
async fn the_typescript_client_lists_and_calls_in_the_modern_era() {
    looks_around(typescript(), "modern", "2026-07-28").await;
}

fn python() -> Option<Command> {
    let mut command = Command::new(given("ARCHWAY_TEST_PYTHON")?);
    command.arg(script("python_client.py"));
    Some(command)
}

fn typescript() -> Option<Command> {
    given("ARCHWAY_TEST_NODE_CLIENT")?;
    let mut command = Command::new("node");
    command.arg(script("ts_client.mjs"));
    Some(command)
}

fn script(name: &str) -> String {
    format!("{}/clients/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn given(variable: &str) -> Option<OsString> {
    let value = env::var_os(variable);
    if value.is_none() {
        assert!(env::var_os("CI").is_none(), "{variable} is not set");
        println!("not tried: {variable} is not set; use tests/run");
    }
    value
}

async fn looks_around(command: Option<Command>, era: &str, version: &str) {
    let Some(mut command) = command else { return };
    let repo = Repo::new()
        .file("src/door.txt", "open\nsesame\n")
        .file("b.txt", "nothing")
        .commit();
    let (stack, client) = serve(repo).await;
    let url = format!("http://{}/mcp", client.address());
    command
        .args([&url, era, "ses.me"])
        .env("ARCHWAY_TEST_KEY", client.key());
    let output = command
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let saw: Value = serde_json::from_slice(&output.stdout).expect("one JSON line");

    assert_eq!(saw["protocol_version"], version);
    let tools: Vec<&str> = saw["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    for tool in TOOLS {
        assert!(tools.contains(&tool), "{tool} is listed: {tools:?}");
    }
    assert_eq!(saw["hello"]["structured"]["message"], "Hello from Archway!");
    assert_eq!(text_as_json(&saw["hello"]), saw["hello"]["structured"]);

    let grep = &saw["grep"];
    assert_eq!(grep["structured"]["totalMatches"], 1);
    assert_eq!(grep["structured"]["matches"][0]["file"], "src/door.txt");
    assert_eq!(grep["structured"]["matches"][0]["line"], 2);
    assert_eq!(text_as_json(grep), grep["structured"]);
    let head = git(&stack.folder("acme", "site"), &["rev-parse", "HEAD"]);
    assert_eq!(grep["meta"]["io.archway/commit"]["id"], head);

    assert_eq!(saw["refusal"]["is_error"], true);
    assert_eq!(
        text_as_json(&saw["refusal"])["error"]["code"],
        "invalid_pattern"
    );
}

fn text_as_json(seen: &Value) -> Value {
    serde_json::from_str(seen["text"].as_str().unwrap()).expect("the text block is JSON")
}
