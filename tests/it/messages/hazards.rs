//! What the official SDK would do to a server of several replicas, and that the gateway prevents it.
//!
//! Covered elsewhere: malformed messages, batches and ids (`envelope`), `Host` and `Origin` (`messages`),
//! two tools of one name (the tests of catalogue and registry), logs and progress (the gateway's
//! `path_tests`). The SDK's sessions, event store and keep-alive are not used.

use e2e::{Client, http::Request};
use serde_json::{Value, json};

use super::{gateway, posting, refusal};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";

fn hello(version: &str) -> Value {
    json!({ "protocolVersion": version, "capabilities": {},
        "clientInfo": { "name": "e2e", "version": "1" } })
}

/// An `initialize` with this version in the body and these headers.
async fn initialize(client: &Client, version: &str, headers: &[(&str, &str)]) -> Value {
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello(version) });
    let request = posting(client, body.to_string());
    let headers = headers.iter();
    let request = headers.fold(request, |request, (name, value)| {
        request.header(name, value)
    });
    request.send(client.address()).await.json()
}

fn offered() -> Value {
    json!({ "tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {} })
}

#[tokio::test]
async fn initialize_accepts_older_revisions_and_offers_the_newest_otherwise() {
    let (_stack, client) = gateway().await;
    for version in LEGACY {
        let answer = initialize(&client, version, &[]).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        let offered = offered();
        assert_eq!(answer["result"]["capabilities"], offered);
        assert_eq!(answer["result"]["serverInfo"]["name"], "archway");
    }
    for version in [MODERN, "2099-01-01", "1", ""] {
        let answer = initialize(&client, version, &[]).await;
        let agreed = &answer["result"]["protocolVersion"];
        assert_eq!(agreed, "2025-11-25", "{version}: {answer}");
    }
}

#[tokio::test]
async fn the_headers_of_initialize_do_not_speak_for_its_body() {
    let (_stack, client) = gateway().await;
    for headers in [
        &[("MCP-Protocol-Version", "2025-06-18")][..],
        &[("MCP-Protocol-Version", "2099-01-01")],
        &[
            ("MCP-Protocol-Version", "2025-11-25"),
            ("Mcp-Method", "tools/call"),
        ],
    ] {
        let answer = initialize(&client, "2025-03-26", headers).await;
        assert_eq!(
            answer["result"]["protocolVersion"], "2025-03-26",
            "{headers:?}"
        );
    }
}

#[tokio::test]
async fn an_initialize_that_is_not_understood_says_invalid_params() {
    let (_stack, client) = gateway().await;
    for broken in ["protocolVersion", "capabilities", "clientInfo"] {
        for value in [None, Some(json!(7)), Some(json!([]))] {
            let mut params = hello("2025-11-25");
            params.as_object_mut().unwrap().remove(broken);
            if let Some(value) = &value {
                params[broken] = value.clone();
            }
            let response = client.rpc("initialize", params).await;
            let told = refusal(&response);
            assert_eq!(
                told,
                (200, -32602),
                "{broken} {value:?}: {}",
                response.text()
            );
        }
    }
}

#[tokio::test]
async fn methods_not_offered_are_not_found_in_either_era() {
    let (_stack, client) = gateway().await;
    let modern = client.clone().modern();
    let params = json!({
        "uri": "file:///x", "ref": { "type": "ref/prompt", "name": "x" }, "taskId": "x",
        "argument": { "name": "x", "value": "y" },
    });
    for method in [
        "resources/subscribe",
        "resources/unsubscribe",
        "subscriptions/listen",
        "tasks/list",
        "tasks/get",
        "tasks/result",
        "tasks/cancel",
        "roots/list",
        "sampling/createMessage",
        "elicitation/create",
        "skills/list",
        "no/such",
        "",
    ] {
        let response = client.rpc(method, params.clone()).await;
        assert_eq!(
            refusal(&response),
            (200, -32601),
            "{method}: {}",
            response.text()
        );
        let response = modern.rpc(method, params.clone()).await;
        assert_eq!(
            refusal(&response),
            (404, -32601),
            "{method}: {}",
            response.text()
        );
    }
    for method in ["ping", "initialize", "logging/setLevel"] {
        let response = modern.rpc(method, json!({ "level": "info" })).await;
        assert_eq!(
            refusal(&response),
            (404, -32601),
            "{method}: {}",
            response.text()
        );
    }
}

#[tokio::test]
async fn ping_is_answered_to_older_clients() {
    let (_stack, client) = gateway().await;
    for version in LEGACY {
        let body = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" }).to_string();
        let request = posting(&client, body).header("MCP-Protocol-Version", version);
        let answer = request.send(client.address()).await.json();
        assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": "p", "result": {} }));
    }
}

#[tokio::test]
async fn a_call_that_names_no_tool_has_invalid_params_and_is_no_unknown_method() {
    let (_stack, client) = gateway().await;
    for params in [
        json!({}),
        json!({ "name": null }),
        json!({ "name": 5 }),
        json!({ "name": {} }),
    ] {
        for client in [client.clone(), client.clone().modern()] {
            let response = client.rpc("tools/call", params.clone()).await;
            assert_eq!(
                refusal(&response),
                (200, -32602),
                "{params}: {}",
                response.text()
            );
        }
    }
}

#[tokio::test]
async fn an_unknown_log_level_is_refused_before_any_other_check() {
    let (_stack, client) = gateway().await;
    for level in [json!(null), json!("loud"), json!("Info"), json!(3)] {
        let response = client
            .rpc("logging/setLevel", json!({ "level": level }))
            .await;
        assert_eq!(
            refusal(&response),
            (200, -32602),
            "{level}: {}",
            response.text()
        );
    }
}

#[tokio::test]
async fn an_unsupported_version_is_refused_with_the_supported_ones() {
    let (_stack, client) = gateway().await;
    let supported: Vec<&str> = LEGACY.into_iter().chain([MODERN]).collect();
    for (method, version) in [
        ("tools/list", "2099-01-01"),
        ("tools/call", "2024-01-01"),
        ("server/discover", "x"),
        ("ping", "2026-07-29"),
    ] {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": {} });
        let request = posting(&client, body.to_string()).header("MCP-Protocol-Version", version);
        let response = request.send(client.address()).await;
        assert_eq!(
            refusal(&response),
            (400, -32022),
            "{method}: {}",
            response.text()
        );
        let data = &response.json()["error"]["data"];
        assert_eq!(
            data,
            &json!({ "requested": version, "supported": supported })
        );
    }
}

#[tokio::test]
async fn fields_of_2026_07_28_are_in_its_results_and_in_no_older_ones() {
    let (_stack, client) = gateway().await;
    let modern = client.clone().modern();
    let discovered = modern.rpc("server/discover", json!({})).await.json()["result"].clone();
    let offered = offered();
    assert_eq!(discovered["capabilities"], offered, "{discovered}");
    let listed = modern.rpc("tools/list", json!({})).await.json()["result"].clone();
    for result in [&discovered, &listed] {
        assert_eq!(result["resultType"], "complete", "{result}");
        assert_eq!(result["cacheScope"], "private", "{result}");
        assert!(
            result["ttlMs"].as_u64().is_some_and(|ttl| ttl > 0),
            "{result}"
        );
    }
    for (method, params) in [
        ("initialize", hello("2025-11-25")),
        ("ping", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "hello" })),
    ] {
        let result = client.rpc(method, params).await.json()["result"].clone();
        assert!(result.is_object(), "{method}");
        for new in ["resultType", "ttlMs", "cacheScope"] {
            assert!(result.get(new).is_none(), "{method} has {new}: {result}");
        }
    }
}

#[tokio::test]
async fn no_stream_can_be_resumed_by_another_caller() {
    let (_stack, client) = gateway().await;
    let get = Request::new("GET", "/mcp")
        .header("Authorization", &format!("Bearer {}", client.key()))
        .header("Accept", "text/event-stream")
        .header("Last-Event-ID", "0");
    assert_eq!(get.send(client.address()).await.status, 405);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let events = posting(&client, body)
        .header("Last-Event-ID", "0")
        .send(client.address())
        .await;
    assert_eq!(events.status, 200);
    let call = json!({ "name": "grep_codebase",
        "arguments": { "pattern": "sesame", "project": "*" }, "_meta": { "progressToken": 1 } });
    let events = client.rpc("tools/call", call).await;
    assert_eq!(events.header("content-type"), Some("text/event-stream"));
    assert!(
        !events.text().lines().any(|line| line.starts_with("id")),
        "{}",
        events.text()
    );
}
