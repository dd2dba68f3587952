//! The first stop of a call: the worker's listener.
//!
//! The socket is bound by the caller, before confinement, which forbids making files. A worker
//! that ends says so first, and takes calls until its gateways had a moment to notice; then it lets
//! those in flight finish, and tells the ones that don't that they were ended: the caller reads a
//! result, never a broken connection. A gateway that does not answer holds up neither: its
//! connection is given up, and what calls left to be written is written.

use std::{
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use archway_architecture::{dependencies::ImportCache, library::Libraries, search::Vectors};
use archway_history::Histories;
use archway_index::indexer::Indexer;
use archway_proto::pass::PassVerifier;
use archway_repo::{Mounts, Repos};
use archway_store::{Accesses, Stores};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::{
    admin::Admin, blocking::Blocking, chat::Chat, context::Doors, projects::Projects,
    report::Reporter, service::WorkerService, tools, workflows::Workflows,
};

pub use archway_history::{CacheFolder, CacheFolderError};
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

/// How long calls in flight may go on once the worker ends: within the 30 s that orchestrators
/// give a process by default, with time to tell the rest.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(25);
/// What the answers of calls that were ended may take to be sent.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// What is queued may take so long to be written, at least.
const LAST_WRITES: Duration = Duration::from_secs(1);
/// How long the end of a worker waits for blocking work that nobody waits for.
pub const LEFT_BEHIND: Duration = Duration::from_secs(2);

/// Where a worker listens. Bound already.
pub enum Listener {
    /// For workers on other hosts.
    Tcp(std::net::TcpListener),
    /// The same, by TLS alone.
    Tls(std::net::TcpListener, Tls),
    /// For a worker in the gateway's own process: half the cost of TCP.
    Unix(std::os::unix::net::UnixListener),
}

/// Why a worker did not start.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// A thread, runtime or socket could not be had.
    #[error("starting the worker: {what}")]
    Start {
        /// What could not be had.
        what: &'static str,
        /// The system's word.
        #[source]
        source: std::io::Error,
    },
    /// The thread could not be confined to the mounts.
    #[error("confining the worker to its mounts")]
    Confine(#[from] archway_repo::confine::ConfineError),
    /// The mounts cannot be used.
    #[error("opening the mounts")]
    Mounts(#[from] archway_repo::RepoError),
    /// The private folder can't be used.
    #[error(transparent)]
    Cache(#[from] CacheFolderError),
    /// Its index or its chat model is not set up right.
    #[error(transparent)]
    Parts(#[from] WorkerPartsError),
    /// The build's registry is wrong.
    #[error("registering the tools")]
    Registry(#[from] tools::RegistryError),
    /// The transport failed while serving.
    #[error("serving gRPC")]
    Serve(#[source] tonic::transport::Error),
    /// The worker's thread ended before it could say how it stands.
    #[error("the worker's thread ended while starting")]
    Ended,
}

/// A worker ready to serve, in whatever runtime runs it.
pub struct Worker {
    service: WorkerService,
    stores: Stores,
    workflows: Workflows,
    recorder: tokio::task::JoinHandle<()>,
    /// Cancelled when no call records accesses any longer.
    recorded: CancellationToken,
    reporter: Option<Reporter>,
    indexer: Option<Arc<Indexer>>,
    admin: Admin,
    pool: String,
    mounts: Mounts,
    drain_limit: Duration,
    /// Cancelled when the calls that still run have to be answered.
    end: CancellationToken,
}

impl Worker {
    /// Opens the doors. Call it on a confined thread: search threads are made here. Its parts
    /// were read before, while their files were in reach.
    pub fn new(
        config: &WorkerConfig,
        mounts: Mounts,
        verifier: PassVerifier,
        parts: WorkerParts,
    ) -> Result<Self, WorkerError> {
        let most = config.store.max_connections;
        let stores = Stores::with_options(parts.database.clone(), most);
        let recorded = CancellationToken::new();
        let metrics = Arc::new(parts.metrics());
        let dropped = metrics.accesses_dropped();
        let (accesses, recorder) = Accesses::new(stores.clone(), recorded.clone(), dropped);
        let threads = config.search_threads();
        let cache = config.cache_folder(&mounts)?;
        let histories =
            Histories::start(cache, metrics.history()).map_err(|source| WorkerError::Start {
                what: "thread that makes commit-graphs",
                source,
            })?;
        let cached = config.search_cache_bytes;
        let repos = Arc::new(Repos::new(mounts.clone(), threads, cached)?);
        let index = Index::open(&config.index, &stores, parts.index, &metrics.index());
        let indexer = || index.indexer(&repos, &mounts, metrics.index());
        let indexer = config.index.indexing.then(indexer).transpose()?;
        let workflows = Workflows::new(stores.clone(), config.workflow_patience);
        let doors = Doors {
            repos,
            histories,
            projects: Projects::new(stores.clone()),
            meaning: Arc::new(index.meaning()),
            stores: stores.clone(),
            accesses,
            imports: ImportCache::new(),
            libraries: Libraries::new(),
            vectors: Vectors::new(),
            workflows: workflows.clone(),
            blocking: Blocking::new(config.blocking_calls, threads, &metrics),
            chat: parts.chat.map(|service| Chat::new(service, &metrics)),
            max_result_bytes: config.max_result_bytes,
        };
        let admin = Admin::new(metrics.clone(), &mounts);
        let end = CancellationToken::new();
        Ok(Worker {
            service: WorkerService::new(tools::registry()?, doors, verifier, metrics, end.clone()),
            stores,
            workflows,
            recorder: tokio::spawn(recorder),
            recorded,
            reporter: None,
            indexer: indexer.map(Arc::new),
            admin,
            pool: config.pool.clone(),
            mounts,
            drain_limit: DRAIN_LIMIT,
            end,
        })
    }

    /// Gives calls in flight another time than [`DRAIN_LIMIT`] once the worker ends.
    #[must_use]
    pub fn with_drain_limit(mut self, limit: Duration) -> Self {
        self.drain_limit = limit;
        self
    }

    /// Reports to Postgres which projects it sees, under this name, while it serves. `instance` tells
    /// it from others of the same name: where it listens, so that a restart replaces its own report.
    #[must_use]
    pub fn reporting_as(mut self, name: String, instance: String) -> Self {
        self.reporter = Some(Reporter {
            name,
            instance,
            pool: self.pool.clone(),
            mounts: self.mounts.clone(),
            stores: self.stores.clone(),
        });
        self
    }

    /// What the admin port tells of this worker.
    pub fn admin(&self) -> Admin {
        self.admin.clone()
    }

    /// The worker's rows.
    pub fn stores(&self) -> Stores {
        self.stores.clone()
    }

    /// Serves until `stop`. Then it tells gateways, and takes calls for up to a second more, less
    /// what has passed since the end was announced on the admin port. It lets calls in flight
    /// finish, tells those that don't within the drain limit that they were ended, and writes what
    /// is queued. It is over 1.5 s after the drain limit, whatever gateways and Postgres do.
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
        let learning = tokio::spawn(self.workflows.run(stop.clone()));
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
        // For the reporter, if serving ended by itself.
        stop.cancel();
        self.recorded.cancel();
        let writing = async {
            self.recorder.await.ok();
            learning.await.ok();
            if let Some(indexing) = indexing {
                indexing.await.ok();
            }
            if let Some(reporting) = reporting {
                reporting.await.ok();
            }
            self.stores.close().await;
        };
        let written = timeout_at(last_call + LAST_WORDS + LAST_WRITES, writing).await;
        if written.is_err() {
            tracing::warn!("postgres did not take what was queued in time: it is lost");
        }
        served
    }
}

/// Waits for calls and connections to end. At `last_call` the calls that still run are answered,
/// and soon after the connections that are open then are given up.
async fn drain(
    mut serving: Pin<&mut impl Future<Output = Result<(), WorkerError>>>,
    last_call: Instant,
    end: &CancellationToken,
) -> Result<(), WorkerError> {
    if let Ok(served) = timeout_at(last_call, serving.as_mut()).await {
        return served;
    }
    end.cancel();
    match timeout_at(last_call + LAST_WORDS, serving).await {
        Ok(served) => served,
        Err(_elapsed) => {
            tracing::warn!("connections of gateways that do not answer are given up");
            Ok(())
        }
    }
}
