//! A worker scripted by tests: one tool for each behaviour of a worker.

use std::{pin::Pin, sync::Arc};

use archway_proto::{
    catalog::Scope,
    context::CallContext,
    failure::Failure,
    fault::Fault,
    log::LogLevel,
    pass::PassVerifier,
    v1::{
        CallEvent, CallRequest, Log, Progress,
        call_event::Event,
        worker_server::{Worker, WorkerServer},
    },
};
use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, mpsc},
    time::{Instant, sleep},
};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

/// The tools that every key may call, in order.
pub(super) const TOOLS: [&str; 18] = [
    "echo", "pages", "progress", "logs", "flood", "spate", "pretty", "hang", "drip", "status",
    "garbage", "denies", "slow", "late", "gate", "far", "lingers", "large",
];

/// Quotes in the answer of `large`; each takes eight bytes of the whole answer.
pub(super) const QUOTES: usize = 192 * 1024;

/// What the worker reports about a call that does not end by itself.
#[derive(Debug)]
pub(super) enum ObservedCall {
    Began,
    /// Its stream was dropped at this time.
    Gone(Instant),
}

/// The worker's service.
pub(super) struct ScriptedWorker {
    pub(super) verifier: PassVerifier,
    pub(super) seen: mpsc::Sender<ObservedCall>,
    /// Calls of `gate` wait here for the permits that the test adds.
    pub(super) gate: Arc<Semaphore>,
}

impl ScriptedWorker {
    /// A worker whose gate is closed.
    pub(super) fn new(verifier: PassVerifier, seen: mpsc::Sender<ObservedCall>) -> Self {
        ScriptedWorker {
            verifier,
            seen,
            gate: Arc::new(Semaphore::new(0)),
        }
    }
}

/// Reports when the stream that holds it is dropped.
struct BlockedCall(mpsc::Sender<ObservedCall>);

impl Drop for BlockedCall {
    fn drop(&mut self) {
        // The test may have ended before its calls.
        self.0.try_send(ObservedCall::Gone(Instant::now())).ok();
    }
}

pub(super) fn entry(name: &str, scope: Scope) -> Value {
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
        "outputSchema": { "type": "object" }, "scope": scope,
        "family": if name == "far" { "distance" } else { "basics" },
    })
}

fn catalog() -> Value {
    let mut tools: Vec<Value> = TOOLS.map(|name| entry(name, Scope::ToolsRead)).into();
    tools.push(entry("write", Scope::MemoryWrite));
    json!({ "tools": tools })
}

pub(super) fn result(value: &Value) -> Result<CallEvent, Status> {
    Ok(CallEvent {
        event: Some(Event::Result(value.to_string().into())),
        ..CallEvent::default()
    })
}

/// Each byte is escaped, and each escape again.
fn quotes() -> Result<CallEvent, Status> {
    result(&json!({ "structuredContent": { "quotes": "\"".repeat(QUOTES) } }))
}

pub(super) fn progress(done: f64) -> Result<CallEvent, Status> {
    let progress = Progress {
        progress: done,
        total: Some(2.0),
        message: None,
    };
    Ok(CallEvent {
        event: Some(Event::Progress(progress)),
        ..CallEvent::default()
    })
}

fn log(level: &str, data: impl AsRef<[u8]>) -> Result<CallEvent, Status> {
    let log = Log {
        level: level.to_owned(),
        logger: Some("scripted".to_owned()),
        data: data.as_ref().to_owned().into(),
    };
    Ok(CallEvent {
        event: Some(Event::Log(log)),
        ..CallEvent::default()
    })
}

/// A message of every level, the most severe first.
fn logs() -> Vec<Result<CallEvent, Status>> {
    let levels = LogLevel::ALL.into_iter().rev();
    levels
        .map(|level| log(level.name(), "{ \"said\":\n[\"x\"] }"))
        .collect()
}

