//! A double of Qdrant over gRPC on loopback: filters, named vectors, IDF within a corpus, batches, and
//! failures on command. It rejects requests that it does not implement.
//!
//! It is stricter than a real server: a filter by a field without index is rejected. It runs on threads
//! of its own, so that stopping it breaks connections as a crash would. Its data survives a restart.

use std::{collections::HashMap, net::SocketAddr, sync::Arc, time::Duration};

use parking_lot::Mutex;
use qdrant_client::qdrant::{
    Filter, HealthCheckReply, HealthCheckRequest, collections_server::CollectionsServer,
    points_server::PointsServer, qdrant_server,
};
use tokio::{net::TcpListener, runtime::Runtime};
use tonic::{
    Code, Request, Response, Status,
    transport::{Server, server::TcpIncoming},
};

use store::Collection;

mod collections;
mod points;
mod score;
mod store;

/// Upper bound of any wait, however busy the machine is.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// A double of a Qdrant server, stopped on drop.
pub(crate) struct QdrantDouble {
    shared: Arc<Shared>,
    address: SocketAddr,
    runtime: Option<Runtime>,
}

/// How the server treats requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behavior {
    /// Answers them.
    Normal,
    /// Fails them with this code.
    Failing(Code),
    /// Accepts them, and never answers.
    Silent,
}

/// A request that was received.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRequest {
    /// Service and method.
    pub(crate) method: &'static str,
    /// All its filters.
    pub(crate) filters: Vec<Filter>,
    /// Whether it had a deadline.
    pub(crate) has_deadline: bool,
}

struct Shared {
    collections: Mutex<HashMap<String, Collection>>,
    behavior: Mutex<Behavior>,
    version: Mutex<String>,
    key: Mutex<Option<String>>,
    requests: Mutex<Vec<RecordedRequest>>,
}

impl QdrantDouble {
    /// Starts an empty server.
    pub(crate) async fn start() -> QdrantDouble {
        let shared = Arc::new(Shared {
            collections: Mutex::default(),
            behavior: Mutex::new(Behavior::Normal),
            version: Mutex::new("1.19.0".to_owned()),
            key: Mutex::default(),
            requests: Mutex::default(),
        });
        let mut double = QdrantDouble {
            shared,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            runtime: None,
        };
        double.restart().await;
        double
    }

    /// Its URL.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops it like a crash.
    pub(crate) fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// Restarts it at the same address.
    pub(crate) async fn restart(&mut self) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (shared, address) = (self.shared.clone(), self.address);
        let listening = runtime.spawn(async move {
            let listener = tokio::time::timeout(TEST_TIMEOUT, listen(address));
            let listener = listener.await.expect("the port was released");
            let address = listener.local_addr().unwrap();
            let server = Server::builder()
                .add_service(PointsServer::from_arc(shared.clone()))
                .add_service(CollectionsServer::from_arc(shared.clone()))
                .add_service(qdrant_server::QdrantServer::from_arc(shared))
                .serve_with_incoming(TcpIncoming::from(listener));
            tokio::spawn(server);
            address
        });
        self.address = listening.await.unwrap();
        self.runtime = Some(runtime);
    }

    /// Loses all data, like a server with a new disk.
    pub(crate) fn lose_all(&self) {
        self.shared.collections.lock().clear();
    }

    /// Loses every other chunk, like a server restored from a backup.
    pub(crate) fn lose_half(&self) {
        for collection in self.shared.collections.lock().values_mut() {
            let mut is_kept = true;
            collection.points.retain(|_, _| {
                is_kept = !is_kept;
                is_kept
            });
        }
    }

    pub(crate) fn set_behavior(&self, behavior: Behavior) {
        *self.shared.behavior.lock() = behavior;
    }

    /// Sets the version that it reports.
    pub(crate) fn set_version(&self, version: &str) {
        version.clone_into(&mut self.shared.version.lock());
    }

    /// Rejects requests without this key.
    pub(crate) fn require_key(&self, key: &str) {
        *self.shared.key.lock() = Some(key.to_owned());
    }

    /// The requests since the last call.
    pub(crate) fn take_requests(&self) -> Vec<RecordedRequest> {
        std::mem::take(&mut self.shared.requests.lock())
    }
}

impl Drop for QdrantDouble {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Retries, since old connections may hold the port for a moment.
async fn listen(address: SocketAddr) -> TcpListener {
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return listener,
            Err(_taken) => tokio::task::yield_now().await,
        }
    }
}

impl Shared {
    /// Records a request, and treats it by the current behavior.
    async fn enter<Q>(
        &self,
        method: &'static str,
        request: Request<Q>,
        filters: impl FnOnce(&Q) -> Vec<Filter>,
    ) -> Result<Q, Status> {
        let headers = request.metadata();
        let has_deadline = headers.contains_key("grpc-timeout");
        let sent = headers.get("api-key").map(|key| key.as_bytes().to_vec());
        let message = request.into_inner();
        self.requests.lock().push(RecordedRequest {
            method,
            filters: filters(&message),
            has_deadline,
        });
        let required = self.key.lock().clone().map(String::into_bytes);
        if required.is_some() && required != sent {
            return Err(Status::unauthenticated("Must provide an API key"));
        }
        let behavior = *self.behavior.lock();
        match behavior {
            Behavior::Normal => Ok(message),
            Behavior::Failing(code) => Err(Status::new(code, "as commanded")),
            Behavior::Silent => std::future::pending().await,
        }
    }

    /// Accesses a collection, if it exists.
    fn with<A>(
        &self,
        name: &str,
        act: impl FnOnce(&mut Collection) -> Result<A, Status>,
    ) -> Result<A, Status> {
        let mut collections = self.collections.lock();
        let collection = collections.get_mut(name).ok_or_else(|| {
            Status::not_found(format!("Not found: Collection `{name}` doesn't exist!"))
        })?;
        act(collection)
    }
}

#[tonic::async_trait]
impl qdrant_server::Qdrant for Shared {
    async fn health_check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckReply>, Status> {
        self.enter("health_check", request, |_| Vec::new()).await?;
        Ok(Response::new(HealthCheckReply {
            title: "a double of Qdrant".to_owned(),
            version: self.version.lock().clone(),
            commit: None,
        }))
    }
}

/// Methods that the double does not implement.
macro_rules! unimplemented_methods {
    ($($method:ident($request:ty) -> $response:ty;)*) => {$(
        fn $method<'life, 'run>(
            &'life self,
            _request: tonic::Request<$request>,
        ) -> std::pin::Pin<
            Box<
                dyn Future<Output = Result<tonic::Response<$response>, tonic::Status>>
                    + Send
                    + 'run,
            >,
        >
        where
            'life: 'run,
            Self: 'run,
        {
            Box::pin(async { Err(tonic::Status::unimplemented(stringify!($method))) })
        }
    )*};
}
use unimplemented_methods;
