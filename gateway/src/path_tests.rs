//! The whole path over real sockets: a client, the stack, and a worker scripted by the test.
//!
//! Without Postgres: the credential's record is inserted into the cache.

use std::{sync::Arc, time::Duration};

use archway_proto::pass::{PassMinter, PassVerifier};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{
    catalog::Catalog,
    metrics::Metrics,
    server,
    upstream::{Upstream, UpstreamConfig},
};

mod answers;
mod breakers;
mod bulkheads;
mod calls;
mod body_permits;
mod proxy;
mod connection_close;
mod fleet;
mod malformed_workers;
mod disconnects;
mod resets;
mod limits;
mod worker_deaths;
mod dying_worker;
mod connection_limit;
mod replicas;
mod fixture;
mod stacks;
mod shutdown;
mod pass_refusals;
mod timeouts;
mod body_reading;
mod unread_answers;
mod notifications;
mod worker;

use worker::{ObservedCall, ScriptedWorker};

/// A gateway on loopback with one worker.
struct Harness {
    address: String,
    key: String,
    seen: mpsc::Receiver<ObservedCall>,
    metrics: Arc<Metrics>,
    _shutdown: DropGuard,
}

impl Harness {
    async fn start() -> Self {
        Harness::with_deadline(10).await
    }

    async fn with_deadline(call_deadline: u64) -> Self {
        Harness::build(call_deadline, Vec::new()).await
    }

    /// A gateway with two more worker addresses at which nothing listens.
    async fn with_dead_workers() -> Self {
        let nowhere = ["http://127.0.0.1:1", "unix:/nonexistent"].map(str::to_owned);
        Harness::build(10, nowhere.into()).await
    }

    async fn build(call_deadline: u64, mut workers: Vec<String>) -> Self {
        let minter = PassMinter::generate().unwrap();
        let (tell, seen) = mpsc::channel(64);
        let verifier = PassVerifier::new(&[minter.public_key()], "shared");
        workers.push(worker::serve(ScriptedWorker::new(verifier, tell)).await);
        let config = UpstreamConfig {
            workers,
            pool: "shared".into(),
            worker_ca: None,
            call_deadline,
        };
        let upstream = Upstream::new(&config, minter, Metrics::new().upstream()).unwrap();
        Harness::around(Arc::new(upstream), seen).await
    }

    /// A gateway with this upstream, whose workers report their calls to `seen`.
    async fn around(upstream: Arc<Upstream>, seen: mpsc::Receiver<ObservedCall>) -> Self {
        let shutdown = CancellationToken::new();
        let catalog = Arc::new(Catalog::new());
        let (fetching, fetched) = (catalog.clone(), upstream.clone());
        let until = shutdown.clone();
        tokio::spawn(async move { fetching.run(&fetched, &until).await });
        catalog.fetched().await;
        let (stack, key, metrics) = stacks::build_stack(catalog, upstream).await;
        let places = server::MOST_CLIENTS;
        let address = stacks::serve(stack, &metrics, places, shutdown.clone()).await;
        Harness {
            address: address.to_string(),
            key,
            seen,
            metrics,
            _shutdown: shutdown.drop_guard(),
        }
    }

    /// Sends bytes and reads until the gateway closes the connection. Returns status, head and
    /// body.
    async fn raw(&self, request: &str) -> (u16, String, String) {
        let mut socket = TcpStream::connect(&self.address).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let read = socket.read_to_end(&mut answer);
        tokio::time::timeout(Duration::from_secs(20), read)
            .await
            .unwrap()
            .unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let head = head.to_lowercase();
        let chunked = head.contains("transfer-encoding: chunked");
        let body = if chunked {
            unchunk(body)
        } else {
            body.to_owned()
        };
        (status, head, body)
    }

    fn head(&self, length: usize, extra: &str) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n{extra}\r\n",
            self.key
        )
    }

    async fn post(&self, extra: &str, body: &Value) -> (u16, String, String) {
        let body = body.to_string();
        self.raw(&format!("{}{body}", self.head(body.len(), extra)))
            .await
    }

    /// Sends a request of an older revision. Returns its JSON answer.
    async fn ask(&self, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, _, body) = self.post("", &body).await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Calls a tool in an older revision. Returns its result.
    async fn call(&self, name: &str, arguments: Value) -> Value {
        self.ask(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
        .await["result"]
            .clone()
    }

    /// Sends a request of 2026-07-28. Returns status and JSON answer.
    async fn ask_modern(&self, method: &str, params: Value) -> (u16, Value) {
        let (extra, body) = modern(method, params);
        let (status, _, body) = self.post(&extra, &body).await;
        (status, serde_json::from_str(&body).unwrap())
    }
}

/// Decodes a chunked body as far as it arrived.
fn unchunk(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((length, chunks)) = rest.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).unwrap();
        body += chunks.get(..length).unwrap_or(chunks);
        rest = chunks.get(length + 2..).unwrap_or_default();
    }
    body
}

/// The headers and the body of a request of 2026-07-28.
fn modern(method: &str, mut params: Value) -> (String, Value) {
    let name = params["name"].as_str().map(str::to_owned);
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let mut extra = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n");
    extra.extend(name.map(|name| format!("Mcp-Name: {name}\r\n")));
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    (extra, body)
}