/// Messages that must not be forwarded, and more of the rest than the limit.
fn flood() -> Vec<Result<CallEvent, Status>> {
    let quoted = |length: usize| format!("\"{}\"", "x".repeat(length));
    let mut events = vec![
        log("error", quoted(64 * 1024)),
        log("error", "{"),
        log("error", b"\"\xff\""),
        log("loud", "1"),
        log("error", quoted(60 * 1024)),
    ];
    events.extend((0..1010).map(|number: i32| log("error", number.to_string())));
    events
}

/// More than sockets buffer for a client that does not read.
fn spate() -> Vec<Result<CallEvent, Status>> {
    let large = format!("\"{}\"", "x".repeat(60 * 1024));
    (0..500).map(|_| log("error", &large)).collect()
}

/// The result of a search that found nothing in its time.
fn nothing_in_time() -> Value {
    Failure::new(Fault::SearchTimeout, "the time was up", "narrow the search").to_result()
}

/// The result of a tool that failed by itself.
fn denial() -> Value {
    Failure::new(Fault::InternalError, "the tool failed", "try again").to_result()
}

/// Events that never end.
fn endless(
    first: Vec<Result<CallEvent, Status>>,
    seen: &mpsc::Sender<ObservedCall>,
) -> impl Stream<Item = Result<CallEvent, Status>> + use<> {
    let held = BlockedCall(seen.clone());
    seen.try_send(ObservedCall::Began).ok();
    stream::iter(first)
        .chain(stream::pending())
        .inspect(move |_| {
            let _held = &held;
        })
}

#[tonic::async_trait]
impl Worker for ScriptedWorker {
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
        let left = context.timeout.unwrap().as_millis();
        let seconds = u64::try_from(left.div_ceil(1000)).unwrap();
        let told = json!({
            "arguments": params["arguments"], "tenant": pass.tenant,
            "trace": context.trace.trace_id(), "seconds": seconds,
        });
        let data = json!({ "structuredContent": told });
        let paged = json!({ "structuredContent": told, "_meta": { "io.archway/cursor": "5" } });
        let events: Self::CallStream = match params["name"].as_str().unwrap() {
            "pages" => Box::pin(stream::iter([result(&paged)])),
            "progress" => Box::pin(stream::iter([progress(1.0), progress(2.0), result(&data)])),
            "logs" => Box::pin(stream::iter(logs()).chain(stream::iter([result(&data)]))),
            "flood" => Box::pin(stream::iter(flood()).chain(stream::iter([result(&data)]))),
            "spate" => Box::pin(endless(spate(), &self.seen)),
            "pretty" => Box::pin(stream::iter([Ok(CallEvent {
                event: Some(Event::Result(format!("{data:#}").into())),
                ..CallEvent::default()
            })])),
            "large" => Box::pin(stream::iter([quotes()])),
            "lingers" => Box::pin(endless(vec![result(&data)], &self.seen)),
            "hang" => Box::pin(endless(vec![], &self.seen)),
            "drip" => Box::pin(endless(vec![progress(1.0)], &self.seen)),
            "denies" => Box::pin(stream::iter([result(&denial())])),
            "slow" => {
                sleep(context.timeout.unwrap().mul_f64(0.7)).await;
                Box::pin(stream::iter([result(&data)]))
            }
            "late" => {
                sleep(context.timeout.unwrap().mul_f64(0.7)).await;
                Box::pin(stream::iter([result(&nothing_in_time())]))
            }
            "gate" => {
                self.seen.try_send(ObservedCall::Began).ok();
                self.gate.acquire().await.unwrap().forget();
                Box::pin(stream::iter([result(&data)]))
            }
            "status" => return Err(Status::internal("/host/path")),
            "garbage" => Box::pin(stream::iter([result(&json!([]))])),
            _ => Box::pin(stream::iter([result(&data)])),
        };
        Ok(Response::new(events))
    }
}

/// Serves the worker. Returns its address.
pub(super) async fn serve(worker: ScriptedWorker) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = tonic::transport::Server::builder().add_service(WorkerServer::new(worker));
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    address
}
