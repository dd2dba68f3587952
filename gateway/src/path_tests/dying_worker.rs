//! A worker that dies on request and names itself in its answers; otherwise like the scripted one.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use archway_proto::{
    catalog::Scope,
    failure::Failure,
    fault::Fault,
    v1::{
        CallEvent, CallRequest,
        call_event::Event,
        worker_server::{SERVICE_NAME, Worker, WorkerServer},
    },
};
use futures::{Stream, StreamExt, stream};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};
use tonic_health::{
    ServingStatus,
    pb::health_server::HealthServer,
    server::{HealthReporter, HealthService},
};

use super::{
    proxy::WorkerLife,
    worker::{ScriptedWorker, entry, progress, result},
};

/// Its tools. `max_depth` tells the `mortal` ones how many workers to kill before they answer.
const TOOLS: [&str; 11] = [
    "echo",
    "hang",
    "drip",
    "no_json",
    "mortal",
    "mortal_said",
    "mortal_write",
    "mortal_write_once",
    "write_status",
    "write_ended",
    "write_nothing",
];

/// The worker's service.
pub(super) struct DyingWorker {
    pub(super) scripted: ScriptedWorker,
    /// Its name in its answers.
    pub(super) name: String,
    /// The connections that the `mortal` tools break.
    pub(super) life: WorkerLife,
    /// How many times workers that share this counter died.
    pub(super) deaths: Arc<AtomicU64>,
    /// Number of tool calls received.
    pub(super) calls: Arc<AtomicU64>,
    pub(super) health: HealthReporter,
}

type Events = Pin<Box<dyn Stream<Item = Result<CallEvent, Status>> + Send>>;

impl DyingWorker {
    /// Serves the worker with the health service. Returns its address.
    pub(super) async fn serve(self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let health = self.health.clone();
        health
            .set_service_status(SERVICE_NAME, ServingStatus::Serving)
            .await;
        let health = HealthServer::new(HealthService::from_health_reporter(health));
        let server = tonic::transport::Server::builder()
            .add_service(health)
            .add_service(WorkerServer::new(self));
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        address
    }

    fn answer(&self, tool: &str, wanted: u64) -> Events {
        let count = |deaths: u64| (deaths < wanted).then_some(deaths + 1);
        let ordering = Ordering::SeqCst;
        if self.deaths.fetch_update(ordering, ordering, count).is_err() {
            let told = json!({ "structuredContent": { "worker": self.name } });
            return Box::pin(stream::iter([result(&told)]));
        }
        let said = match tool {
            "mortal_said" => vec![progress(1.0)],
            _ => Vec::new(),
        };
        let life = self.life.clone();
        let end = stream::once(async move {
            // Lets earlier events go out first.
            tokio::time::sleep(Duration::from_millis(50)).await;
            life.end();
            std::future::pending().await
        });
        Box::pin(stream::iter(said).chain(end))
    }
}

#[tonic::async_trait]
impl Worker for DyingWorker {
    type CallStream = Events;

    async fn call(&self, request: Request<CallRequest>) -> Result<Response<Events>, Status> {
        if request.get_ref().method == "tools/list" {
            let tools = TOOLS.map(|name| {
                let mut entry = entry(name, Scope::ToolsRead);
                entry["idempotent"] = json!(!name.contains("write"));
                entry["once"] = json!(name.contains("once"));
                entry
            });
            let list = json!({ "tools": tools });
            return Ok(Response::new(Box::pin(stream::iter([result(&list)]))));
        }
        self.calls.fetch_add(1, Ordering::SeqCst);
        let params: Value = serde_json::from_slice(&request.get_ref().params).unwrap();
        let wanted = params["arguments"]["max_depth"].as_u64();
        match params["name"].as_str().unwrap() {
            "mortal_write" if wanted.is_none() => {
                let told = json!({ "worker": self.name, "meta": params["_meta"] });
                let told = json!({ "structuredContent": told });
                Ok(Response::new(Box::pin(stream::iter([result(&told)]))))
            }
            "write_status" => Err(Status::unavailable("/host/path")),
            "write_ended" => {
                let ended = Failure::new(Fault::Unavailable, "the worker ends", "wait");
                let told = result(&ended.to_result());
                Ok(Response::new(Box::pin(stream::iter([told]))))
            }
            "write_nothing" => Ok(Response::new(Box::pin(stream::iter([])))),
            name if name.starts_with("mortal") => {
                Ok(Response::new(self.answer(name, wanted.unwrap_or_default())))
            }
            "no_json" => Ok(Response::new(Box::pin(stream::iter([Ok(CallEvent {
                event: Some(Event::Result(b"\xff{"[..].into())),
                ..CallEvent::default()
            })])))),
            _ => self.scripted.call(request).await,
        }
    }
}
