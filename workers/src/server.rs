//! Step one of a call: the worker's gRPC listener.
//!
//! The caller binds the socket before confinement, which forbids creating files.
//!
//! Graceful shutdown: the worker first reports `NOT_SERVING` and accepts calls until its gateways
//! had time to notice. Then it lets calls in flight finish. Calls that exceed the drain limit get
//! an answer that says so, so that agents read a result and never a broken connection. A gateway
//! that does not respond delays neither step: its connection is dropped, and queued rows are still
//! written.

use std::{
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use archway_architecture::{dependencies::ImportCache, library::Libraries, search::Vectors};
use archway_history::Histories;
use archway_index::indexer::Indexer;
use archway_proto::pass::PassVerifier;
use archway_repo::Mounts;
use archway_store::{AccessRecorder, Stores};
use archway_symbols::SymbolCache;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::{
    access::ProjectAccess, admin::Admin, blocking::Blocking, chat::Chat, context::SharedState,
    mount_report::MountReporter, service::WorkerService, tools, workflows::Workflows,
};

pub use archway_repo::{CacheFolder, CacheFolderError};
pub use config::WorkerConfig;
pub use confined::ConfinedWorker;
pub use parts::{WorkerParts, WorkerPartsError};
pub use tls::{Tls, TlsConfig, TlsError};

use health::Health;
pub(crate) use index::Index;

mod config;
mod confined;
mod connections;
mod connection;
mod resets;
mod tls;
mod health;
mod index;
mod parts;

/// How long calls in flight may run once shutdown begins. It stays below the 30 s that
/// orchestrators give a process by default, which leaves time to answer the remaining calls.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(25);
/// How long the answers to the remaining calls may take to be sent.
const ANSWER_GRACE: Duration = Duration::from_millis(500);
/// Minimum time to write queued rows.
const WRITE_GRACE: Duration = Duration::from_secs(1);
/// How long shutdown waits for blocking work whose call has ended.
pub const BLOCKING_GRACE: Duration = Duration::from_secs(2);

/// The socket on which a worker listens, already bound.
pub enum Listener {
    /// TCP, for workers on other hosts.
    Tcp(std::net::TcpListener),
    /// TCP with mandatory TLS.
    Tls(std::net::TcpListener, Tls),
    /// A Unix socket, for a worker in the gateway's own process: half the cost of TCP.
    Unix(std::os::unix::net::UnixListener),
}

/// Why a worker did not start.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// A thread, runtime or socket could not be created.
    #[error("starting the worker: {what}")]
    Start {
        /// The resource that could not be created.
        what: &'static str,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The thread could not be confined to the mounts.
    #[error("confining the worker to its mounts")]
    Confine(#[from] archway_repo::confine::ConfineError),
    /// The mounts cannot be used.
    #[error("opening the mounts")]
    Mounts(#[from] archway_repo::RepoError),
    /// The private cache folder can't be used.
    #[error(transparent)]
    Cache(#[from] CacheFolderError),
    /// The index or the chat model is misconfigured.
    #[error(transparent)]
    Parts(#[from] WorkerPartsError),
    /// The tool registry of this build is invalid.
    #[error("registering the tools")]
    Registry(#[from] tools::RegistryError),
    /// The transport failed while serving.
    #[error("serving gRPC")]
    Serve(#[source] tonic::transport::Error),
    /// The worker's thread ended before it reported its state.
    #[error("the worker's thread ended while starting")]
    Ended,
}

impl WorkerError {
    /// For `map_err`: `what` could not be created.
    fn start(what: &'static str) -> impl Fn(std::io::Error) -> WorkerError + Copy {
        move |source| WorkerError::Start { what, source }
    }
}

/// A worker that is ready to serve. It runs in the caller's runtime.
pub struct Worker {
    service: WorkerService,
    stores: Stores,
    workflows: Workflows,
    recorder: tokio::task::JoinHandle<()>,
    /// Cancelled once no call can record accesses any more.
    accesses_closed: CancellationToken,
    reporter: Option<MountReporter>,
    indexer: Option<Arc<Indexer>>,
    admin: Admin,
    pool: String,
    mounts: Mounts,
    drain_limit: Duration,
    /// Cancelled when the calls that still run must be answered.
    end: CancellationToken,
}

impl Worker {
    /// Builds the state that all calls share. Call it on a confined thread, because it creates the
    /// search threads. `parts` were read earlier, while their files were within reach.
    pub fn new(
        config: &WorkerConfig,
        mounts: Mounts,
        verifier: PassVerifier,
        parts: WorkerParts,
    ) -> Result<Self, WorkerError> {
        let stores = Stores::with_options(parts.database.clone(), config.store.max_connections);
        let (accesses_closed, end) = (CancellationToken::new(), CancellationToken::new());
        let metrics = Arc::new(parts.metrics());
        let dropped = metrics.accesses_dropped();
        let (accesses, recorder) =
            AccessRecorder::new(stores.clone(), accesses_closed.clone(), dropped);
        let threads = config.search_threads();
        let cache = config.cache_folder(&mounts)?;
        let repos = Arc::new(config.repos(&mounts, cache.as_ref(), metrics.repo())?);
        let histories = Histories::start(cache, metrics.history())
            .map_err(WorkerError::start("thread that writes commit-graphs"))?;
        let index = Index::open(&config.index, &stores, parts.index, &metrics.index());
        let indexer = || index.indexer(&repos, &mounts, metrics.index());
        let indexer = config.index.indexing.then(indexer).transpose()?;
        let workflows = Workflows::new(stores.clone(), config.workflow_timeout);
        let shared = SharedState {
            repos,
            histories,
            access: ProjectAccess::new(stores.clone()),
            index: Arc::new(index.search()),
            stores: stores.clone(),
            accesses,
            imports: ImportCache::new(),
            symbols: SymbolCache::new(),
            libraries: Libraries::new(),
            vectors: Vectors::new(),
            workflows: workflows.clone(),
            blocking: Blocking::new(config.blocking_calls, threads, &metrics),
            chat: parts.chat.map(|service| Chat::new(service, &metrics)),
            max_result_bytes: config.max_result_bytes,
        };
        let admin = Admin::new(metrics.clone(), &mounts);
        Ok(Worker {
            service: WorkerService::new(tools::registry()?, shared, verifier, metrics, end.clone()),
            stores,
            workflows,
            recorder: tokio::spawn(recorder),
            accesses_closed,
            reporter: None,
            indexer: indexer.map(Arc::new),
            admin,
            pool: config.pool.clone(),
            mounts,
            drain_limit: DRAIN_LIMIT,
            end,
        })
    }

    /// Replaces [`DRAIN_LIMIT`], the time that calls in flight get once shutdown begins.
    #[must_use]
    pub fn with_drain_limit(mut self, limit: Duration) -> Self {
        self.drain_limit = limit;
        self
    }

    /// Reports to Postgres under `name` which projects are mounted, while the worker serves.
    /// `instance` distinguishes workers of the same name. It is the listening address, so that a
    /// restarted worker replaces its own report.
    #[must_use]
    pub fn reporting_as(mut self, name: String, instance: String) -> Self {
        self.reporter = Some(MountReporter {
            name,
            instance,
            pool: self.pool.clone(),
            mounts: self.mounts.clone(),
            stores: self.stores.clone(),
        });
        self
    }

    /// The state that the admin port serves.
    pub fn admin(&self) -> Admin {
        self.admin.clone()
    }

    /// The worker's connection to its rows.
    pub fn stores(&self) -> Stores {
        self.stores.clone()
    }

    /// Serves until `stop`. Then it informs gateways and accepts calls for up to 1 s more, less the
    /// time since shutdown was announced on the admin port. Calls in flight may finish within the
    /// drain limit. The others are answered as ended, and queued rows are written. Returns at most
    /// 1.5 s after the drain limit, whatever gateways and Postgres do.
    pub async fn serve(
        self,
        listener: Listener,
        stop: CancellationToken,
    ) -> Result<(), WorkerError> {
        let reporting = self
            .reporter
            .map(|reporter| tokio::spawn(reporter.run(stop.clone())));
        let indexing = self
            .indexer
            .map(|indexer| tokio::spawn(indexer.run(stop.clone())));
        let following_workflows = tokio::spawn(self.workflows.run(stop.clone()));
        let health = Health::until(self.admin.end(), stop.clone());
        let mut serving = pin!(connections::serve(self.service, listener, &health));
        let ended = tokio::select! {
            ended = &mut serving => Some(ended),
            () = stop.cancelled() => None,
        };
        let last_call = Instant::now() + self.drain_limit;
        let served = match ended {
            Some(ended) => ended,
            None => drain(serving, last_call, &self.end).await,
        };
        // Stops the reporter and the indexer if serving ended by itself.
        stop.cancel();
        self.accesses_closed.cancel();
        let writing = async {
            self.recorder.await.ok();
            following_workflows.await.ok();
            if let Some(indexing) = indexing {
                indexing.await.ok();
            }
            if let Some(reporting) = reporting {
                reporting.await.ok();
            }
            self.stores.close().await;
        };
        let written = timeout_at(last_call + ANSWER_GRACE + WRITE_GRACE, writing).await;
        if written.is_err() {
            tracing::warn!("queued rows are lost: postgres did not accept them in time");
        }
        served
    }
}

/// Waits for calls and connections to end. At `last_call` the calls that still run are answered.
/// Connections that are still open [`ANSWER_GRACE`] later are dropped.
async fn drain(
    mut serving: Pin<&mut impl Future<Output = Result<(), WorkerError>>>,
    last_call: Instant,
    end: &CancellationToken,
) -> Result<(), WorkerError> {
    if let Ok(served) = timeout_at(last_call, serving.as_mut()).await {
        return served;
    }
    end.cancel();
    match timeout_at(last_call + ANSWER_GRACE, serving).await {
        Ok(served) => served,
        Err(_elapsed) => {
            tracing::warn!("connections of unresponsive gateways are dropped");
            Ok(())
        }
    }
}
