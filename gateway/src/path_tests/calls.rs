//! Calls: to the worker and back.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::Harness;

#[tokio::test]
async fn a_call_uses_the_advertised_spelling_and_returns_unchanged() {
    let harness = Harness::start().await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let extra = format!("traceparent: 00-{trace}-00f067aa0ba902b7-01\r\n");
    let body = json!({
        "jsonrpc": "2.0", "id": "x", "method": "tools/call",
        "params": { "name": "echo", "arguments": { "maxDepth": 2.0 } },
    });
    let (status, head, body) = harness.post(&extra, &body).await;
    assert_eq!(status, 200, "{body}");
    assert!(head.contains("content-type: application/json"), "{head}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    let told = json!({
        "arguments": { "max_depth": 2 }, "tenant": "acme", "trace": trace, "seconds": 10,
    });
    assert_eq!(answer["id"], "x");
    assert_eq!(answer["result"]["structuredContent"], told);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), told);
    assert!(
        answer["result"]["_meta"]["io.archway/durationMs"]
            .as_f64()
            .unwrap()
            > 0.0
    );
    assert!(answer["result"].get("resultType").is_none());
    let (status, answer) = harness
        .ask_modern("tools/call", json!({ "name": "echo" }))
        .await;
    assert_eq!(
        (status, &answer["result"]["resultType"]),
        (200, &json!("complete"))
    );
}

#[tokio::test]
async fn what_an_agent_can_correct_is_a_result() {
    let (harness, hasty) = (Harness::start().await, Harness::with_deadline(1).await);
    assert_eq!(harness.call("echo", Value::Null).await.get("isError"), None);
    for (tool, arguments, code) in [
        ("echo", json!({ "max_depth": 10 }), "invalid_arguments"),
        ("pages", json!({ "cursor": "5" }), "invalid_arguments"),
        ("hang", json!({}), "deadline_exceeded"),
        ("status", json!({}), "internal_error"),
        ("garbage", json!({}), "internal_error"),
    ] {
        let harness = if tool == "hang" { &hasty } else { &harness };
        let result = harness.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{tool}");
        assert_eq!(
            result["_meta"]["io.archway/error"]["error"]["code"], code,
            "{tool}"
        );
        assert!(!result.to_string().contains("/host/path"));
    }
}

#[tokio::test]
async fn pages_continue_with_sealed_cursors() {
    let harness = Harness::start().await;
    let first = harness.call("pages", json!({ "max_depth": 1 })).await;
    let cursor = first["structuredContent"]["cursor"].clone();
    assert_ne!(cursor, "5");
    assert!(first["_meta"].get("io.archway/cursor").is_none());
    let next = harness
        .call("pages", json!({ "maxDepth": 1, "cursor": cursor }))
        .await;
    assert_eq!(next["structuredContent"]["arguments"]["cursor"], "5");
    let other = harness
        .call("pages", json!({ "max_depth": 2, "cursor": cursor }))
        .await;
    assert_eq!(other["isError"], true);
}

#[tokio::test]
async fn a_client_that_accepts_only_events_gets_events() {
    let harness = Harness::start().await;
    for method in ["tools/list", "tools/call", "prompts/get", "no/such"] {
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "name": "echo" } });
        let body = body.to_string();
        let head = harness
            .head(body.len(), "")
            .replace("application/json, text", "text");
        let (status, head, body) = harness.raw(&format!("{head}{body}")).await;
        assert_eq!(status, 200);
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        assert!(body.contains("event: message\ndata: {"), "{body}");
    }
}

#[tokio::test]
async fn a_call_goes_to_a_reachable_worker() {
    let harness = Harness::with_dead_workers().await;
    for _ in 0..6 {
        let result = harness.call("echo", json!({})).await;
        assert_eq!(result["structuredContent"]["tenant"], "acme", "{result}");
    }
}

#[tokio::test]
async fn a_result_does_not_wait_for_the_end_of_its_stream() {
    let mut harness = Harness::start().await;
    let asked = Instant::now();
    let result = harness.call("lingers", json!({})).await;
    assert_eq!(result["structuredContent"]["tenant"], "acme", "{result}");
    assert!(
        asked.elapsed() < Duration::from_secs(4),
        "{:?}",
        asked.elapsed()
    );
    // The worker sees that nobody reads its stream, and is free for the next call.
    for _ in 0..2 {
        let seen = timeout(Duration::from_secs(20), harness.seen.recv()).await;
        assert!(matches!(seen, Ok(Some(_))), "{seen:?}");
    }
    assert_eq!(harness.call("echo", json!({})).await.get("isError"), None);
}
