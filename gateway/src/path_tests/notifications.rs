//! What a client receives before the result of a call: progress and log messages.

use serde_json::{Value, json};

use super::{Harness, modern};

const LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// The messages of an event stream.
fn events((status, head, body): (u16, String, String)) -> Vec<Value> {
    assert_eq!(status, 200, "{body}");
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    // Events have no id from which a client could resume, so none is ever repeated.
    assert!(!body.lines().any(|line| line.starts_with("id:")), "{body}");
    body.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// A call of 2026-07-28 by a client that accepts both forms.
async fn answer_to(harness: &Harness, tool: &str, meta: Value) -> (u16, String, String) {
    let (extra, body) = modern("tools/call", json!({ "name": tool, "_meta": meta }));
    harness.post(&extra, &body).await
}

fn older(tool: &str, meta: Value) -> Value {
    json!({
        "jsonrpc": "2.0", "id": 9, "method": "tools/call",
        "params": { "name": tool, "_meta": meta },
    })
}

fn dropped(harness: &Harness, reason: &str) -> u64 {
    let text = harness.metrics.text().unwrap();
    let name = format!(r#"archway_gateway_log_events_dropped_total{{reason="{reason}"}} "#);
    let count = text.lines().find_map(|line| line.strip_prefix(&*name));
    count.map_or(0, |count| count.parse().unwrap())
}

#[tokio::test]
async fn progress_is_streamed_under_the_clients_token_in_both_eras() {
    let harness = Harness::start().await;
    for token in [
        json!("t"),
        json!(""),
        json!("é \"\n"),
        json!(0),
        json!(-7),
        json!(u64::MAX),
    ] {
        let meta = json!({ "progressToken": token });
        let old = harness.post("", &older("progress", meta.clone())).await;
        let new = answer_to(&harness, "progress", meta).await;
        for answer in [old, new] {
            let events = events(answer);
            let [one, two, answer] = &events[..] else {
                panic!("{token}: {events:?}")
            };
            assert_eq!(one["method"], "notifications/progress");
            assert_eq!(one["params"]["progressToken"], token);
            assert_eq!(one["params"]["progress"], 1.0);
            assert_eq!(two["params"]["progress"], 2.0);
            assert_eq!(two["params"]["total"], 2.0);
            assert!(answer["id"].is_number() && answer["result"].is_object());
        }
    }
}

#[tokio::test]
async fn a_progress_token_is_a_string_or_an_integer() {
    let harness = Harness::start().await;
    for token in [json!(null), json!(1.5), json!(true), json!([]), json!({})] {
        let meta = json!({ "progressToken": token });
        let (status, _, body) = harness.post("", &older("progress", meta.clone())).await;
        assert_eq!(status, 400, "{token}: {body}");
        let (status, _, body) = answer_to(&harness, "progress", meta).await;
        assert_eq!(status, 400, "{token}: {body}");
        assert!(body.contains("-32602"), "{body}");
    }
}

#[tokio::test]
async fn without_a_request_or_accepted_events_there_is_one_plain_answer() {
    let harness = Harness::start().await;
    for tool in ["progress", "logs"] {
        let silent = [
            harness.post("", &older(tool, json!({}))).await,
            answer_to(&harness, tool, json!({})).await,
        ];
        for (status, head, body) in silent {
            assert_eq!(status, 200, "{body}");
            assert!(head.contains("content-type: application/json"), "{head}");
        }
        let meta = json!({ "progressToken": 1, LEVEL: "debug" });
        let (extra, body) = modern("tools/call", json!({ "name": tool, "_meta": meta }));
        let body = body.to_string();
        let head = harness.head(body.len(), &extra);
        let head = head.replace("application/json, text/event-stream", "application/json");
        let (status, head, body) = harness.raw(&format!("{head}{body}")).await;
        assert_eq!(status, 200, "{body}");
        assert!(head.contains("content-type: application/json"), "{head}");
    }
}

#[tokio::test]
async fn log_messages_are_sent_from_the_requested_level_on() {
    let harness = Harness::start().await;
    for (level, names) in [
        ("emergency", &["emergency"][..]),
        (
            "warning",
            &["emergency", "alert", "critical", "error", "warning"],
        ),
    ] {
        let mut events = events(answer_to(&harness, "logs", json!({ LEVEL: level })).await);
        let answer = events.pop().unwrap();
        assert!(
            answer["result"]["structuredContent"].is_object(),
            "{answer}"
        );
        let told: Vec<&Value> = events
            .iter()
            .map(|event| &event["params"]["level"])
            .collect();
        assert_eq!(told, names, "{level}");
        for event in &events {
            assert_eq!(event["method"], "notifications/message");
            assert_eq!(event["params"]["data"], json!({ "said": ["x"] }));
            assert_eq!(event["params"]["logger"], "scripted");
        }
    }
    let all = events(answer_to(&harness, "logs", json!({ LEVEL: "debug" })).await);
    assert_eq!(all.len(), 8 + 1);
}

#[tokio::test]
async fn every_method_rejects_an_unknown_log_level() {
    let harness = Harness::start().await;
    for level in [
        json!("loud"),
        json!("Info"),
        json!(3),
        json!(null),
        json!(""),
    ] {
        for method in ["tools/call", "tools/list", "server/discover"] {
            let meta = json!({ LEVEL: level });
            let params = json!({ "_meta": meta });
            let (status, answer) = harness.ask_modern(method, params).await;
            let told = (status, answer["error"]["code"].as_i64());
            assert_eq!(told, (400, Some(-32602)), "{method} {level}: {answer}");
        }
    }
}

#[tokio::test]
async fn a_flood_of_log_messages_is_bounded_and_counted() {
    let harness = Harness::start().await;
    let mut events = events(answer_to(&harness, "flood", json!({ LEVEL: "error" })).await);
    assert!(events.pop().unwrap()["result"].is_object());
    // 64 messages of 64 KiB, and those without JSON, UTF-8 or level are missing.
    assert_eq!(events.len(), 1000);
    assert_eq!(
        events[0]["params"]["data"].as_str().map(str::len),
        Some(60 * 1024)
    );
    assert_eq!(events[999]["params"]["data"], 998);
    assert_eq!(dropped(&harness, "oversized"), 1);
    assert_eq!(dropped(&harness, "malformed"), 3);
    assert_eq!(dropped(&harness, "excess"), 11);
}

#[tokio::test]
async fn a_result_of_many_lines_is_one_event() {
    let harness = Harness::start().await;
    let body = older("pretty", json!({})).to_string();
    let head = harness.head(body.len(), "");
    let head = head.replace("application/json, text", "text");
    let events = events(harness.raw(&format!("{head}{body}")).await);
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0]["result"]["structuredContent"]["tenant"], "acme");
}
