//! Prices and refusals of messages, through the whole stack except sockets. Time is paused, and
//! calls with invalid arguments need no worker.

use std::time::Duration;

use http::StatusCode;
use serde_json::json;
use tokio::time::{Instant, advance};

use super::modern;
use gateway::{Gateway, request};

mod gateway;

const JSON: &str = "application/json";

/// A message: HTTP method, headers, body, and the status of its answer when no limit is exceeded.
type MessageKind = (&'static str, Headers, String, u16);
type Headers = Vec<(&'static str, &'static str)>;

/// A message of each kind.
fn kinds() -> Vec<MessageKind> {
    let json = vec![("content-type", JSON)];
    let with = |name, value| vec![("content-type", JSON), (name, value)];
    let request = |method: &str| request(method, &json!({})).to_string();
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" });
    vec![
        ("POST", json.clone(), request("ping"), 200),
        ("POST", json.clone(), request("nothing/like/it"), 200),
        ("POST", json.clone(), request("logging/setLevel"), 200),
        ("POST", json.clone(), request("prompts/list"), 200),
        ("POST", json.clone(), notification.to_string(), 202),
        ("POST", json.clone(), "{".to_owned(), 400),
        ("POST", json.clone(), "[]".to_owned(), 400),
        ("POST", json, request("server/discover"), 400),
        (
            "POST",
            vec![("content-type", "text/plain")],
            "x".into(),
            415,
        ),
        ("POST", with("accept", "image/png"), "{}".into(), 406),
        ("POST", with("mcp-session-id", "x"), request("ping"), 404),
        ("DELETE", vec![], String::new(), 400),
        ("DELETE", vec![("mcp-session-id", "x")], String::new(), 404),
    ]
}

#[tokio::test(start_paused = true)]
async fn messages_without_a_price_cost_one_unit_and_are_refused_with_429() {
    let gateway = Gateway::start().await;
    for (spent, (method, headers, body, expected)) in (1..).zip(kinds()) {
        let answer = gateway.send(method, &headers, &body).await;
        assert_eq!(answer.0, expected, "{method} {headers:?} {body}");
        assert_eq!(answer.header("ratelimit-policy"), "\"key\";q=1200;w=60");
        let left = format!("\"key\";r={};t=1", 1_200 - spent);
        assert_eq!(
            answer.header("ratelimit"),
            left,
            "{method} {headers:?} {body}"
        );
    }
    gateway.exhaust().await;
    for (method, headers, body, _) in kinds() {
        let answer = gateway.send(method, &headers, &body).await;
        assert_eq!(
            answer.0,
            StatusCode::TOO_MANY_REQUESTS,
            "{method} {headers:?} {body}"
        );
        assert_eq!(answer.header("retry-after"), "1");
        assert_eq!(answer.2["error"]["code"], 42900);
    }
    let answer = gateway.post(request("ping", &json!({}))).await;
    let expected = json!({
        "jsonrpc": "2.0", "id": 7, "error": {
            "code": 42900,
            "message": "the key's limit of 1200 units a minute is spent: wait 0.05 seconds",
            "data": {
                "scope": "key", "of": "total", "limit": 1200, "remaining": 0,
                "retry_after_seconds": 0.05,
            },
        },
    });
    assert_eq!(answer.2, expected);
    advance(Duration::from_millis(50)).await;
    let ping = async || gateway.post(request("ping", &json!({}))).await.0;
    assert_eq!(
        (ping().await, ping().await),
        (StatusCode::OK, StatusCode::TOO_MANY_REQUESTS)
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_costs_its_tools_price_and_its_refusal_is_a_result() {
    let gateway = Gateway::start().await;
    for left in (0..60).rev() {
        let answer = gateway.call("grep").await;
        assert_eq!(answer.code(), "invalid_arguments");
        assert!(
            answer
                .header("ratelimit")
                .starts_with(&format!("\"key:grep\";r={left};"))
        );
    }
    let refused = gateway.call("grep").await;
    assert_eq!(
        (refused.0, refused.code()),
        (StatusCode::OK, "rate_limited")
    );
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(
        refused.details(),
        &json!({
            "scope": "key", "of": "grep", "limit": 60, "remaining": 0,
            "retry_after_seconds": 1.0,
        })
    );
    // 60 calls of 5 units; refused ones cost nothing.
    let ping = gateway.post(request("ping", &json!({}))).await;
    assert_eq!(ping.header("ratelimit"), "\"key\";r=899;t=16");
    advance(Duration::from_secs(1)).await;
    assert_eq!(gateway.call("grep").await.code(), "invalid_arguments");
    assert_eq!(gateway.call("grep").await.code(), "rate_limited");
    let metrics = gateway.metrics.text().unwrap();
    for line in [
        r#"archway_gateway_rate_limited_total{scope="key",of="grep"} 2"#,
        r#"archway_gateway_tool_calls_total{tool="grep",outcome="rate_limited"} 2"#,
    ] {
        assert!(metrics.contains(line), "{metrics}");
    }
}

#[tokio::test(start_paused = true)]
async fn prices_reveal_no_tool_that_the_caller_may_not_call() {
    let gateway = Gateway::start().await;
    for (spent, tool) in (1..).zip(["write", "nothing", "wr\"ite"]) {
        let answer = gateway.call(tool).await;
        assert_eq!(
            answer.header("ratelimit"),
            format!("\"key\";r={};t=1", 1_200 - spent)
        );
    }
    gateway.exhaust().await;
    for tool in ["write", "nothing"] {
        let refused = gateway.call(tool).await;
        assert_eq!(
            (refused.0, refused.code()),
            (StatusCode::OK, "rate_limited")
        );
        assert_eq!(refused.details()["of"], "total");
    }
}

#[tokio::test(start_paused = true)]
async fn methods_that_read_like_a_tool_spend_its_limit() {
    let gateway = Gateway::start().await;
    let params = json!({ "uri": "archway://site/a" });
    for _ in 0..100 {
        let answer = gateway.post(request("resources/read", &params)).await;
        assert_eq!(answer.2["error"]["code"], 50300, "there is no worker");
    }
    let refused = gateway.call("read_file").await;
    assert_eq!(refused.details()["of"], "read_file");
    let refused = gateway.post(request("resources/read", &params)).await;
    assert_eq!(refused.0, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.2["error"]["data"]["of"], "read_file");
    for _ in 0..60 {
        gateway.post(request("prompts/get", &json!({}))).await;
    }
    let refused = gateway.post(request("prompts/get", &json!({}))).await;
    assert_eq!(refused.2["error"]["data"]["of"], "prompts/get");
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_is_answered_in_a_form_that_its_client_accepts() {
    let gateway = Gateway::start().await;
    gateway.exhaust().await;
    let (_, body) = modern("tools/call", json!({ "name": "grep" }));
    let newer = [
        ("content-type", JSON),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "grep"),
        ("accept", "text/event-stream"),
    ];
    let refused = gateway.send("POST", &newer, body).await;
    assert_eq!(
        (refused.0, refused.code()),
        (StatusCode::OK, "rate_limited")
    );
    assert_eq!(refused.2["result"]["resultType"], "complete");
    assert_eq!(refused.2["result"]["isError"], true);
    assert_eq!(refused.header("content-type"), "text/event-stream");
    assert_eq!(refused.header("retry-after"), "1");
}

#[tokio::test(start_paused = true)]
async fn large_bodies_of_a_flooding_caller_are_not_read_while_over_limit() {
    let gateway = Gateway::start().await;
    let params = json!({ "name": "grep", "arguments": { "long": "x".repeat(100_000) } });
    let large = request("tools/call", &params);
    for _ in 0..60 {
        gateway.call("grep").await;
    }
    // Twenty refusals are no flood, even of large messages.
    for _ in 0..10 {
        for refused in [gateway.call("grep").await, gateway.post(&large).await] {
            assert_eq!(refused.code(), "rate_limited");
        }
    }
    let began = Instant::now();
    let refused = gateway.post(&large).await;
    assert_eq!(refused.0, StatusCode::TOO_MANY_REQUESTS);
    let data = &refused.2["error"]["data"];
    assert_eq!(data["of"], "grep");
    // The refusal was delayed like others; small messages are still read.
    assert_eq!(began.elapsed(), Duration::from_millis(500));
    assert_eq!(data["retry_after_seconds"], 0.5);
    assert_eq!(
        gateway.post(request("ping", &json!({}))).await.0,
        StatusCode::OK
    );
    advance(Duration::from_millis(500)).await;
    assert_eq!(gateway.post(&large).await.code(), "invalid_arguments");
}

/// Resident memory of this process in bytes.
#[cfg(target_os = "linux")]
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u64 = line.unwrap().trim_end_matches("kB").trim().parse().unwrap();
    kib * 1024
}

#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn delayed_refusals_hold_no_part_of_their_messages() {
    use futures::future::{join_all, poll_immediate};

    let gateway = Gateway::start().await;
    gateway.exhaust().await;
    // With the first refusal, twenty were answered at once.
    for _ in 0..19 {
        gateway.call("grep").await;
    }
    // As small as is always read, but 2 MiB once parsed.
    let params = json!({ "name": "grep", "arguments": { "long": vec![0; 30_000] } });
    let message = request("tools/call", &params).to_string();
    let before = resident();
    let mut waiting: Vec<_> = (0..100).map(|_| Box::pin(gateway.post(&message))).collect();
    for refusal in &mut waiting {
        for _ in 0..10 {
            assert!(poll_immediate(&mut *refusal).await.is_none(), "it waits");
        }
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 100 << 20, "{grown}");
    for refused in join_all(waiting).await {
        assert_eq!(refused.code(), "rate_limited");
    }
}
