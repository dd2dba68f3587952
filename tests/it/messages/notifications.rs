//! Notifications: accepted and ignored, if they are well formed.

use e2e::http::Response;
use serde_json::{Value, json};

use super::{gateway, posting, refusal};
use e2e::Client;

const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");
const METHOD: (&str, &str) = ("Mcp-Method", "notifications/initialized");

async fn told(client: &Client, headers: &[(&str, &str)], meta: Option<Value>) -> Response {
    let mut body = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    if let Some(meta) = meta {
        body["params"] = json!({ "_meta": meta });
    }
    let request = posting(client, body.to_string());
    let headers = headers.iter();
    let request = headers.fold(request, |request, (name, value)| {
        request.header(name, value)
    });
    request.send(client.address()).await
}

#[tokio::test]
async fn a_notification_is_taken_without_an_answer_whatever_it_says() {
    let (_stack, client) = gateway().await;
    for method in [
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/progress",
        "notifications/roots/list_changed",
        "notifications/nobody/knows",
    ] {
        let params = json!({ "requestId": 1, "progressToken": 1, "progress": 1 });
        let body = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        let request = posting(&client, body.to_string());
        for request in [
            request.clone(),
            request.clone().header("MCP-Protocol-Version", "2025-11-25"),
            request
                .header(VERSION.0, VERSION.1)
                .header(METHOD.0, method),
        ] {
            let response = request.send(client.address()).await;
            assert_eq!(
                (response.status, response.text().as_str()),
                (202, ""),
                "{method}"
            );
        }
    }
}

#[tokio::test]
async fn a_notification_with_a_sign_of_2026_07_28_needs_its_headers_to_match() {
    let (_stack, client) = gateway().await;
    let version = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    for meta in [
        version.clone(),
        json!({ "io.modelcontextprotocol/clientCapabilities": {} }),
        json!({ "io.modelcontextprotocol/clientInfo": { "name": "x", "version": "1" } }),
        json!({ "io.modelcontextprotocol/logLevel": "info" }),
    ] {
        let whole = told(&client, &[VERSION, METHOD], Some(meta.clone())).await;
        assert_eq!(whole.status, 202, "{meta}: {}", whole.text());
        for headers in [
            &[][..],
            &[VERSION],
            &[METHOD],
            &[VERSION, ("Mcp-Method", "notifications/cancelled")],
            &[VERSION, METHOD, METHOD],
            &[("MCP-Protocol-Version", "2025-11-25"), METHOD],
        ] {
            let response = told(&client, headers, Some(meta.clone())).await;
            assert_eq!(
                refusal(&response),
                (400, -32020),
                "{meta} {headers:?}: {}",
                response.text()
            );
            assert!(response.json().get("id").is_none());
        }
    }
    let older = json!({ "io.modelcontextprotocol/protocolVersion": "2025-11-25" });
    let response = told(&client, &[VERSION, METHOD], Some(older)).await;
    assert_eq!(refusal(&response), (400, -32020), "{}", response.text());
}

#[tokio::test]
async fn a_notification_of_an_unknown_revision_is_refused() {
    let (_stack, client) = gateway().await;
    let headers = [("MCP-Protocol-Version", "2099-01-01"), METHOD];
    let response = told(&client, &headers, None).await;
    assert_eq!(refusal(&response), (400, -32022), "{}", response.text());
}
