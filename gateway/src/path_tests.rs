//! The whole path over real sockets: a client, the stack, a worker that a test scripts.
//!
//! No Postgres: the credential's record is put into the cache that a look-up would have filled.

use std::{pin::Pin, sync::Arc, time::Duration};

use archway_proto::{
    catalog::Scope,
    context::CallContext,
    pass::{PassMinter, PassVerifier},
    v1::{
        CallEvent, CallRequest, Progress,
        call_event::Event,
        worker_server::{Worker, WorkerServer},
    },
};
use futures::{Stream, StreamExt, stream};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
};
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::{CancellationToken, DropGuard};
use tonic::{Request, Response, Status};

use crate::{
    auth::{Auth, AuthConfig, key::KeyText},
    catalog::Catalog,
    cursor::Cursors,
    mcp::Mcp,
    metrics::Metrics,
    secrets::RootSecret,
    server::{self, Stops, guard::Guard},
    store::Stores,
    upstream::{Upstream, UpstreamConfig},
};

/// A worker with one tool for each thing a worker may do.
struct Scripted {
    verifier: PassVerifier,
    cancelled: Arc<Notify>,
}

/// Tells when the stream that holds it is dropped.
struct Gone(Arc<Notify>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

fn entry(name: &str, scope: Scope) -> Value {
    json!({
        "name": name, "title": name, "description": name, "readOnly": true, "idempotent": true,
        "inputSchema": {
            "type": "object",
            "properties": {
                "max_depth": { "type": "integer", "minimum": 1, "maximum": 9 },
                "cursor": { "type": "string" },
            },
            "additionalProperties": false,
        },
        "outputSchema": { "type": "object" }, "family": "basics", "scope": scope,
    })
}

fn catalog() -> Value {
    let names = ["echo", "pages", "progress", "hang", "status", "garbage"];
    let mut tools: Vec<Value> = names.map(|name| entry(name, Scope::ToolsRead)).into();
    tools.push(entry("write", Scope::MemoryWrite));
    json!({ "tools": tools })
}

fn result(value: &Value) -> Result<CallEvent, Status> {
    Ok(CallEvent {
        event: Some(Event::Result(value.to_string().into())),
    })
}

fn progress(done: f64) -> Result<CallEvent, Status> {
    let progress = Progress {
        progress: done,
        total: Some(2.0),
        message: None,
    };
    Ok(CallEvent {
        event: Some(Event::Progress(progress)),
    })
}

#[tonic::async_trait]
impl Worker for Scripted {
    type CallStream = Pin<Box<dyn Stream<Item = Result<CallEvent, Status>> + Send>>;

    async fn call(
        &self,
        request: Request<CallRequest>,
    ) -> Result<Response<Self::CallStream>, Status> {
        let context = CallContext::extract(request.metadata()).unwrap();
        let CallRequest { method, params } = request.into_inner();
        if method == "tools/list" {
            self.verifier.verify_catalog(&context.pass).unwrap();
            return Ok(Response::new(Box::pin(stream::iter([result(&catalog())]))));
        }
        let pass = self.verifier.verify(&context.pass).unwrap().pass;
        let params: Value = serde_json::from_slice(&params).unwrap();
        let told = json!({
            "arguments": params["arguments"], "tenant": pass.tenant,
            "trace": context.trace.trace_id(), "seconds": context.timeout.unwrap().as_secs(),
        });
        let data = json!({ "structuredContent": told });
        let paged = json!({ "structuredContent": told, "_meta": { "io.archway/cursor": "5" } });
        let gone = Gone(self.cancelled.clone());
        let events: Self::CallStream = match params["name"].as_str().unwrap() {
            "pages" => Box::pin(stream::iter([result(&paged)])),
            "progress" => Box::pin(stream::iter([progress(1.0), progress(2.0), result(&data)])),
            "hang" => Box::pin(stream::pending().inspect(move |_: &Result<_, _>| {
                let _held = &gone;
            })),
            "status" => return Err(Status::internal("/host/path")),
            "garbage" => Box::pin(stream::iter([result(&json!([]))])),
            _ => Box::pin(stream::iter([result(&data)])),
        };
        Ok(Response::new(events))
    }
}

/// A gateway on loopback with one worker behind it.
struct Harness {
    address: String,
    key: String,
    cancelled: Arc<Notify>,
    _shutdown: DropGuard,
}

impl Harness {
    async fn start() -> Self {
        Harness::with_deadline(10).await
    }

    async fn with_deadline(call_deadline: u64) -> Self {
        let minter = PassMinter::generate().unwrap();
        let cancelled = Arc::new(Notify::new());
        let verifier = PassVerifier::new(&[minter.public_key()], "shared");
        let worker = serve_worker(Scripted {
            verifier,
            cancelled: cancelled.clone(),
        })
        .await;
        let shutdown = CancellationToken::new();
        let config = UpstreamConfig {
            workers: vec![worker],
            pool: "shared".into(),
            call_deadline,
        };
        let upstream = Arc::new(Upstream::new(&config, minter).unwrap());
        let catalog = Arc::new(Catalog::new());
        let (fetching, fetched) = (catalog.clone(), upstream.clone());
        let until = shutdown.clone();
        tokio::spawn(async move { fetching.keep(&fetched, &until).await });
        catalog.fetched().await;
        let (address, key) = serve_gateway(catalog, upstream, shutdown.clone()).await;
        Harness {
            address,
            key,
            cancelled,
            _shutdown: shutdown.drop_guard(),
        }
    }

    /// Sends bytes and reads until the gateway closes the connection: status, head, body.
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
        (status, head.to_lowercase(), body.to_owned())
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

    /// A request of the older revisions; its JSON answer.
    async fn ask(&self, method: &str, params: Value) -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, _, body) = self.post("", &body).await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// A call of the older revisions; its result.
    async fn call(&self, name: &str, arguments: Value) -> Value {
        self.ask(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
        .await["result"]
            .clone()
    }

    /// A request of 2026-07-28; status and JSON answer.
    async fn ask_modern(&self, method: &str, mut params: Value) -> (u16, Value) {
        let name = params["name"].as_str().map(str::to_owned);
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut extra = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n");
        extra.extend(name.map(|name| format!("Mcp-Name: {name}\r\n")));
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, _, body) = self.post(&extra, &body).await;
        (status, serde_json::from_str(&body).unwrap())
    }
}

