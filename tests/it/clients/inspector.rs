//! The MCP Inspector's command line: one process per call, through three gateways in turn.
//!
//! It shows no progress and keeps no connection, so a restart cannot interrupt it. A second list stands
//! in for that test.

use e2e::{Proxy, git};
use serde_json::{Value, json};

use super::{Era, TOOLS, serve};
use crate::programs;

#[tokio::test]
async fn the_inspector_lists_calls_and_shows_failures_in_the_older_era() {
    inspects(Era::Legacy).await;
}

#[tokio::test]
async fn the_inspector_lists_calls_and_shows_failures_in_the_modern_era() {
    inspects(Era::Modern).await;
}

async fn inspects(era: Era) {
    if programs::node("ARCHWAY_TEST_INSPECTOR").is_none() {
        return;
    }
    let (mut stack, client) = serve(3).await;
    let mut proxy = Proxy::bind().await;
    proxy.serve(stack.gateways(), client.key());
    let inspector = Inspector::new(proxy.url(), era);
    let listed = inspector.list().await;
    for tool in TOOLS {
        assert!(listed.contains(&tool.to_owned()), "{tool}: {listed:?}");
    }
    let grep = inspector
        .call("grep_codebase", json!({ "pattern": "ses.me" }))
        .await;
    let result = &grep.stdout["result"];
    assert_eq!(result["structuredContent"]["totalMatches"], 1, "{result}");
    let head = git(&stack.folder("acme", "site"), &["rev-parse", "HEAD"]);
    assert_eq!(result["_meta"]["io.archway/commit"]["id"], head);

    for (pattern, code) in [
        (json!("("), "invalid_pattern"),
        (json!(7), "invalid_arguments"),
    ] {
        let failure = inspector
            .call("grep_codebase", json!({ "pattern": pattern }))
            .await;
        assert!(!failure.success);
        assert_eq!(failure.stderr["error"]["code"], "tool_is_error");
        let result = &failure.stdout["result"];
        assert_eq!(result["isError"], true);
        let text = result["content"][0]["text"].as_str().unwrap();
        let told: Value = serde_json::from_str(text).unwrap();
        assert_eq!(told["error"]["code"], code);
    }
    let unknown = inspector.call("no_such_tool", json!({})).await;
    assert!(!unknown.success);
    assert_eq!(unknown.stderr["error"]["code"], "tool_not_found");

    for gateway in 0..3 {
        stack.restart(gateway).await;
    }
    assert_eq!(inspector.list().await, listed);
    let spoken = proxy.revisions();
    assert!(
        spoken.iter().all(|revision| revision == era.revision()) && !spoken.is_empty(),
        "{spoken:?}"
    );
}

pub(super) struct Inspector {
    url: String,
    era: Era,
    /// The credential header, if any.
    header: Option<String>,
    /// A home directory for its files.
    home: tempfile::TempDir,
}

/// The Inspector's output.
pub(super) struct InspectorOutput {
    pub(super) success: bool,
    pub(super) stdout: Value,
    pub(super) stderr: Value,
}

impl Inspector {
    pub(super) fn new(url: String, era: Era) -> Inspector {
        Inspector {
            url,
            era,
            header: None,
            home: tempfile::tempdir().unwrap(),
        }
    }

    pub(super) fn with_key(mut self, key: &str) -> Inspector {
        self.header = Some(format!("Authorization: Bearer {key}"));
        self
    }

    async fn list(&self) -> Vec<String> {
        let shown = self.run(&["--method", "tools/list", "--strict"]).await;
        assert!(shown.success, "{}", shown.stderr);
        let tools = shown.stdout["result"]["tools"].as_array().unwrap();
        let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
        names.map(str::to_owned).collect()
    }

    pub(super) async fn call(&self, tool: &str, arguments: Value) -> InspectorOutput {
        let arguments = arguments.to_string();
        let call = ["--method", "tools/call", "--tool-name", tool];
        let call = [&call[..], &["--tool-args-json", &arguments]].concat();
        self.run(&call).await
    }

    pub(super) async fn run(&self, arguments: &[&str]) -> InspectorOutput {
        let mut command = programs::node("ARCHWAY_TEST_INSPECTOR").unwrap();
        command
            .args(["--cli", &self.url, "--transport", "http"])
            .args(["--format", "json", "--quiet"])
            .args(["--protocol-era", self.era.name()])
            .args(self.header.iter().flat_map(|header| ["--header", header]))
            .args(arguments)
            .env("HOME", self.home.path());
        let outcome = programs::run(command).await;
        let json = |text: &str| serde_json::from_str(text).unwrap_or(Value::from(text));
        InspectorOutput {
            success: outcome.success,
            stdout: json(&outcome.stdout),
            stderr: json(&outcome.stderr),
        }
    }
}
