//! Which bodies are read: all bodies of a caller within its limits, and otherwise only small ones.

use std::{net::SocketAddr, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::stacks::{build_workerless_stack_for, serve};
use crate::caller::Principal;

const PATIENCE: Duration = Duration::from_secs(20);
/// The largest body that is always read.
const FREE: usize = 64 * 1024;
const LARGEST: usize = 1024 * 1024;

/// A gateway, and a caller that may send two requests.
struct BodyFixture {
    address: SocketAddr,
    key: String,
    shutdown: CancellationToken,
}

impl BodyFixture {
    async fn start() -> BodyFixture {
        let who = Principal::limited_for_tests(2);
        let (stack, key, metrics) = build_workerless_stack_for(who).await;
        let shutdown = CancellationToken::new();
        BodyFixture {
            address: serve(stack, &metrics, 100, shutdown.clone()).await,
            key,
            shutdown,
        }
    }

    /// One whose caller has used up its limit.
    async fn spent() -> BodyFixture {
        let scene = BodyFixture::start().await;
        for _ in 0..2 {
            assert_eq!(scene.whole("ping", 100).await.0, 200);
        }
        scene
    }

    /// Sends a message of this length.
    async fn whole(&self, method: &str, length: usize) -> RawAnswer {
        let body = message(method, length);
        self.send(&format!("Content-Length: {length}"), &body).await
    }

    /// The same in one chunk, without a declared length.
    async fn chunked(&self, method: &str, length: usize) -> RawAnswer {
        let body = message(method, length);
        let body = format!("{}0\r\n\r\n", chunk(&body));
        self.send("Transfer-Encoding: chunked", &body).await
    }

    /// Sends a head with this header and part of a body, then waits for the answer and the end.
    async fn send(&self, header: &str, body: &str) -> RawAnswer {
        let mut client = self.begin(header, body).await;
        answer(&mut client).await
    }

    async fn begin(&self, header: &str, body: &str) -> TcpStream {
        let mut client = TcpStream::connect(self.address).await.unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\n{header}\r\n\r\n",
            self.key
        );
        client.write_all(head.as_bytes()).await.unwrap();
        client.write_all(body.as_bytes()).await.unwrap();
        client
    }
}

impl Drop for BodyFixture {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

/// Status, head in lower case, message.
struct RawAnswer(u16, String, Value);

impl RawAnswer {
    /// Panics unless this is the refusal of a caller over its limit whose message was not read.
    fn assert_unread(&self) {
        let RawAnswer(status, head, message) = self;
        assert_eq!(*status, 429, "{head} {message}");
        assert_eq!(message["error"]["code"], 42900);
        assert_eq!(message["error"]["data"]["of"], "total");
        assert!(message.get("id").is_none(), "{message}");
        for header in ["connection: close", "retry-after: ", "ratelimit: \"key\";"] {
            assert!(head.contains(&format!("\r\n{header}")), "{head}");
        }
    }
}

/// Reads one answer, which must state a length.
async fn answer(client: &mut TcpStream) -> RawAnswer {
    let mut came = String::new();
    loop {
        if let Some((head, body)) = came.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if body.len() == length {
                let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                return RawAnswer(status, head, serde_json::from_str(body).unwrap());
            }
        }
        let mut bytes = Vec::new();
        let read = timeout(PATIENCE, client.read_buf(&mut bytes)).await;
        assert!(read.unwrap().unwrap() > 0, "closed: {came}");
        came += std::str::from_utf8(&bytes).unwrap();
    }
}

/// A message of this many bytes.
fn message(method: &str, length: usize) -> String {
    let text = |padding: usize| {
        let params = json!({ "name": "nothing", "long": "x".repeat(padding) });
        json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }).to_string()
    };
    text(length - text(0).len())
}

fn chunk(data: &str) -> String {
    format!("{:x}\r\n{data}\r\n", data.len())
}

#[tokio::test]
async fn the_largest_body_of_a_caller_within_its_limits_is_read() {
    let scene = BodyFixture::start().await;
    for RawAnswer(status, head, message) in [
        scene.whole("ping", LARGEST).await,
        scene.chunked("ping", LARGEST).await,
    ] {
        assert_eq!((status, &message["id"]), (200, &json!(7)), "{message}");
        assert!(!head.contains("connection: close"), "{head}");
    }
    scene.whole("ping", LARGEST).await.assert_unread();
}

#[tokio::test]
async fn a_large_body_of_a_caller_over_its_limit_is_refused_unread() {
    let scene = BodyFixture::spent().await;
    let header = format!("Content-Length: {}", FREE + 1);
    let mut client = scene.begin(&header, "").await;
    answer(&mut client).await.assert_unread();
    // Bytes sent nevertheless reach a closed connection.
    client.write_all(&[b' '; FREE + 1]).await.ok();
    let end = timeout(PATIENCE, client.read_u8()).await;
    end.unwrap().unwrap_err();
}

#[tokio::test]
async fn a_body_without_a_declared_length_is_read_until_it_is_large() {
    let scene = BodyFixture::spent().await;
    // A body that ends here is answered in its own form, as the next test shows.
    let header = "Transfer-Encoding: chunked";
    let mut client = scene.begin(header, &chunk(&message("ping", FREE))).await;
    client.write_all(chunk(" ").as_bytes()).await.unwrap();
    answer(&mut client).await.assert_unread();
    let end = timeout(PATIENCE, client.read_u8()).await;
    end.unwrap().unwrap_err();
}

#[tokio::test]
async fn a_small_body_over_the_limit_is_refused_in_its_own_form() {
    let scene = BodyFixture::spent().await;
    for RawAnswer(status, head, message) in [
        scene.whole("tools/call", FREE).await,
        scene.chunked("tools/call", FREE).await,
    ] {
        let error = &message["result"]["_meta"]["io.archway/error"]["error"];
        assert_eq!((status, &error["code"]), (200, &json!("rate_limited")));
        assert_eq!(message["id"], 7);
        assert!(!head.contains("connection: close"), "{head}");
    }
    let RawAnswer(status, _, message) = scene.whole("ping", FREE).await;
    assert_eq!((status, &message["id"]), (429, &json!(7)));
}