async fn serve_worker(worker: Scripted) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = tonic::transport::Server::builder().add_service(WorkerServer::new(worker));
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    address
}

async fn serve_gateway(
    catalog: Arc<Catalog>,
    upstream: Arc<Upstream>,
    shutdown: CancellationToken,
) -> (String, String) {
    let secret = RootSecret::parse(&RootSecret::generate_line().unwrap()).unwrap();
    let secret = Arc::new(secret);
    let nowhere = sqlx::postgres::PgConnectOptions::new().socket("/nonexistent");
    let auth = Auth::new(
        &AuthConfig::default(),
        Stores::with_options(nowhere, 1),
        secret.clone(),
    );
    let key = KeyText::generate().unwrap();
    auth.know_for_tests(&key, &[Scope::ToolsRead]).await;
    let metrics = Arc::new(Metrics::new());
    let stack = server::stack(Stops {
        guard: Arc::new(Guard::new(&Default::default())),
        auth: Arc::new(auth),
        mcp: Arc::new(Mcp::new(
            catalog,
            upstream,
            Cursors::new(secret),
            metrics.clone(),
        )),
        metrics: metrics.clone(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(server::serve(listener, stack, metrics, shutdown));
    (address, key.text().expose_secret().to_owned())
}

#[tokio::test]
async fn a_call_reaches_the_worker_in_the_advertised_spelling_and_comes_back_whole() {
    let harness = Harness::start().await;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let extra = format!("traceparent: 00-{trace}-00f067aa0ba902b7-01\r\n");
    let body = json!({
        "jsonrpc": "2.0", "id": "x", "method": "tools/call",
        "params": { "name": "echo", "arguments": { "maxDepth": 2.0 } },
    });
    let (status, head, body) = harness.post(&extra, &body).await;
    assert_eq!(status, 200, "{body}");
    assert!(head.contains("content-type: application/json"), "{head}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    let told = json!({
        "arguments": { "max_depth": 2 }, "tenant": "acme", "trace": trace, "seconds": 10,
    });
    assert_eq!(answer["id"], "x");
    assert_eq!(answer["result"]["structuredContent"], told);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), told);
    assert!(
        answer["result"]["_meta"]["io.archway/durationMs"]
            .as_f64()
            .unwrap()
            > 0.0
    );
    assert!(answer["result"].get("resultType").is_none());
    let (status, answer) = harness
        .ask_modern("tools/call", json!({ "name": "echo" }))
        .await;
    assert_eq!(
        (status, &answer["result"]["resultType"]),
        (200, &json!("complete"))
    );
}

