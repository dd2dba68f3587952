//! The gateway's answers to HTTP that no honest client sends, and the order of its checks: Host and
//! Origin, declared size, credential, body. Over plain sockets, byte by byte.
//!
//! The timeouts of a connection are tested in the gateway crate, in paused time.

mod browsers;
mod http2;

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

fn hello() -> String {
    let params = json!({ "name": "hello", "arguments": {} });
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string()
}

fn bearer(client: &Client) -> String {
    format!("Bearer {}", client.key())
}

/// An honest request with this body.
fn posting(client: &Client, body: impl AsRef<[u8]>) -> Request {
    Request::new("POST", "/mcp")
        .header("Authorization", &bearer(client))
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .body(body)
}

fn assert_no_rpc(response: &Response) {
    let text = response.text();
    assert!(!text.contains("jsonrpc"), "a JSON-RPC body: {text}");
}

/// Every request here also violates each later check.
#[tokio::test]
async fn the_first_thing_that_is_wrong_decides_the_answer() {
    let (_stack, client) = gateway().await;
    let wrong = |method: &str, path: &str, length: &str, key: &str| {
        // No byte of the body is sent, so an answer shows that none was awaited.
        Request::new(method, path)
            .header("Content-Length", length)
            .header("Authorization", key)
            .header("Content-Type", "text/plain")
    };
    let (huge, small) = ("1048577", "1000");
    let all = || wrong("GET", "/", huge, "Bearer awy_x");
    for (request, status) in [
        (all().header("Host", "evil.example"), 403),
        (all().header("Origin", "https://evil.example"), 403),
        (all(), 404),
        (wrong("GET", "/mcp", huge, "Bearer awy_x"), 405),
        (wrong("POST", "/mcp", huge, "Bearer awy_x"), 413),
        (wrong("POST", "/mcp", huge, &bearer(&client)), 413),
        (wrong("POST", "/mcp", small, "Bearer awy_x"), 401),
        (wrong("POST", "/mcp", small, "Basic x"), 401),
        (wrong("POST", "/mcp", small, &bearer(&client)), 415),
    ] {
        let response = request.send(client.address()).await;
        assert_eq!(response.status, status, "{request:?}: {}", response.text());
        assert_no_rpc(&response);
    }
}

#[tokio::test]
async fn a_chunked_body_is_not_waited_for_without_a_good_credential() {
    let (_stack, client) = gateway().await;
    let chunked = Request::new("POST", "/mcp").header("Transfer-Encoding", "chunked");
    assert_eq!(chunked.send(client.address()).await.status, 401);
}

#[tokio::test]
async fn a_name_in_the_request_line_counts_as_host_does() {
    let (_stack, client) = gateway().await;
    let to = client.address();
    let foreign = Request::new("POST", "http://evil.example/mcp").body(hello());
    assert_eq!(foreign.send(to).await.status, 403);
    let twice = Request::new("POST", "/mcp")
        .header("Host", "localhost")
        .header("Host", "evil.example");
    assert!([400, 403].contains(&twice.send(to).await.status));
    let nameless = send(to, b"POST /mcp HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    assert_eq!(nameless.status, 403);
}

#[tokio::test]
async fn a_body_that_grows_over_the_cap_is_refused_while_it_is_read() {
    let (_stack, client) = gateway().await;
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 16, "x".repeat(1 << 16));
    let body = chunk.repeat(17) + "0\r\n\r\n";
    let request = posting(&client, body).header("Transfer-Encoding", "chunked");
    let response = request.send(client.address()).await;
    assert_eq!(response.status, 413);
    assert_no_rpc(&response);
}

#[tokio::test]
async fn a_body_of_exactly_the_cap_is_read() {
    let (_stack, client) = gateway().await;
    let padded = format!("{}{}", hello(), " ".repeat((1 << 20) - hello().len()));
    let response = posting(&client, padded).send(client.address()).await;
    assert_eq!(response.status, 200);
}

/// hyper refuses these before our first check. It matters only that they are refused.
#[tokio::test]
async fn a_length_that_no_u64_holds_is_refused_at_once() {
    let (_stack, client) = gateway().await;
    for (length, status) in [
        ("18446744073709551613", 413),
        ("18446744073709551615", 431),
        ("18446744073709551616", 400),
        ("99999999999999999999999", 400),
        ("-1", 400),
        ("+1", 400),
        ("1, 2", 400),
    ] {
        let request = Request::new("POST", "/mcp").header("Content-Length", length);
        let response = request.send(client.address()).await;
        assert_eq!(response.status, status, "{length}");
        assert_no_rpc(&response);
    }
}

