//! Workers that reject the gateway's passes, and the calls that reach them.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use archway_proto::{
    catalog::Scope,
    context::NOT_BEGUN,
    v1::{
        CallEvent, CallRequest,
        worker_server::{SERVICE_NAME, Worker, WorkerServer},
    },
};
use futures::{FutureExt, Stream, stream};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};
use tonic_health::ServingStatus;

use super::{
    fleet::{Fleet, code},
    worker::{entry, result},
};
use crate::upstream::WorkerState;

/// A worker that is ready, lists its tools, and rejects every pass.
struct PassRefuser(Arc<AtomicUsize>);

impl PassRefuser {
    /// Serves one. Returns its address, and the number of calls that it rejected.
    async fn start() -> (SocketAddr, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (reporter, health) = tonic_health::server::health_reporter();
        reporter
            .set_service_status(SERVICE_NAME, ServingStatus::Serving)
            .await;
        let refused = Arc::<AtomicUsize>::default();
        let server = tonic::transport::Server::builder()
            .add_service(health)
            .add_service(WorkerServer::new(PassRefuser(refused.clone())));
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        (address, refused)
    }
}

#[tonic::async_trait]
impl Worker for PassRefuser {
    type CallStream = Pin<Box<dyn Stream<Item = Result<CallEvent, Status>> + Send>>;

    async fn call(
        &self,
        request: Request<CallRequest>,
    ) -> Result<Response<Self::CallStream>, Status> {
        if request.get_ref().method == "tools/list" {
            let tools = ["echo", "hang"].map(|name| entry(name, Scope::ToolsRead));
            let list = stream::iter([result(&json!({ "tools": tools }))]);
            return Ok(Response::new(Box::pin(list)));
        }
        self.0.fetch_add(1, Ordering::SeqCst);
        let mut refusal = Status::unauthenticated("the pass is not valid here");
        let word = "1".parse().unwrap();
        refusal.metadata_mut().insert(NOT_BEGUN, word);
        Err(refusal)
    }
}

#[tokio::test]
async fn a_worker_that_rejects_passes_is_tried_once_and_another_answers() {
    let (address, refused) = PassRefuser::start().await;
    let fleet = Fleet::of(1).await;
    fleet.found.lock().push(address);
    fleet.upstream.look_again();
    fleet.ready(2).await;
    // Whichever of the two has this call, the next one goes to the other.
    let mut hanging = Box::pin(fleet.call("hang", 0));
    let begun = fleet.until(|replicas| replicas.iter().any(|one| one.in_flight == 1));
    tokio::select! {
        ended = &mut hanging => panic!("{ended}"),
        () = begun => {}
    }
    for _call in 0..10 {
        tokio::select! {
            ended = &mut hanging => panic!("{ended}"),
            answer = fleet.call("echo", 0) => {
                assert!(answer["structuredContent"].is_object(), "{answer}");
            }
        }
    }
    assert_eq!(refused.load(Ordering::SeqCst), 1);
    assert!(hanging.now_or_never().is_none());
    let place = format!("http://{address}");
    let replicas = fleet.upstream.replicas();
    let stranger = replicas.iter().find(|one| one.address == place).unwrap();
    assert_eq!(stranger.state, WorkerState::Away);
    let retries = r#"upstream_retries_total{reason="not_begun"}"#;
    assert_eq!(fleet.count(retries), 1);
}

#[tokio::test]
async fn if_every_worker_rejects_the_pass_the_failure_says_so() {
    let (first, _refused) = PassRefuser::start().await;
    let (second, _refused) = PassRefuser::start().await;
    let fleet = Fleet::of(1).await;
    *fleet.found.lock() = vec![first, second];
    fleet.upstream.look_again();
    fleet.ready(2).await;
    for _call in 0..2 {
        let answer = fleet.call("echo", 0).await;
        assert_eq!(code(&answer), "access_denied", "{answer}");
    }
}
