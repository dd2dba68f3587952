//! Which revision a request speaks, and how each revision is answered.

use e2e::{Client, http::Request};
use serde_json::{Value, json};

use super::{gateway, refusal};

const MODERN: &str = "2026-07-28";

fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": { "name": "e2e", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A call of `hello` with these headers and this `_meta`.
fn hello(client: &Client, headers: &[(&str, &str)], meta: Option<Value>) -> Request {
    let mut params = json!({ "name": "hello", "arguments": {} });
    if let Some(meta) = meta {
        params["_meta"] = meta;
    }
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = super::posting(client, body.to_string());
    headers.iter().fold(request, |request, (name, value)| {
        request.header(name, value)
    })
}

const HEADERS: [(&str, &str); 3] = [
    ("MCP-Protocol-Version", MODERN),
    ("Mcp-Method", "tools/call"),
    ("Mcp-Name", "hello"),
];

#[tokio::test]
async fn a_modern_request_needs_every_header_to_match_its_body() {
    let (_stack, client) = gateway().await;
    let good = hello(&client, &HEADERS, Some(meta(MODERN)))
        .send(client.address())
        .await;
    assert_eq!(good.status, 200, "{}", good.text());
    for left_out in 0..HEADERS.len() {
        let mut headers = HEADERS.to_vec();
        let (name, _) = headers.remove(left_out);
        let response = hello(&client, &headers, Some(meta(MODERN)))
            .send(client.address())
            .await;
        assert_eq!(
            refusal(&response),
            (400, -32020),
            "without {name}: {}",
            response.text()
        );
        headers.push((name, "other"));
        let response = hello(&client, &headers, Some(meta(MODERN)))
            .send(client.address())
            .await;
        assert_eq!(response.status, 400, "wrong {name}: {}", response.text());
    }
}

#[tokio::test]
async fn the_header_of_the_modern_era_alone_is_no_modern_request() {
    let (_stack, client) = gateway().await;
    let response = hello(&client, &HEADERS, None).send(client.address()).await;
    assert_eq!(refusal(&response), (400, -32602), "{}", response.text());
}

#[tokio::test]
async fn headers_of_the_modern_era_are_ignored_for_older_requests() {
    let (_stack, client) = gateway().await;
    let headers = [
        ("MCP-Protocol-Version", "2025-06-18"),
        ("Mcp-Name", "other"),
        ("Mcp-Method", "x"),
    ];
    let response = hello(&client, &headers, None).send(client.address()).await;
    assert_eq!(
        response.json()["result"]["structuredContent"]["message"],
        "Hello from Archway!"
    );
}

#[tokio::test]
async fn a_revision_from_the_future_is_unsupported() {
    let (_stack, client) = gateway().await;
    let headers = [
        ("MCP-Protocol-Version", "2099-01-01"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "hello"),
    ];
    let response = hello(&client, &headers, Some(meta("2099-01-01")))
        .send(client.address())
        .await;
    assert_eq!(refusal(&response), (400, -32022), "{}", response.text());
}

#[tokio::test]
async fn every_older_revision_is_served() {
    let (_stack, client) = gateway().await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let params = json!({ "protocolVersion": version, "capabilities": {},
            "clientInfo": { "name": "e2e", "version": "1" } });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let request = super::posting(&client, body.to_string());
        let answer = request.send(client.address()).await.json();
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        assert!(
            answer["result"]["capabilities"]["tools"].is_object(),
            "{answer}"
        );
        let response = hello(&client, &[("MCP-Protocol-Version", version)], None)
            .send(client.address())
            .await;
        assert_eq!(response.status, 200, "{version}: {}", response.text());
    }
}

#[tokio::test]
async fn the_modern_era_discovers_and_knows_neither_initialize_nor_sessions() {
    let (_stack, client) = gateway().await;
    let modern = client.clone().modern();
    let discovered = modern.rpc("server/discover", json!({})).await.json();
    let versions = discovered["result"]["supportedVersions"]
        .as_array()
        .unwrap()
        .clone();
    assert!(versions.contains(&json!(MODERN)), "{discovered}");
    assert_eq!(discovered["result"]["resultType"], "complete");
    assert_eq!(modern.rpc("initialize", json!({})).await.status, 404);
    for method in ["GET", "DELETE"] {
        let request = Request::new(method, "/mcp")
            .header("Authorization", &format!("Bearer {}", client.key()))
            .header("MCP-Protocol-Version", MODERN);
        assert_eq!(request.send(client.address()).await.status, 405, "{method}");
    }
}

#[tokio::test]
async fn modern_results_state_their_type_and_lists_their_lifetime() {
    let (_stack, client) = gateway().await;
    let (older, modern) = (client.clone(), client.clone().modern());
    let call = json!({ "name": "hello", "arguments": {} });
    assert_eq!(
        modern.rpc("tools/call", call.clone()).await.json()["result"]["resultType"],
        "complete"
    );
    assert!(
        older.rpc("tools/call", call).await.json()["result"]
            .get("resultType")
            .is_none()
    );
    let list = modern.rpc("tools/list", json!({})).await.json()["result"].clone();
    assert_eq!(list["resultType"], "complete");
    assert_eq!(list["cacheScope"], "private");
    assert!(list["ttlMs"].is_u64(), "{}", list["ttlMs"]);
    let list = older.rpc("tools/list", json!({})).await.json()["result"].clone();
    assert!(list.get("cacheScope").is_none() && list.get("resultType").is_none());
}
