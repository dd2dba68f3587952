//! A worker that serves the tools, resources and prompts of the official conformance suite: fixed answers
//! of every kind in MCP, through the same gRPC contract, pass and event stream as a real worker's.
//!
//! The suite (`@modelcontextprotocol/conformance`) defines what each tool returns. Its tools for
//! elicitation and sampling are absent, since the gateway offers neither. Three more tools, `hang`, `break` and
//! `crash`, are listed only for tests that use them: the suite never sees them.

use std::{
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread,
    time::Duration,
};

use archway_proto::{
    context::CallContext,
    method::Method,
    pass::PassVerifier,
    v1::{
        CallEvent, CallRequest, Log, Progress,
        call_event::Event,
        worker_server::{self, WorkerServer},
    },
};
use serde_json::Value;
use tokio::{
    runtime::Builder,
    sync::{
        Notify,
        mpsc::{self, Sender},
    },
    time::Instant,
};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Response, Status, transport::Server};

use tools::Answer;

mod methods;
mod tools;

/// The pause between two events of a call. The suite checks that a client gets them as they come, not all
/// at the end.
const STEP: Duration = Duration::from_millis(50);

/// An event of a call of `hang`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangEvent {
    /// The call began.
    Began,
    /// Its stream was dropped, and when: no client waits any longer.
    Gone(Instant),
}

/// The running worker. Dropping it ends the server and its connections.
pub(crate) struct Fixture {
    address: SocketAddr,
    end: Arc<Notify>,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.end.notify_one();
    }
}

impl Fixture {
    /// Serves callers whose pass `verifier` accepts, on a port of its own. With `hung` it lists the tools
    /// `hang`, `break` and `crash`.
    pub(crate) fn start(verifier: PassVerifier, hung: Option<Sender<HangEvent>>) -> Fixture {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let end = Arc::new(Notify::new());
        let service = Service {
            verifier,
            hung,
            end: Arc::clone(&end),
        };
        thread::spawn(move || service.serve(listener));
        Fixture { address, end }
    }

    /// Its gRPC address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

struct Service {
    verifier: PassVerifier,
    hung: Option<Sender<HangEvent>>,
    /// Ends the server and its connections.
    end: Arc<Notify>,
}

impl Service {
    /// Serves until the end, on a runtime of its own: its connections end with it, as those of a process.
    fn serve(self, listener: TcpListener) {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let end = Arc::clone(&self.end);
            let serving = Server::builder()
                .add_service(WorkerServer::new(self))
                .serve_with_incoming(TcpListenerStream::new(listener));
            tokio::select! {
                served = serving => served.unwrap(),
                () = end.notified() => {}
            }
        });
    }
}

type Events = Sender<Result<CallEvent, Status>>;

#[tonic::async_trait]
impl worker_server::Worker for Service {
    type CallStream = ReceiverStream<Result<CallEvent, Status>>;

    async fn call(
        &self,
        request: Request<CallRequest>,
    ) -> Result<Response<Self::CallStream>, Status> {
        let context = CallContext::extract(request.metadata())
            .map_err(|error| Status::invalid_argument(error.to_string()))?;
        let refused = |error: archway_proto::pass::PassError| {
            Status::unauthenticated(format!("the fixture refuses the pass: {error}"))
        };
        let call = request.into_inner();
        let answer = match Method::parse(&call.method) {
            Some(Method::ToolsList) => {
                let token = &context.pass;
                self.verifier.verify_catalog(token).map_err(refused)?;
                let list = serde_json::to_value(tools::list(self.hung.is_some())).unwrap();
                Answer::Plain(list)
            }
            Some(Method::ToolsCall) => {
                self.verifier.verify(&context.pass).map_err(refused)?;
                tools::call(&call.params, self.hung.as_ref())?
            }
            Some(method) => {
                self.verifier.verify(&context.pass).map_err(refused)?;
                Answer::Plain(methods::answer(method, &call.params)?)
            }
            None => return Err(Status::unimplemented("no such method")),
        };
        let (events, stream) = mpsc::channel(1);
        let end = Arc::clone(&self.end);
        tokio::spawn(async move { say(answer, &events, &end).await });
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

/// Sends an answer and the events before it. `None` once the client is gone.
async fn say(answer: Answer, events: &Events, end: &Notify) -> Option<()> {
    let result = match answer {
        Answer::Plain(result) => result,
        Answer::AfterProgress(result) => {
            for done in [0.0, 50.0, 100.0] {
                send(events, progress(done)).await?;
                tokio::time::sleep(STEP).await;
            }
            result
        }
        Answer::AfterLogs(lines, result) => {
            for line in lines {
                send(events, log(line)).await?;
                tokio::time::sleep(STEP).await;
            }
            result
        }
        Answer::Never(hung) => {
            hung.send(HangEvent::Began).await.ok()?;
            events.closed().await;
            return hung.send(HangEvent::Gone(Instant::now())).await.ok();
        }
        Answer::Crash => {
            end.notify_one();
            // The stream must not end by itself before its connection does.
            return std::future::pending().await;
        }
    };
    send(events, Event::Result(result.to_string().into())).await
}

async fn send(events: &Events, event: Event) -> Option<()> {
    let event = CallEvent {
        event: Some(event),
        ..CallEvent::default()
    };
    events.send(Ok(event)).await.ok()
}

fn progress(done: f64) -> Event {
    Event::Progress(Progress {
        progress: done,
        total: Some(100.0),
        message: None,
    })
}

fn log(line: &str) -> Event {
    Event::Log(Log {
        level: "info".to_owned(),
        logger: Some("fixture".to_owned()),
        data: Value::from(line).to_string().into(),
    })
}
