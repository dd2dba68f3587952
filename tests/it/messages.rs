//! What the gateway says to HTTP and JSON-RPC that no honest client sends, and in which order it
//! looks: Host and Origin, declared size, credential, body.

mod envelope;
mod eras;
mod hazards;
mod notifications;

use e2e::{
    Client, Repo, Stack,
    http::{Request, Response, send},
};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::serve;

async fn gateway() -> (Stack, Client) {
    serve(Repo::new().file("a.txt", "sesame\n").commit()).await
}

/// A request as a good client sends it, whose body is `body`.
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

#[tokio::test]
async fn a_foreign_host_or_origin_is_refused_before_the_credential_is_looked_at() {
    let (_stack, client) = gateway().await;
    let anonymous = Request::new("POST", "/mcp").body(hello());
    let to = client.address();
    assert_eq!(
        anonymous
            .clone()
            .header("Host", "evil.example")
            .send(to)
            .await
            .status,
        403
    );
    let origin = anonymous.clone().header("Origin", "https://evil.example");
    assert_eq!(origin.send(to).await.status, 403);
    assert_eq!(anonymous.send(to).await.status, 401);
}

#[tokio::test]
async fn a_declared_size_over_the_cap_is_refused_before_the_credential_is_looked_at() {
    let (_stack, client) = gateway().await;
    let declared = Request::new("POST", "/mcp").header("Content-Length", "1048577");
    let response = declared.send(client.address()).await;
    assert_eq!(response.status, 413);
    assert!(
        !response.text().contains("jsonrpc"),
        "no JSON-RPC body: {}",
        response.text()
    );
}

#[tokio::test]
async fn a_body_is_not_waited_for_without_a_good_credential() {
    let (_stack, client) = gateway().await;
    // The body never comes: an answer at all means that nobody waited for it.
    let declared = Request::new("POST", "/mcp").header("Content-Length", "1000");
    assert_eq!(declared.send(client.address()).await.status, 401);
}

#[tokio::test]
async fn a_body_that_grows_over_the_cap_is_refused_while_it_is_read() {
    let (_stack, client) = gateway().await;
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 16, "x".repeat(1 << 16));
    let body = chunk.repeat(17) + "0\r\n\r\n";
    let request = posting(&client, body).header("Transfer-Encoding", "chunked");
    assert_eq!(request.send(client.address()).await.status, 413);
}

#[tokio::test]
async fn a_body_of_exactly_the_cap_is_read() {
    let (_stack, client) = gateway().await;
    let padded = format!("{}{}", hello(), " ".repeat((1 << 20) - hello().len()));
    assert_eq!(
        posting(&client, padded).send(client.address()).await.status,
        200
    );
}

#[tokio::test]
async fn too_many_or_too_long_headers_are_refused() {
    let (_stack, client) = gateway().await;
    let long = posting(&client, hello()).header("X-Long", &"x".repeat(33 << 10));
    assert_eq!(long.send(client.address()).await.status, 431);
    let many = (0..101).fold(posting(&client, hello()), |r, n| {
        r.header(&format!("X-{n}"), "x")
    });
    assert_eq!(many.send(client.address()).await.status, 431);
}

#[tokio::test]
async fn media_types_are_negotiated_as_http_says() {
    let (_stack, client) = gateway().await;
    let with = |name: &str, value: &str| {
        let headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json"),
        ];
        let kept = headers.into_iter().filter(|(own, _)| *own != name);
        let request = Request::new("POST", "/mcp")
            .body(hello())
            .header(name, value);
        let request = request.header("Authorization", &format!("Bearer {}", client.key()));
        kept.fold(request, |request, (own, value)| request.header(own, value))
    };
    for (name, value, status) in [
        ("Content-Type", "text/plain", 415),
        ("Content-Type", "application/json; charset=utf-8", 200),
        ("Content-Encoding", "gzip", 415),
        ("Accept", "text/html", 406),
        ("Accept", "text/event-stream", 200),
        ("Accept", "*/*", 200),
        ("Accept", "application/*;q=0.5", 200),
    ] {
        let response = with(name, value).send(client.address()).await;
        assert_eq!(
            response.status,
            status,
            "{name}: {value}: {}",
            response.text()
        );
    }
}

#[tokio::test]
async fn other_methods_and_paths_are_not_there() {
    let (_stack, client) = gateway().await;
    let authorized = |method: &str, path: &str| {
        Request::new(method, path).header("Authorization", &format!("Bearer {}", client.key()))
    };
    for (method, path, status) in [
        ("GET", "/mcp", 405),
        ("PUT", "/mcp", 405),
        ("POST", "/", 404),
        ("GET", "/metrics", 404),
    ] {
        let response = authorized(method, path).send(client.address()).await;
        assert_eq!(response.status, status, "{method} {path}");
    }
}

#[tokio::test]
async fn a_connection_that_dawdles_holds_up_nobody() {
    let (_stack, client) = gateway().await;
    let mut slow = TcpStream::connect(client.address()).await.unwrap();
    slow.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc")
        .await
        .unwrap();
    let mut slower = TcpStream::connect(client.address()).await.unwrap();
    let half = posting(&client, hello()).bytes(client.address());
    slower.write_all(&half[..half.len() - 5]).await.unwrap();
    assert_eq!(
        client.call("hello", json!({})).await.structured()["message"],
        "Hello from Archway!"
    );
}

#[tokio::test]
async fn garbage_on_the_socket_is_a_bad_request() {
    let (_stack, client) = gateway().await;
    assert_eq!(
        send(client.address(), b"\x16\x03\x01\x02\x00 hello\r\n\r\n")
            .await
            .status,
        400
    );
}

#[tokio::test]
async fn a_refusal_repeats_little_of_what_was_sent_and_no_control_characters() {
    let (_stack, client) = gateway().await;
    let name = format!("\u{7}\u{202e}{}", "n".repeat(5000));
    let response = client
        .rpc("tools/call", json!({ "name": name, "arguments": {} }))
        .await;
    assert_eq!(refusal(&response).1, -32602);
    let message = response.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(message.len() < 400, "{message}");
    assert!(!message.contains(char::is_control), "{message:?}");
}

#[tokio::test]
async fn health_and_metrics_stand_on_a_port_of_their_own() {
    let (stack, client) = gateway().await;
    client.call("hello", json!({})).await;
    let ask = async |path: &str| Request::new("GET", path).send(stack.admin()).await;
    assert_eq!(ask("/healthz").await.status, 200);
    assert_eq!(ask("/readyz").await.status, 200);
    let metrics = ask("/metrics").await;
    assert_eq!(metrics.status, 200);
    assert!(metrics.text().contains("hello"), "{}", metrics.text());
    assert!(!metrics.text().contains(client.key()));
    assert_eq!(ask("/mcp").await.status, 404);
}

/// The one answer that a test of tools gets back whole.
#[tokio::test]
async fn a_call_is_answered_with_data_text_and_what_it_stands_on() {
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
