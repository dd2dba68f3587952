//! Many large bodies at once: a tenant gets a quarter of the permits, and further bodies wait.

use std::time::Duration;

use bytes::Bytes;
use futures::future::{join_all, poll_fn};
use http::Request;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

use super::{
    Harness,
    fixture::{GatewayFixture, PATIENCE, skip},
};

const LARGE: usize = 100_000;
/// Large bodies of one tenant at once.
const MOST: usize = 64;

impl GatewayFixture {
    /// Starts to send a large body with this key.
    async fn begin(&self, key: &str) -> TcpStream {
        let head = self.harness.head(LARGE, "");
        let head = head.replace(&self.harness.key, key);
        let mut socket = TcpStream::connect(&self.harness.address).await.unwrap();
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.write_all(&message()[..1_000]).await.unwrap();
        socket
    }

    /// Takes all permits of one tenant.
    async fn exhaust(&self) -> Vec<TcpStream> {
        let begun = join_all((0..MOST).map(|_| self.begin(&self.harness.key))).await;
        self.bodies("reading", MOST).await;
        begun
    }

    /// Waits until this many large bodies are in this state.
    async fn bodies(&self, state: &str, count: usize) {
        let line = format!("archway_gateway_large_bodies_{state} {count}\n");
        let there = async {
            while !self.harness.metrics.text().unwrap().contains(&line) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let there = timeout(PATIENCE, there).await;
        there.unwrap_or_else(|_| panic!("{}", self.harness.metrics.text().unwrap()));
    }
}

/// A whole call, which the worker answers.
fn message() -> Bytes {
    let text = |padding: usize| {
        let params = json!({ "name": "echo", "_meta": { "long": "x".repeat(padding) } });
        json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string()
    };
    text(LARGE - text(0).len()).into()
}

/// Sends the rest of a body. Returns the whole answer.
async fn finish(mut socket: TcpStream) -> String {
    socket.write_all(&message()[1_000..]).await.unwrap();
    let mut answer = String::new();
    let read = timeout(PATIENCE, socket.read_to_string(&mut answer)).await;
    read.unwrap().unwrap();
    answer
}

#[tokio::test]
async fn a_tenants_large_bodies_delay_no_other_tenant() {
    let scene = GatewayFixture::start().await;
    let mut begun = scene.exhaust().await;
    let late = scene.begin(&scene.harness.key).await;
    scene.bodies("waiting", 1).await;
    let answer = finish(scene.begin(&scene.other).await).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("zeta"), "{answer}");
    // A small body never waits.
    assert_eq!(scene.call("echo").await, "ok");
    scene.bodies("waiting", 1).await;
    drop(begun.pop());
    scene.bodies("waiting", 0).await;
    for socket in [late, begun.pop().unwrap()] {
        let answer = finish(socket).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    drop(begun);
    scene.bodies("reading", 0).await;
}

#[tokio::test]
async fn a_body_that_waits_too_long_is_refused_with_advice() {
    let scene = GatewayFixture::start().await;
    let begun = scene.exhaust().await;
    let mut late = scene.begin(&scene.harness.key).await;
    scene.bodies("waiting", 1).await;
    skip(Duration::from_secs(11)).await;
    let mut answer = String::new();
    let read = timeout(PATIENCE, late.read_to_string(&mut answer)).await;
    read.unwrap().ok();
    let answer = answer.to_lowercase();
    assert!(answer.starts_with("http/1.1 429 "), "{answer}");
    for said in [
        "\r\nretry-after: 2\r\n",
        "\r\nconnection: close\r\n",
        "send fewer of them at once",
    ] {
        assert!(answer.contains(said), "{answer}");
    }
    scene.bodies("refused_total", 1).await;
    drop(begun);
}

#[tokio::test]
async fn unread_http2_bodies_block_no_others_on_their_connection() {
    let harness = Harness::start().await;
    let socket = TcpStream::connect(&harness.address).await.unwrap();
    let (mut client, connection) = h2::client::handshake(socket).await.unwrap();
    tokio::spawn(connection);
    // The gateway's settings arrive with its first answer.
    let small = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
    let request = || {
        Request::post("http://localhost/mcp")
            .header("authorization", format!("Bearer {}", harness.key))
            .header("content-type", "application/json")
            .body(())
            .unwrap()
    };
    let (answer, mut body) = client.send_request(request(), false).unwrap();
    body.send_data(small.into(), true).unwrap();
    assert_eq!(answer.await.unwrap().status(), 200);
    assert_eq!(client.current_max_send_streams(), 32);
    let (_answer, mut body) = client.send_request(request(), false).unwrap();
    body.reserve_capacity(1 << 20);
    let capacity = timeout(PATIENCE, poll_fn(|cx| body.poll_capacity(cx))).await;
    assert_eq!(capacity.unwrap().unwrap().unwrap(), 32 * 1024);
}
