//! Answers that their clients do not read: how much of them is held, for how long, and at whose
//! expense.

use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use h2::{RecvStream, client::SendRequest};
use http::Request;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    time::{sleep, timeout},
};

use super::{
    Harness,
    fixture::{GatewayFixture, PATIENCE, code, skip},
    worker::QUOTES,
};

const SECOND: Duration = Duration::from_secs(1);
const MIB: i64 = 1024 * 1024;
/// Maximum bytes of a tenant's unread answers.
const OF_TENANT: i64 = 32 * MIB;
/// More than the size of the answer of `large`.
const LARGE: i64 = 6 * QUOTES as i64 + 16 * 1024;
/// Small answers fit, large ones do not.
const WINDOW: u32 = 4 * 1024;

impl Harness {
    /// The value of a metric.
    fn metric(&self, name: &str) -> i64 {
        let text = self.metrics.text().unwrap();
        let line = format!("archway_gateway_unread_{name} ");
        let value = text.lines().find_map(|it| it.strip_prefix(&line));
        value.unwrap().parse().unwrap()
    }

    async fn until(&self, what: &str, holds: impl Fn(&Harness) -> bool) {
        let there = async {
            while !holds(self) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let there = timeout(PATIENCE, there).await;
        there.unwrap_or_else(|_| panic!("{what}: {}", self.metrics.text().unwrap()));
    }

    /// Calls a tool over HTTP/1 on a socket with a small buffer, and reads nothing.
    async fn call_without_reading(&self, tool: &str) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(8 * 1024).unwrap();
        let address = self.address.parse().unwrap();
        let mut socket = socket.connect(address).await.unwrap();
        let call = message(tool);
        let asked = format!("{}{call}", self.head(call.len(), ""));
        socket.write_all(asked.as_bytes()).await.unwrap();
        socket
    }

