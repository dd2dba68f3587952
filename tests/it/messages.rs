//! The gateway's answers to JSON-RPC that no honest client sends, and to each revision of MCP.

mod envelope;
mod eras;
mod hazards;
mod misleading;
mod notifications;

use e2e::{
    Client, Repo, Stack,
    http::{Request, Response},
};
use serde_json::{Value, json};

use crate::serve;

async fn gateway() -> (Stack, Client) {
    serve(Repo::new().file("a.txt", "sesame\n").commit()).await
}

/// An honest request with this body.
fn posting(client: &Client, body: impl AsRef<[u8]>) -> Request {
    Request::new("POST", "/mcp")
        .header("Authorization", &format!("Bearer {}", client.key()))
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .body(body)
}

fn hello() -> String {
    let params = json!({ "name": "hello", "arguments": {} });
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string()
}

/// Status and JSON-RPC error code of an answer.
fn refusal(response: &Response) -> (u16, i64) {
    (
        response.status,
        response.json()["error"]["code"].as_i64().unwrap_or(0),
    )
}

/// The one test of tools that checks a whole answer.
#[tokio::test]
async fn a_call_is_answered_with_data_text_and_commit() {
    let (_stack, client) = gateway().await;
    let reply = client
        .call("grep_codebase", json!({ "pattern": "sesame" }))
        .await;
    let text: Value = serde_json::from_str(reply.text()).unwrap();
    assert_eq!(&text, reply.structured());
    assert!(reply.meta("durationMs").is_number());
    assert_eq!(reply.meta("untrusted"), true);
    assert_eq!(reply.meta("commit")["id"].as_str().unwrap().len(), 40);
}
