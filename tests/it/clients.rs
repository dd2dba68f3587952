//! Real clients as an agent's host uses them, in both eras and against the real server: they list and
//! call tools, read resources, get prompts, show failures, receive progress, and continue after a gateway
//! is replaced.
//!
//! The programs are in `tests/clients/`, with a table of what each shows its caller. `tests/run` installs
//! what they need.

use std::process::Stdio;

use e2e::{Client, Harness, Key, Repo, Stack, Tenant, git};
use serde_json::Value;
use tokio::process::Command;

use crate::programs::{Talk, given};

mod inspector;
mod limited;
mod logs;

const TOOLS: [&str; 11] = [
    "get_repo_overview",
    "git_blame",
    "git_diff",
    "git_log",
    "grep_codebase",
    "hello",
    "list_files",
    "list_projects",
    "read_file",
    "read_repo_file",
    "search_files",
];

/// The MCP era, in the words of the programs.
#[derive(Clone, Copy)]
enum Era {
    Legacy,
    Modern,
}

impl Era {
    fn name(self) -> &'static str {
        match self {
            Era::Legacy => "legacy",
            Era::Modern => "modern",
        }
    }

    fn revision(self) -> &'static str {
        match self {
            Era::Legacy => "2025-11-25",
            Era::Modern => "2026-07-28",
        }
    }
}

#[tokio::test]
async fn the_python_client_works_in_the_older_era_and_outlives_a_gateway() {
    works(python(), Era::Legacy).await;
}

#[tokio::test]
async fn the_python_client_works_in_the_modern_era_and_outlives_a_gateway() {
    works(python(), Era::Modern).await;
}

#[tokio::test]
async fn the_typescript_client_works_in_the_older_era_and_outlives_a_gateway() {
    works(typescript(), Era::Legacy).await;
}

#[tokio::test]
async fn the_typescript_client_works_in_the_modern_era_and_outlives_a_gateway() {
    works(typescript(), Era::Modern).await;
}

#[tokio::test]
async fn fastmcp_works_in_the_older_era_and_outlives_a_gateway() {
    works(fastmcp(), Era::Legacy).await;
}

#[tokio::test]
async fn fastmcp_works_in_the_modern_era_and_outlives_a_gateway() {
    works(fastmcp(), Era::Modern).await;
}

fn python() -> Option<Command> {
    let mut command = Command::new(given("ARCHWAY_TEST_PYTHON")?);
    command.arg(script("python_client.py"));
    Some(command)
}

fn fastmcp() -> Option<Command> {
    let mut command = Command::new(given("ARCHWAY_TEST_FASTMCP")?);
    command.arg(script("fastmcp_client.py"));
    Some(command)
}

fn typescript() -> Option<Command> {
    given("ARCHWAY_TEST_NODE_CLIENT")?;
    let mut command = Command::new(given("ARCHWAY_TEST_NODE")?);
    command.arg(script("ts_client.mjs"));
    Some(command)
}

fn script(name: &str) -> String {
    format!("{}/clients/{name}", env!("CARGO_MANIFEST_DIR"))
}

const ADR: &str = "# Use Postgres\n\n## Status\n\nAccepted\n";
const PROMPT: &str = r#"{"name": "greet", "description": "Greets",
    "arguments": [{"name": "who", "description": "Whom", "required": true}],
    "messages": [{"role": "user", "content": {"type": "text", "text": "Hello {{who}}."}}]}"#;

/// `replicas` gateways, two projects, and a client whose default is the first project.
async fn serve(replicas: usize) -> (Stack, Client) {
    let site = Repo::new()
        .file("src/door.txt", "open\nsesame\n")
        .file("b.txt", "nothing")
        .file("docs/adr/0001-use-postgres.md", ADR)
        .file(".archway/prompts/greet.json", PROMPT);
    let acme = Tenant::new("acme")
        .project("site", site.commit())
        .project("zoo", Repo::new().file("a.txt", "sesame").commit())
        .key(Key::new("agent").default_project("site"));
    let stack = Harness::new().tenant(acme).replicas(replicas).start().await;
    let client = stack.keyed("acme", "agent");
    (stack, client)
}

async fn works(command: Option<Command>, era: Era) {
    let Some(mut command) = command else { return };
    let (mut stack, client) = serve(1).await;
    let url = format!("http://{}/mcp", client.address());
    command
        .args([&url, era.name()])
        .env("ARCHWAY_TEST_KEY", client.key())
        .stderr(Stdio::inherit());
    let mut talk = Talk::start(command);
    let saw: Value = talk.hear().await;
    assert_eq!(saw["protocol_version"], era.revision());
    lists_and_calls(&saw, &stack);
    is_told_of_failures(&saw);
    hears_progress(&saw);
    reads(&saw["reads"]);

    stack.restart(0).await;
    talk.say("go on").await;
    let later = talk.hear().await;
    assert_eq!(
        later["hello"]["structured"]["message"], "Hello from Archway!",
        "after a restart: {later}"
    );
    talk.end().await;
}

fn lists_and_calls(saw: &Value, stack: &Stack) {
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
}

/// Each form of failure says what failed, why, and what to do next.
fn is_told_of_failures(saw: &Value) {
    for (call, code) in [
        ("failure", "invalid_pattern"),
        ("invalid", "invalid_arguments"),
    ] {
        let told = &saw[call];
        // fastmcp raises what the others return.
        assert!(
            told["is_error"] == true || told["raised"] == "ToolError",
            "{told}"
        );
        let error = &text_as_json(told)["error"];
        assert_eq!(error["code"], code);
        assert!(error["message"].as_str().unwrap().contains("pattern"));
        assert!(error["suggestion"].as_str().unwrap().contains("correct"));
    }
    let unknown = &saw["unknown"];
    assert!(unknown["raised"].is_string(), "{unknown}");
    let text = unknown["text"].as_str().unwrap();
    assert!(text.starts_with("unknown tool \"no_such_tool\""), "{text}");
}

fn hears_progress(saw: &Value) {
    assert_eq!(saw["everywhere"]["structured"]["totalMatches"], 2);
    let steps = saw["progress"].as_array().unwrap();
    assert!(!steps.is_empty(), "no progress was reported");
    for (done, step) in steps.iter().enumerate() {
        let (progress, total) = (step[0].as_f64(), step[1].as_f64());
        assert_eq!((progress, total), (Some(done as f64), Some(2.0)));
    }
}

/// Resources and prompts are listed and read, and unknown ones are reported.
fn reads(saw: &Value) {
    let has = |list: &str, one: &str| {
        let found = saw[list].as_array().unwrap();
        assert!(found.iter().any(|it| it == one), "{list} has {one}: {saw}");
    };
    has("resources", "architecture://adr/0001-use-postgres");
    has("templates", "architecture://{kind}/{slug}");
    has("prompts", "greet");
    assert_eq!(saw["read"], ADR);
    assert_eq!(saw["prompt"], "Hello Ada.");
    for (request, named) in [("no_resource", "0001-use-postgresx"), ("no_prompt", "who")] {
        let told = &saw[request];
        assert!(told["raised"].is_string(), "{request}: {told}");
        let text = told["text"].as_str().unwrap();
        assert!(text.contains(named), "{request}: {text}");
    }
}

fn text_as_json(told: &Value) -> Value {
    serde_json::from_str(told["text"].as_str().unwrap()).expect("the text is JSON")
}