#[tokio::test]
async fn without_a_good_credential_the_body_is_never_read() {
    let harness = Harness::start().await;
    let head = harness.head(1000, "");
    let stranger = KeyText::generate().unwrap().text();
    // Not a byte of the body is sent: an answer shows that none was awaited.
    let none = harness
        .raw(&head.replace("Authorization", "X-Api-Key"))
        .await;
    assert_eq!(none.0, 401);
    assert!(
        none.1
            .contains("www-authenticate: bearer realm=\"archway\"\r\n"),
        "{}",
        none.1
    );
    let malformed = harness.raw(&head.replace(&harness.key, "awy_x")).await;
    assert_eq!(malformed.0, 401);
    assert!(malformed.1.contains("invalid_token"), "{}", malformed.1);
    // Nobody can say whether this key is good while Postgres is away, so nobody says no.
    let unchecked = harness
        .raw(&head.replace(&harness.key, stranger.expose_secret()))
        .await;
    assert_eq!(unchecked.0, 503);
    assert!(unchecked.1.contains("retry-after: "), "{}", unchecked.1);
}

#[tokio::test]
async fn the_checks_stand_in_their_order() {
    let harness = Harness::start().await;
    let good = harness.head(2 << 20, "");
    let keyless = good.replace("Authorization", "X");
    let status = async |request: String| harness.raw(&request).await.0;
    assert_eq!(
        status(keyless.replace("localhost", "evil.example")).await,
        403
    );
    assert_eq!(
        status(keyless.replace("Host:", "Origin: http://evil.example\r\nHost:")).await,
        403
    );
    assert_eq!(status(keyless.replace("/mcp", "/")).await, 404);
    assert_eq!(status(keyless.replace("POST", "DELETE")).await, 405);
    assert_eq!(status(keyless.clone()).await, 413);
    assert_eq!(status(keyless.replace("2097152", "10")).await, 401);
    let small = harness.head(2, "") + "{}";
    assert_eq!(
        status(small.replace("application/json\r\nA", "text/plain\r\nA")).await,
        415
    );
    assert_eq!(
        status(small.replace("application/json, text/event-stream", "image/png")).await,
        406
    );
    assert_eq!(status(small).await, 400);
    assert_eq!(
        status(harness.head(2, &format!("X: {}\r\n", "x".repeat(40_000)))).await,
        431
    );
    let many: String = (0..101).map(|n| format!("x-{n}: 1\r\n")).collect();
    assert_eq!(status(harness.head(2, &many)).await, 431);
}

#[tokio::test]
async fn a_body_that_grows_past_its_cap_is_cut_off() {
    let harness = Harness::start().await;
    let head = harness
        .head(0, "")
        .replace("Content-Length: 0", "Transfer-Encoding: chunked");
    let size = (1 << 20) + 1;
    let (status, _, body) = harness
        .raw(&format!(
            "{head}{size:x}\r\n{}\r\n0\r\n\r\n",
            "x".repeat(size)
        ))
        .await;
    assert_eq!(status, 413);
    assert!(!body.contains("jsonrpc"));
}

#[tokio::test]
async fn both_eras_list_the_tools_that_the_key_may_call() {
    let harness = Harness::start().await;
    let client = json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let hello = harness.ask("initialize", client).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(hello["result"]["serverInfo"]["name"], "archway");
    assert!(hello["result"]["capabilities"].get("prompts").is_none());
    let older = harness.ask("tools/list", json!({})).await["result"].clone();
    let names = ["echo", "pages", "progress", "hang", "status", "garbage"];
    let listed = |list: &Value| -> Vec<String> {
        let tools = list["tools"].as_array().unwrap();
        tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(listed(&older), names);
    assert!(older.get("resultType").is_none());

    let (status, discovered) = harness.ask_modern("server/discover", json!({})).await;
    assert_eq!(
        (status, &discovered["result"]["cacheScope"]),
        (200, &json!("private"))
    );
    let (status, newer) = harness.ask_modern("tools/list", json!({})).await;
    assert_eq!(
        (status, listed(&newer["result"])),
        (200, names.map(str::to_owned).into())
    );
    assert_eq!(newer["result"]["cacheScope"], "private");
    assert!(newer["result"]["ttlMs"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn what_is_not_offered_is_not_found() {
    let harness = Harness::start().await;
    for method in [
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "completion/complete",
        "logging/setLevel",
        "subscriptions/listen",
        "tasks/list",
        "nonsense",
    ] {
        let answer = harness
            .ask(method, json!({ "name": "x", "uri": "x", "level": "info" }))
            .await;
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
        let (status, answer) = harness.ask_modern(method, json!({})).await;
        assert_eq!(
            (status, &answer["error"]["code"]),
            (404, &json!(-32601)),
            "{method}"
        );
    }
    assert_eq!(harness.ask("ping", json!({})).await["result"], json!({}));
    assert_eq!(harness.ask_modern("ping", json!({})).await.0, 404);
}

#[tokio::test]
async fn a_call_that_can_not_be_routed_is_an_error_of_the_protocol() {
    let harness = Harness::start().await;
    for params in [
        json!({}),
        json!({ "name": 3 }),
        json!({ "name": "nothing" }),
        json!({ "name": "echo", "arguments": [] }),
    ] {
        let answer = harness.ask("tools/call", params.clone()).await;
        assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}");
    }
    let call =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "write" } });
    let (status, head, _) = harness.post("", &call).await;
    assert_eq!(status, 403);
    assert!(
        head.contains("insufficient_scope") && head.contains("memory:write"),
        "{head}"
    );
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(harness.post("", &told).await.0, 202);
}