    /// An HTTP/2 connection whose streams have this window.
    async fn http2(&self, window: u32) -> SendRequest<Bytes> {
        let socket = TcpStream::connect(&self.address).await.unwrap();
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(window);
        let (client, connection) = builder.handshake(socket).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// Calls a tool. Returns its answer, of which nothing was read yet.
    async fn call_by_http2(&self, client: &SendRequest<Bytes>, tool: &str) -> RecvStream {
        let request = Request::post("http://localhost/mcp")
            .header("authorization", format!("Bearer {}", self.key))
            .header("content-type", "application/json")
            .body(())
            .unwrap();
        let mut client = client.clone().ready().await.unwrap();
        let (answer, mut body) = client.send_request(request, false).unwrap();
        body.send_data(message(tool).into(), true).unwrap();
        let answer = timeout(PATIENCE, answer).await.unwrap().unwrap();
        assert_eq!(answer.status(), 200);
        answer.into_body()
    }
}

fn message(tool: &str) -> String {
    let params = json!({ "name": tool });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// The whole answer, or why it ended early.
async fn take(mut body: RecvStream) -> Result<Value, h2::Error> {
    let mut whole = Vec::new();
    while let Some(data) = timeout(PATIENCE, body.data()).await.unwrap() {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        whole.extend(data);
    }
    Ok(serde_json::from_slice(&whole).unwrap())
}

fn quotes(answer: &Value) -> usize {
    let text = answer["structuredContent"]["quotes"].as_str().unwrap();
    assert_eq!(text, "\"".repeat(QUOTES));
    let told = answer["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(told).unwrap()["quotes"], text);
    text.len()
}

#[tokio::test]
async fn an_answer_of_any_size_arrives_whole_and_releases_its_space() {
    let harness = Harness::start().await;
    assert_eq!(quotes(&harness.call("large", json!({})).await), QUOTES);
    for window in [WINDOW, 1 << 20] {
        let client = harness.http2(window).await;
        let (large, small) = (
            harness.call_by_http2(&client, "large").await,
            harness.call_by_http2(&client, "echo").await,
        );
        let (small, large) = tokio::join!(take(small), take(large));
        assert_eq!(
            small.unwrap()["result"]["structuredContent"]["tenant"],
            "acme"
        );
        assert_eq!(quotes(&large.unwrap()["result"]), QUOTES);
    }
    let call = message("large");
    let length = call.len();
    let head = harness
        .head(length, "")
        .replace("application/json, text", "text");
    let (_, head, body) = harness.raw(&format!("{head}{call}")).await;
    assert!(head.contains("text/event-stream"), "{head}");
    let data = body.split("data: ").nth(1).unwrap();
    let answer: Value = serde_json::from_str(data).unwrap();
    assert_eq!(quotes(&answer["result"]), QUOTES);
    harness
        .until("all is taken", |it| it.metric("answer_bytes") == 0)
        .await;
    assert_eq!(harness.metric("answers_ended_total"), 0);
}

#[tokio::test]
async fn an_unread_answer_is_reset_after_30_seconds_despite_other_reads() {
    let harness = Harness::start().await;
    let client = harness.http2(WINDOW).await;
    let stalled = harness.call_by_http2(&client, "large").await;
    harness
        .until("it waits", |it| it.metric("answer_bytes") > MIB)
        .await;
    for _ in 0..3 {
        skip(9 * SECOND).await;
        let small = harness.call_by_http2(&client, "echo").await;
        take(small).await.unwrap();
        assert_eq!(harness.metric("answers_ended_total"), 0);
    }
    skip(4 * SECOND).await;
    harness
        .until("its end", |it| it.metric("answers_ended_total") == 1)
        .await;
    assert!(take(stalled).await.unwrap_err().is_reset());
    harness
        .until("its space is released", |it| it.metric("answer_bytes") == 0)
        .await;
    // Its connection stays open.
    let small = harness.call_by_http2(&client, "echo").await;
    take(small).await.unwrap();
}

#[tokio::test]
async fn a_small_unread_answer_is_reset_too() {
    let harness = Harness::start().await;
    for window in [0, 1] {
        let client = harness.http2(window).await;
        let ended = harness.metric("answers_ended_total");
        let stalled = harness.call_by_http2(&client, "echo").await;
        skip(31 * SECOND).await;
        let until = |it: &Harness| it.metric("answers_ended_total") == ended + 1;
        harness.until("its end", until).await;
        assert!(take(stalled).await.unwrap_err().is_reset());
    }
}

#[tokio::test]
async fn over_http1_an_unread_answer_ends_its_connection() {
    let scene = GatewayFixture::start().await;
    let harness = &scene.harness;
    let mut stalled = harness.call_without_reading("large").await;
    // Less than was reserved before it was written.
    let is_written = |it: &Harness| (MIB..LARGE).contains(&it.metric("answer_bytes"));
    harness.until("it waits", is_written).await;
    skip(31 * SECOND).await;
    harness
        .until("its space is released", |it| it.metric("answer_bytes") == 0)
        .await;
    assert_eq!(harness.metric("answers_ended_total"), 1);
    let mut came = Vec::new();
    let read = timeout(PATIENCE, stalled.read_to_end(&mut came)).await;
    assert!(read.unwrap().is_err() || came.len() < 8 * QUOTES);
}

#[tokio::test]
async fn one_tenants_unread_answers_are_bounded_and_block_no_other() {
    let scene = GatewayFixture::start().await;
    let harness = &scene.harness;
    let mut stalled = join_all((0..40).map(|_| harness.call_without_reading("large"))).await;
    harness
        .until("some wait", |it| it.metric("answers_waiting") > 0)
        .await;
    assert!(harness.metric("answer_bytes") <= OF_TENANT);
    assert_eq!(quotes(&scene.others("large").await), QUOTES);
    // Small answers need no reservation.
    assert_eq!(scene.call("echo").await, "ok");
    // A client that reads gets its answer once a stalled one has released space.
    let (late, ()) = tokio::join!(harness.call("large", json!({})), async {
        sleep(Duration::from_millis(50)).await;
        skip(6 * SECOND).await;
    });
    assert_eq!(quotes(&late), QUOTES);
    assert!(harness.metric("answers_ended_total") > 0);
    stalled.clear();
    harness
        .until("all is free", |it| it.metric("answer_bytes") == 0)
        .await;
}

#[tokio::test]
async fn a_connection_that_reads_nothing_gets_unread_answer_failures() {
    let harness = Harness::start().await;
    let client = harness.http2(WINDOW).await;
    // As many as fit into 8 MiB: the next would need more than is left.
    let mut stalled = Vec::new();
    for _ in 0..6 {
        stalled.push(harness.call_by_http2(&client, "large").await);
    }
    let calling = harness.call_by_http2(&client, "large");
    let (refused, ()) = tokio::join!(calling, async {
        harness
            .until("it waits", |it| it.metric("answers_waiting") == 1)
            .await;
        skip(9 * SECOND).await;
    });
    let refused = take(refused).await.unwrap()["result"].clone();
    assert_eq!(code(&refused), "unavailable", "{refused}");
    let error = &refused["_meta"]["io.archway/error"]["error"];
    assert_eq!(error["details"]["retry_after_seconds"], 5, "{error}");
    assert_eq!(harness.metric("answers_refused_total"), 1);
    // Another connection of the same caller has space.
    assert_eq!(quotes(&harness.call("large", json!({})).await), QUOTES);
    drop(stalled);
}
