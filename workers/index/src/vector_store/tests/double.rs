//! A server that speaks Qdrant's wire, over gRPC on loopback: filters, named vectors, IDF within a
//! corpus, batches, and failures on command. What it can't do, it refuses.
//!
//! It is stricter than a real one in what would go unnoticed there: a filter by a field without
//! index is refused. It runs on threads of its own, so that stopping it breaks connections as a
//! crash does; what was kept is there when it starts again.

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

/// Nothing that a test waits for takes longer, whatever else this machine does.
const PATIENCE: Duration = Duration::from_secs(20);

/// The server; it ends with this value.
pub(crate) struct Double {
    shared: Arc<Shared>,
    address: SocketAddr,
    runtime: Option<Runtime>,
}

/// How requests are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// They are answered.
    Well,
    /// They are refused with this code.
    Refusing(Code),
    /// They are taken, and never answered.
    Silent,
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// What it is called on the wire.
    pub(crate) method: &'static str,
    /// Each filter in it.
    pub(crate) filters: Vec<Filter>,
    /// Whether it said until when it is of use.
    pub(crate) timed: bool,
}

struct Shared {
    collections: Mutex<HashMap<String, Collection>>,
    mood: Mutex<Mood>,
    version: Mutex<String>,
    key: Mutex<Option<String>>,
    seen: Mutex<Vec<Seen>>,
}

impl Double {
    /// One that answers everybody.
    pub(crate) async fn start() -> Double {
        let shared = Arc::new(Shared {
            collections: Mutex::default(),
            mood: Mutex::new(Mood::Well),
            version: Mutex::new("1.19.0".to_owned()),
            key: Mutex::default(),
            seen: Mutex::default(),
        });
        let mut double = Double {
            shared,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            runtime: None,
        };
        double.start_again().await;
        double
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends it as a crash would.
    pub(crate) fn stop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// Starts it again, at the same address.
    pub(crate) async fn start_again(&mut self) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let (shared, address) = (self.shared.clone(), self.address);
        let listening = runtime.spawn(async move {
            let listener = tokio::time::timeout(PATIENCE, listen(address));
            let listener = listener.await.expect("its port is free again");
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

    /// Loses all that was kept, as a server does that is given another disk.
    pub(crate) fn lose_everything(&self) {
        self.shared.collections.lock().clear();
    }

    /// Loses every other chunk, as a server does that is given an older copy of its disk.
    pub(crate) fn lose_half(&self) {
        for collection in self.shared.collections.lock().values_mut() {
            let mut is_kept = true;
            collection.points.retain(|_, _| {
                is_kept = !is_kept;
                is_kept
            });
        }
    }

    /// Meets requests so from now on.
    pub(crate) fn be(&self, mood: Mood) {
        *self.shared.mood.lock() = mood;
    }

    /// Says that it is this version.
    pub(crate) fn say_version(&self, version: &str) {
        version.clone_into(&mut self.shared.version.lock());
    }

    /// Refuses whoever does not say this key.
    pub(crate) fn want_key(&self, key: &str) {
        *self.shared.key.lock() = Some(key.to_owned());
    }

    /// The requests since this was asked last.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.shared.seen.lock())
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Its connections of before may take a moment to go.
async fn listen(address: SocketAddr) -> TcpListener {
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return listener,
            Err(_taken) => tokio::task::yield_now().await,
        }
    }
}

impl Shared {
    /// A request comes in: noted, then met as the mood is.
    async fn enter<Q>(
        &self,
        method: &'static str,
        request: Request<Q>,
        filters: impl FnOnce(&Q) -> Vec<Filter>,
    ) -> Result<Q, Status> {
        let headers = request.metadata();
        let timed = headers.contains_key("grpc-timeout");
        let said = headers.get("api-key").map(|key| key.as_bytes().to_vec());
        let message = request.into_inner();
        self.seen.lock().push(Seen {
            method,
            filters: filters(&message),
            timed,
        });
        let wanted = self.key.lock().clone().map(String::into_bytes);
        if wanted.is_some() && wanted != said {
            return Err(Status::unauthenticated("Must provide an API key"));
        }
        let mood = *self.mood.lock();
        match mood {
            Mood::Well => Ok(message),
            Mood::Refusing(code) => Err(Status::new(code, "as commanded")),
            Mood::Silent => std::future::pending().await,
        }
    }

    /// Does something with a collection, if it is there.
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

/// Methods that are refused.
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
