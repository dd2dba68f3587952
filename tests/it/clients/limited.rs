//! How each client shows a spent limit, of a tool call and of other requests. What it shows a model is in
//! `tests/clients/README.md`.

use std::process::Stdio;

use archway_gateway::terms::Level;
use e2e::{Harness, Repo, Stack, Tenant};
use serde_json::{Value, json};
use tokio::process::Command;

use super::{Era, fastmcp, inspector::Inspector, python, text_as_json, typescript};
use crate::programs;

#[tokio::test]
async fn the_python_client_sees_limits_and_waits_in_the_legacy_era() {
    is_told(python(), Era::Legacy).await;
}

#[tokio::test]
async fn the_python_client_sees_limits_and_waits_in_the_modern_era() {
    is_told(python(), Era::Modern).await;
}

#[tokio::test]
async fn fastmcp_sees_limits_and_waits_in_the_legacy_era() {
    is_told(fastmcp(), Era::Legacy).await;
}

#[tokio::test]
async fn fastmcp_sees_limits_and_waits_in_the_modern_era() {
    is_told(fastmcp(), Era::Modern).await;
}

#[tokio::test]
async fn the_typescript_client_sees_limits_and_waits_in_the_legacy_era() {
    is_told(typescript(), Era::Legacy).await;
}

#[tokio::test]
async fn the_typescript_client_sees_limits_and_waits_in_the_modern_era() {
    is_told(typescript(), Era::Modern).await;
}

#[tokio::test]
async fn the_inspector_prints_spent_limits_in_the_legacy_era() {
    prints(Era::Legacy).await;
}

#[tokio::test]
async fn the_inspector_prints_spent_limits_in_the_modern_era() {
    prints(Era::Modern).await;
}

/// A tenant with one `hello` and this many messages per minute.
async fn serve(messages: u32) -> Stack {
    let acme = Tenant::new("acme")
        .project("site", Repo::new().file("a.txt", "a").commit())
        .limit(Level::Key, "hello", 1)
        .limit(Level::Key, "total", messages);
    Harness::new().tenant(acme).start().await
}

async fn is_told(command: Option<Command>, era: Era) {
    let Some(mut command) = command else { return };
    let stack = serve(20).await;
    let client = stack.client("acme");
    command
        .args([&url(&stack), era.name(), "limited"])
        .env("ARCHWAY_TEST_KEY", client.key())
        .stderr(Stdio::inherit());
    let outcome = programs::run(command).await;
    assert!(outcome.success, "{}", outcome.stderr);
    let saw: Value = serde_json::from_str(&outcome.stdout).unwrap();
    for (call, of, limit) in [("call", "hello", 1), ("spent", "total", 20)] {
        let told = &saw[call];
        // fastmcp raises what the others return.
        assert!(
            told["is_error"] == true || told["raised"] == "ToolError",
            "{told}"
        );
        is_refusal(&text_as_json(told), of, limit);
    }
    for request in ["list", "connect"] {
        let text = saw[request]["text"].as_str().unwrap();
        let (_, wait) = text
            .split_once("the key's limit of 20 units a minute is spent: wait ")
            .unwrap_or_else(|| panic!("{request}: {text}"));
        assert!(wait.contains(" seconds"), "{request}: {text}");
    }
}

fn is_refusal(text: &Value, of: &str, limit: u32) {
    let error = &text["error"];
    assert_eq!(error["code"], "rate_limited", "{error}");
    assert!(error["suggestion"].as_str().unwrap().starts_with("wait "));
    let details = &error["details"];
    assert_eq!(details["scope"], "key");
    assert_eq!(
        (&details["of"], &details["limit"]),
        (&json!(of), &json!(limit))
    );
    assert_eq!(details["remaining"], 0);
    let wait = details["retry_after_seconds"].as_f64().unwrap();
    assert!((0.001..=60.0).contains(&wait), "{wait}");
}

async fn prints(era: Era) {
    if programs::node("ARCHWAY_TEST_INSPECTOR").is_none() {
        return;
    }
    // Each call of the Inspector connects and lists the tools first.
    let stack = serve(14).await;
    let inspector = Inspector::new(url(&stack), era).with_key(stack.client("acme").key());
    let first = inspector.call("hello", json!({})).await;
    assert!(first.success, "{}", first.stderr);
    let second = inspector.call("hello", json!({})).await;
    assert_eq!(second.stderr["error"]["code"], "tool_is_error");
    let text = &second.stdout["result"]["content"][0]["text"];
    let told = serde_json::from_str(text.as_str().unwrap()).unwrap();
    is_refusal(&told, "hello", 1);

    let mut refused = None;
    // Enough calls to spend the messages, however cheap a list is. Until then a message may be refused in
    // the middle of a run, which fails differently.
    for _ in 0..40 {
        let shown = inspector.run(&["--method", "tools/list"]).await;
        if !shown.success && shown.stderr["error"]["status"] == 429 {
            refused = Some(shown.stderr);
            break;
        }
    }
    let error = &refused.expect("a list that was refused by 429")["error"];
    let text = error["message"].as_str().unwrap();
    let spent = "the key's limit of 14 units a minute is spent: wait ";
    assert!(text.contains(spent), "{text}");
}

fn url(stack: &Stack) -> String {
    format!("http://{}/mcp", stack.gateways()[0])
}
