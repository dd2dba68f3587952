//! The chain that Archway is measured against: axum → tonic → echo in one process, over a unix
//! socket, with no credential, no schema, no MCP.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Stdio},
};

use archway_proto::v1::{
    CallEvent, CallRequest,
    call_event::Event,
    worker_client::WorkerClient,
    worker_server::{Worker, WorkerServer},
};
use axum::{body::Bytes, extract::State, routing::post};
use futures::stream::{self, StreamExt};

use crate::{Usage, held};

/// The chain, in a process of its own.
pub struct Bare {
    child: Child,
    /// Where it takes posts.
    pub url: String,
}

impl Bare {
    /// Starts this bench once more, as the chain; the bench calls [`Bare::serve_if_asked`] first.
    pub fn start(socket: &Path) -> Bare {
        Bare::start_on(socket, None)
    }

    /// The same on these cores.
    pub fn start_on(socket: &Path, cores: Option<&str>) -> Bare {
        let bench = std::env::current_exe().expect("a bench knows where it is");
        let mut child = held(cores, &bench)
            .arg("--bare")
            .arg(socket)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the chain starts");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("stdout is piped");
        BufReader::new(stdout)
            .read_line(&mut url)
            .expect("the chain says where it is");
        Bare {
            child,
            url: url.trim().to_owned(),
        }
    }

    /// What the process has used so far.
    pub fn usage(&self) -> Usage {
        Usage::of(self.child.id())
    }

    /// In the process that [`Bare::start`] started: is the chain, and never returns.
    pub async fn serve_if_asked() {
        let mut arguments = std::env::args().skip_while(|argument| argument != "--bare");
        if let Some(socket) = arguments.nth(1) {
            serve_bare(Path::new(&socket)).await;
        }
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

struct Echo;

#[tonic::async_trait]
impl Worker for Echo {
    type CallStream = stream::BoxStream<'static, Result<CallEvent, tonic::Status>>;

    async fn call(
        &self,
        request: tonic::Request<CallRequest>,
    ) -> Result<tonic::Response<Self::CallStream>, tonic::Status> {
        let event = CallEvent {
            event: Some(Event::Result(request.into_inner().params)),
        };
        Ok(tonic::Response::new(stream::iter([Ok(event)]).boxed()))
    }
}

/// axum → tonic → echo: the worker's half on a thread with a runtime of its own, as in `dev`.
async fn serve_bare(socket: &Path) {
    let listener = std::os::unix::net::UnixListener::bind(socket).expect("a socket");
    listener.set_nonblocking(true).expect("a socket");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.expect("a runtime").block_on(async move {
            let listener = tokio::net::UnixListener::from_std(listener).expect("a socket");
            let incoming = tokio_stream::wrappers::UnixListenerStream::new(listener);
            let server = tonic::transport::Server::builder().add_service(WorkerServer::new(Echo));
            server.serve_with_incoming(incoming).await.expect("gRPC");
        });
    });
    let endpoint = tonic::transport::Endpoint::from_shared(format!("unix:{}", socket.display()));
    let channel = endpoint
        .expect("an endpoint")
        .connect()
        .await
        .expect("the worker listens");
    let app = axum::Router::new()
        .route("/mcp", post(relay))
        .with_state(WorkerClient::new(channel));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    println!("http://{}/mcp", listener.local_addr().expect("an address"));
    axum::serve(
        axum::serve::ListenerExt::tap_io(listener, |tcp| tcp.set_nodelay(true).unwrap()),
        app,
    )
    .await
    .expect("HTTP");
}

async fn relay(
    State(mut worker): State<WorkerClient<tonic::transport::Channel>>,
    params: Bytes,
) -> Bytes {
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
        }) => result,
        _ => Bytes::new(),
    };
    // A stream that is dropped before its trailers is reset; enough of them end the connection.
    events.message().await.expect("trailers");
    result
}