#[tokio::test]
async fn what_an_agent_can_mend_is_a_result() {
    let harness = Harness::with_deadline(1).await;
    assert_eq!(harness.call("echo", Value::Null).await.get("isError"), None);
    for (tool, arguments, code) in [
        ("echo", json!({ "max_depth": 10 }), "invalid_arguments"),
        ("pages", json!({ "cursor": "5" }), "invalid_arguments"),
        ("hang", json!({}), "deadline_exceeded"),
        ("status", json!({}), "internal_error"),
        ("garbage", json!({}), "internal_error"),
    ] {
        let result = harness.call(tool, arguments).await;
        assert_eq!(result["isError"], true, "{tool}");
        assert_eq!(
            result["_meta"]["io.archway/error"]["error"]["code"], code,
            "{tool}"
        );
        assert!(!result.to_string().contains("/host/path"));
    }
}

#[tokio::test]
async fn pages_are_turned_with_sealed_cursors() {
    let harness = Harness::start().await;
    let first = harness.call("pages", json!({ "max_depth": 1 })).await;
    let cursor = first["structuredContent"]["cursor"].clone();
    assert_ne!(cursor, "5");
    assert!(first["_meta"].get("io.archway/cursor").is_none());
    let next = harness
        .call("pages", json!({ "maxDepth": 1, "cursor": cursor }))
        .await;
    assert_eq!(next["structuredContent"]["arguments"]["cursor"], "5");
    let other = harness
        .call("pages", json!({ "max_depth": 2, "cursor": cursor }))
        .await;
    assert_eq!(other["isError"], true);
}

#[tokio::test]
async fn progress_is_streamed_to_a_client_that_asks_for_it_and_to_no_other() {
    let harness = Harness::start().await;
    let call = |meta: Value| {
        json!({
            "jsonrpc": "2.0", "id": 9, "method": "tools/call",
            "params": { "name": "progress", "_meta": meta },
        })
    };
    let (_, head, _) = harness.post("", &call(json!({}))).await;
    assert!(head.contains("content-type: application/json"), "{head}");
    let (status, head, body) = harness
        .post("", &call(json!({ "progressToken": "t" })))
        .await;
    assert_eq!(status, 200);
    assert!(head.contains("content-type: text/event-stream"), "{head}");
    let events: Vec<Value> = body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let [one, two, answer] = &events[..] else {
        panic!("{body}")
    };
    assert_eq!(
        (&one["params"]["progressToken"], &one["params"]["progress"]),
        (&"t".into(), &1.0.into())
    );
    assert_eq!(two["params"]["progress"], 2.0);
    assert_eq!(
        (&answer["id"], answer["result"].is_object()),
        (&9.into(), true)
    );
}

#[tokio::test]
async fn a_client_that_takes_only_events_gets_events() {
    let harness = Harness::start().await;
    for method in ["tools/list", "tools/call"] {
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "name": "echo" } });
        let body = body.to_string();
        let head = harness
            .head(body.len(), "")
            .replace("application/json, text", "text");
        let (status, head, body) = harness.raw(&format!("{head}{body}")).await;
        assert_eq!(status, 200);
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        assert!(body.contains("event: message\ndata: {"), "{body}");
    }
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_its_call() {
    let harness = Harness::start().await;
    let call =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "hang" } });
    let call = call.to_string();
    let mut socket = TcpStream::connect(&harness.address).await.unwrap();
    let head = harness.head(call.len(), "");
    socket
        .write_all(format!("{head}{call}").as_bytes())
        .await
        .unwrap();
    // Nothing tells that the call has begun; going away early must cancel it just as well.
    let mut byte = [0];
    let waited = tokio::time::timeout(Duration::from_millis(300), socket.read(&mut byte)).await;
    assert!(waited.is_err(), "the call hangs");
    drop(socket);
    tokio::time::timeout(Duration::from_secs(5), harness.cancelled.notified())
        .await
        .unwrap();
}
