//! The baselines for Archway. One is the chain axum → tonic → echo, without credential, schema or MCP, either
//! in one process over a unix socket, like `archway dev`, or in two over TCP, like an installation. The
//! other is an MCP server of the official SDK without anything around it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use archway_proto::v1::call_event::Event;
use archway_proto::v1::worker_client::WorkerClient;
use archway_proto::v1::worker_server::{Worker, WorkerServer};
use archway_proto::v1::{CallEvent, CallRequest};
use axum::{body::Bytes, extract::State, routing::post};
use futures::stream::{self, BoxStream, StreamExt};
use tokio::net::{TcpListener, UnixListener};
use tokio_stream::wrappers::{TcpListenerStream, UnixListenerStream};
use tonic::transport::{Channel, Endpoint, Server};

use crate::{Usage, held};

mod sdk;

/// The argument that makes a bench run the chain, and the one for its worker half.
const CHAIN: &str = "--bare";
const HALF: &str = "--bare-worker";
/// The argument for the MCP server.
const SDK: &str = "--bare-sdk";

/// The chain, in separate processes.
pub struct Bare {
    /// The first one accepts the requests.
    parts: Vec<Part>,
    /// Where it accepts them.
    pub url: String,
}

impl Bare {
    /// Starts this bench again as the chain. The bench must call [`Bare::serve_if_asked`] first.
    pub fn start(socket: &Path) -> Bare {
        Bare::start_on(socket, None)
    }

    /// The same, on these cores.
    pub fn start_on(socket: &Path, cores: Option<&str>) -> Bare {
        let (chain, url) = Part::start(cores, &[CHAIN, &socket.display().to_string()]);
        let parts = vec![chain];
        Bare { parts, url }
    }

    /// The chain in two processes, over TCP.
    pub fn apart() -> Bare {
        let (worker, address) = Part::start(None, &[HALF]);
        let (front, url) = Part::start(None, &[CHAIN, &address]);
        let parts = vec![front, worker];
        Bare { parts, url }
    }

    /// A server of the official SDK: stateless, with JSON replies.
    pub fn sdk() -> Bare {
        let (server, url) = Part::start(None, &[SDK]);
        let parts = vec![server];
        Bare { parts, url }
    }

    /// The CPU time that its processes have used so far, in seconds.
    pub fn cpu(&self) -> f64 {
        let used = |part: &Part| Usage::of(part.0.id()).cpu_seconds;
        self.parts.iter().map(used).sum()
    }

    /// Runs the chain if this process was started as a part of it, and then never returns.
    pub async fn serve_if_asked() {
        let arguments: Vec<String> = std::env::args().collect();
        match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [_, CHAIN, worker] if worker.starts_with("http://") => {
                let worker = Endpoint::from_shared(worker.to_owned()).expect("an endpoint");
                serve_posts(worker.tcp_nodelay(true)).await;
            }
            [_, CHAIN, socket] => {
                serve_echo_beside(Path::new(socket));
                let worker = Endpoint::from_shared(format!("unix:{socket}"));
                serve_posts(worker.expect("an endpoint")).await;
            }
            [_, HALF] => serve_echo().await,
            [_, SDK] => serve_http(axum::Router::new().nest_service("/mcp", sdk::service())).await,
            _ => {}
        }
    }
}

/// A process of the chain, which ends with this value.
struct Part(Child);

impl Part {
    /// Starts this bench again with these arguments. Returns the address that it prints.
    fn start(cores: Option<&str>, arguments: &[&str]) -> (Part, String) {
        let bench = std::env::current_exe().expect("a bench knows where it is");
        let mut child = held(cores, &bench)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the chain starts");
        let mut place = String::new();
        let stdout = child.stdout.take().expect("stdout is piped");
        BufReader::new(stdout)
            .read_line(&mut place)
            .expect("the chain says where it is");
        (Part(child), place.trim().to_owned())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

struct Echo;

#[tonic::async_trait]
impl Worker for Echo {
    type CallStream = BoxStream<'static, Result<CallEvent, tonic::Status>>;

    async fn call(
        &self,
        request: tonic::Request<CallRequest>,
    ) -> Result<tonic::Response<Self::CallStream>, tonic::Status> {
        let event = CallEvent {
            event: Some(Event::Result(request.into_inner().params)),
            ..CallEvent::default()
        };
        Ok(tonic::Response::new(stream::iter([Ok(event)]).boxed()))
    }
}

/// The worker half over TCP.
async fn serve_echo() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("http://{}", listener.local_addr().expect("an address"));
    let incoming = TcpListenerStream::new(listener).map(|stream| {
        let stream = stream?;
        stream.set_nodelay(true)?;
        std::io::Result::Ok(stream)
    });
    let server = Server::builder().add_service(WorkerServer::new(Echo));
    server.serve_with_incoming(incoming).await.expect("gRPC");
}

/// The worker half on a thread with its own runtime, as in `dev`.
fn serve_echo_beside(socket: &Path) {
    let listener = std::os::unix::net::UnixListener::bind(socket).expect("a socket");
    listener.set_nonblocking(true).expect("a socket");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async move {
            let listener = UnixListener::from_std(listener).expect("a socket");
            let server = Server::builder().add_service(WorkerServer::new(Echo));
            let incoming = UnixListenerStream::new(listener);
            server.serve_with_incoming(incoming).await.expect("gRPC");
        });
    });
}

/// The gateway half.
async fn serve_posts(worker: Endpoint) {
    let channel = worker.connect().await.expect("the worker listens");
    let app = axum::Router::new()
        .route("/mcp", post(relay))
        .with_state(WorkerClient::new(channel));
    serve_http(app).await;
}

async fn serve_http(app: axum::Router) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("http://{}/mcp", listener.local_addr().expect("an address"));
    axum::serve(
        axum::serve::ListenerExt::tap_io(listener, |tcp| tcp.set_nodelay(true).unwrap()),
        app,
    )
    .await
    .expect("HTTP");
}

async fn relay(State(mut worker): State<WorkerClient<Channel>>, params: Bytes) -> Bytes {
    let request = CallRequest {
        method: "tools/call".to_owned(),
        params,
    };
    let mut events = worker
        .call(request)
        .await
        .expect("the worker answers")
        .into_inner();
    let result = match events.message().await.expect("a message") {
        Some(CallEvent {
            event: Some(Event::Result(result)),
            ..
        }) => result,
        _ => Bytes::new(),
    };
    // Dropping a stream before its trailers resets it, and enough resets end the connection.
    events.message().await.expect("trailers");
    result
}
