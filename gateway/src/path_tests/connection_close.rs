//! Which answers end their connection: those that leave part of the request unread.

use std::time::Duration;

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::stacks::{build_workerless_stack, serve};

const PATIENCE: Duration = Duration::from_secs(20);

/// Sends a request and reads its answer, which must state a length. Returns the head in lower case.
async fn ask(socket: &mut TcpStream, request: &str) -> String {
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    loop {
        if let Some((head, body)) = answer.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if body.len() == length {
                return head;
            }
        }
        let mut bytes = Vec::new();
        let read = timeout(PATIENCE, socket.read_buf(&mut bytes)).await;
        assert!(read.unwrap().unwrap() > 0, "closed: {answer}");
        answer += std::str::from_utf8(&bytes).unwrap();
    }
}

fn post(headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n{headers}\r\n{body}"
    )
}

#[tokio::test]
async fn an_answer_before_the_end_of_the_body_closes_the_connection() {
    let (stack, key, metrics) = build_workerless_stack().await;
    let address = serve(stack, &metrics, 100, CancellationToken::new()).await;
    let good = format!("Authorization: Bearer {key}\r\n");
    for (status, request) in [
        (401, post("", "{}")),
        (401, post("Authorization: Bearer awy_x\r\n", "{}")),
        (403, post("Origin: https://evil.example\r\n", "{}")),
        (404, post("", "{}").replace("/mcp", "/")),
        (405, post("", "{}").replace("POST", "PUT")),
        (413, post("", "{}").replace("gth: 2", "gth: 1048577")),
        (415, post(&good, "{}").replace("json", "xml")),
        // Half a body: the gateway does not wait for the rest.
        (401, post("", "{}").replace("gth: 2", "gth: 1000")),
    ] {
        let mut socket = TcpStream::connect(address).await.unwrap();
        let head = ask(&mut socket, &request).await;
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{head}");
        assert!(head.contains("\r\nconnection: close"), "{head}");
        let end = timeout(PATIENCE, socket.read_u8()).await;
        end.unwrap().unwrap_err();
    }
}

#[tokio::test]
async fn an_answer_to_a_fully_read_request_keeps_the_connection() {
    let (stack, key, metrics) = build_workerless_stack().await;
    let address = serve(stack, &metrics, 100, CancellationToken::new()).await;
    let good = format!("Authorization: Bearer {key}\r\n");
    let modern = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: nothing/such\r\n";
    let params = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    } });
    let unknown = json!({ "jsonrpc": "2.0", "id": 1, "method": "nothing/such", "params": params });
    let mut socket = TcpStream::connect(address).await.unwrap();
    for (status, request) in [
        (400, post(&good, "no json")),
        (404, post(&format!("{good}{modern}"), &unknown.to_string())),
        // Without a body nothing is left unread.
        (401, post("", "")),
        (400, post(&good, "{}")),
    ] {
        let head = ask(&mut socket, &request).await;
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{head}");
        assert!(!head.contains("connection: close"), "{head}");
    }
}
