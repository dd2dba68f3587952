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
    mcp::{Calls, Mcp},
    metrics::Metrics,
    secrets::RootSecret,
    server::{self, Port, Stack, Stops, guard::Guard},
    session::Sessions,
    store::Stores,
    upstream::{Upstream, UpstreamConfig},
};

mod answers;
mod calls;
mod shutdown;
mod times;

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
        let pass = self.verifier.verify(&context.pass).unwrap().pass().clone();
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
    metrics: Arc<Metrics>,
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
        let (address, key, metrics) = serve_gateway(catalog, upstream, shutdown.clone()).await;
        Harness {
            address,
            key,
            cancelled,
            metrics,
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

/// A stack that knows one key, which may read.
async fn build_stack(
    catalog: Arc<Catalog>,
    upstream: Arc<Upstream>,
) -> (Stack, String, Arc<Metrics>) {
    let secret = RootSecret::parse(&RootSecret::generate_line().unwrap()).unwrap();
    let secret = Arc::new(secret);
    let nowhere = sqlx::postgres::PgConnectOptions::new().socket("/nonexistent");
    let metrics = Arc::new(Metrics::new());
    let stores = Stores::with_options(nowhere, 1);
    let auth = Auth::new(
        &AuthConfig::default(),
        stores.clone(),
        secret.clone(),
        metrics.clone(),
    );
    let key = KeyText::generate().unwrap();
    auth.know_for_tests(&key, &[Scope::ToolsRead]).await;
    let stack = server::stack(Stops {
        guard: Arc::new(Guard::new(&Default::default())),
        auth: Arc::new(auth),
        mcp: Arc::new(Mcp::new(
            Arc::new(Sessions::new(secret.clone(), stores)),
            Calls {
                catalog,
                upstream,
                cursors: Cursors::new(secret),
                metrics: metrics.clone(),
            },
        )),
        metrics: metrics.clone(),
    });
    (stack, key.text().expose_secret().to_owned(), metrics)
}

async fn serve_gateway(
    catalog: Arc<Catalog>,
    upstream: Arc<Upstream>,
    shutdown: CancellationToken,
) -> (String, String, Arc<Metrics>) {
    let (stack, key, metrics) = build_stack(catalog, upstream).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let port = Port {
        listener,
        stack,
        places: server::MOST_CLIENTS,
        open: metrics.connections().clone(),
    };
    tokio::spawn(server::serve(port, shutdown));
    (address, key, metrics)
}