#[tokio::test]
async fn too_many_or_too_long_headers_are_refused() {
    let (_stack, client) = gateway().await;
    let posting = || posting(&client, hello());
    let many = |count: usize| {
        // Three of its own, and Host, Connection, Content-Length.
        (6..count).fold(posting(), |r, n| r.header(&format!("X-{n}"), "x"))
    };
    for (request, status) in [
        (posting().header("X-Long", &"x".repeat(33 << 10)), 431),
        (posting().header("X-Long", &"x".repeat(30 << 10)), 200),
        (many(101), 431),
        (many(100), 200),
    ] {
        let response = request.send(client.address()).await;
        assert_eq!(response.status, status, "{}", response.text());
        assert!(status == 200 || !response.text().contains("jsonrpc"));
    }
    let endless = format!("POST /{} HTTP/1.1\r\n\r\n", "x".repeat(33 << 10));
    let response = send(client.address(), endless.as_bytes()).await;
    assert_eq!(response.status, 431);
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
        let request = request.header("Authorization", &bearer(&client));
        kept.fold(request, |request, (own, value)| request.header(own, value))
    };
    for (name, value, status) in [
        ("Content-Type", "text/plain", 415),
        ("Content-Type", "application/json-patch+json", 415),
        ("Content-Type", "application/json; charset=utf-8", 200),
        ("Content-Encoding", "gzip", 415),
        ("Accept", "text/html", 406),
        ("Accept", "application/json;q=0", 406),
        ("Accept", "text/event-stream", 200),
        ("Accept", "*/*", 200),
        ("Accept", "application/*;q=0.5", 200),
    ] {
        let response = with(name, value).send(client.address()).await;
        let text = response.text();
        assert_eq!(response.status, status, "{name}: {value}: {text}");
    }
}

#[tokio::test]
async fn other_methods_and_paths_do_not_exist() {
    let (_stack, client) = gateway().await;
    for (method, path, status) in [
        ("GET", "/mcp", 405),
        ("PUT", "/mcp", 405),
        ("HEAD", "/mcp", 405),
        ("OPTIONS", "/mcp", 405),
        ("TRACE", "/mcp", 405),
        ("POST", "/", 404),
        ("POST", "/mcp/", 404),
        ("POST", "/MCP", 404),
        ("GET", "/metrics", 404),
        ("GET", "/healthz", 404),
    ] {
        let request = Request::new(method, path).header("Authorization", &bearer(&client));
        let response = request.send(client.address()).await;
        assert_eq!(response.status, status, "{method} {path}");
        let allowed = (status == 405).then_some("POST, DELETE");
        assert_eq!(response.header("allow"), allowed, "{method} {path}");
    }
}

#[tokio::test]
async fn a_slow_connection_delays_no_other() {
    let (_stack, client) = gateway().await;
    let mut slow = TcpStream::connect(client.address()).await.unwrap();
    slow.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc")
        .await
        .unwrap();
    let mut slower = TcpStream::connect(client.address()).await.unwrap();
    let half = posting(&client, hello()).bytes(client.address());
    slower.write_all(&half[..half.len() - 5]).await.unwrap();
    let reply = client.call("hello", json!({})).await;
    assert_eq!(reply.structured()["message"], "Hello from Archway!");
}

#[tokio::test]
async fn garbage_on_the_socket_is_a_bad_request() {
    let (_stack, client) = gateway().await;
    for garbage in [
        &b"\x16\x03\x01\x02\x00 hello\r\n\r\n"[..],
        b"POST /mcp HTTP/9.9\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nX : 1\r\n\r\n",
    ] {
        let response = send(client.address(), garbage).await;
        assert_eq!(response.status, 400, "{}", garbage.escape_ascii());
    }
}

#[tokio::test]
async fn a_refusal_repeats_little_input_and_no_control_characters() {
    let (_stack, client) = gateway().await;
    let long = format!("\u{7}\u{1b}[31m{}", "n".repeat(5000));
    let asked = |method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
    };
    let twice = format!("{{{0}:1,{0}:2}}", json!(long));
    let version = posting(&client, hello()).header("MCP-Protocol-Version", &"n".repeat(5000));
    for request in [
        posting(
            &client,
            asked("tools/call", json!({ "name": long, "arguments": {} })),
        ),
        posting(&client, asked(&long, json!({}))),
        posting(&client, twice),
        version,
    ] {
        let response = request.send(client.address()).await;
        let error = response.json()["error"].clone();
        let message = error["message"].as_str().expect("an error").to_owned();
        assert!(message.len() < 400, "{message}");
        assert!(!message.contains(char::is_control), "{message:?}");
        assert!(response.body.len() < 1000, "{}", response.text());
    }
}

#[tokio::test]
async fn health_and_metrics_are_on_a_separate_port() {
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
