//! The first stop of a call: the worker's listener, and the thread a worker of `dev` lives on.
//!
//! The socket is bound by the caller, before confinement, which forbids making files.

use std::{
    num::NonZeroUsize,
    sync::{Arc, mpsc},
    thread::JoinHandle,
    time::Duration,
};

use archway_proto::{MAX_MESSAGE_BYTES, pass::PassVerifier, v1::worker_server::WorkerServer};
use tokio_util::sync::CancellationToken;

use crate::{
    blocking::Blocking,
    confine::{Confinement, confine},
    context::Doors,
    projects::Projects,
    repo::{Mounts, Repos},
    service::WorkerService,
    store::{Accesses, StoreConfig, Stores},
    tools,
};

/// How long the end of a worker waits for blocking work that nobody waits for.
const LEFT_BEHIND: Duration = Duration::from_secs(2);

/// What steers a worker.
#[derive(Clone, Debug, clap::Args)]
pub struct WorkerConfig {
    /// The pool this worker serves.
    #[arg(long, env = "ARCHWAY_POOL", default_value = "shared")]
    pub pool: String,
    /// Threads that search; 0 for one per core.
    #[arg(long, env = "ARCHWAY_SEARCH_THREADS", default_value_t = 0)]
    pub search_threads: usize,
    /// File contents kept between searches, in bytes, by all projects together.
    #[arg(long, env = "ARCHWAY_SEARCH_CACHE_BYTES", default_value_t = 64 << 20)]
    pub search_cache_bytes: usize,
    /// Calls that may block on files at once; the rest wait in order.
    #[arg(long, env = "ARCHWAY_BLOCKING_CALLS", default_value = "64")]
    pub blocking_calls: NonZeroUsize,
    /// What one result may hold, in bytes, of text and of data each.
    #[arg(long, env = "ARCHWAY_MAX_RESULT_BYTES", default_value_t = 64 * 1024)]
    pub max_result_bytes: usize,
    /// Where its rows are.
    #[command(flatten)]
    pub store: StoreConfig,
}

/// Where a worker listens. Bound already.
pub enum Listener {
    /// For workers on other hosts.
    Tcp(std::net::TcpListener),
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
    Confine(#[from] crate::confine::ConfineError),
    /// The mounts cannot be used.
    #[error("opening the mounts")]
    Mounts(#[from] crate::repo::RepoError),
    /// The database URL is malformed.
    #[error("setting up the store")]
    Store(#[from] crate::store::StoreError),
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

/// A worker on a thread of its own, confined to its mounts.
pub struct ConfinedWorker {
    stop: CancellationToken,
    thread: Option<JoinHandle<Result<(), WorkerError>>>,
    confinement: Confinement,
    /// Cancelled when the thread is gone, however it went.
    ended: CancellationToken,
}

impl ConfinedWorker {
    /// Starts a worker on a thread that is confined before its runtime is built: threads inherit
    /// from the one that creates them, so its blocking and search threads are confined too.
    pub fn start(
        config: WorkerConfig,
        mounts: Mounts,
        verifier: PassVerifier,
        listener: Listener,
    ) -> Result<Self, WorkerError> {
        let stop = CancellationToken::new();
        let (ready, started) = mpsc::sync_channel(1);
        let stopped = stop.clone();
        let ended = CancellationToken::new();
        let ends = ended.clone().drop_guard();
        let thread = std::thread::Builder::new()
            .name("archway-worker".to_owned())
            .spawn(move || -> Result<(), WorkerError> {
                let _ends = ends;
                let confinement = confine(&mounts.folders())?;
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .map_err(|source| WorkerError::Start {
                        what: "runtime",
                        source,
                    })?;
                let served = runtime.block_on(async {
                    let worker = Worker::new(&config, mounts, verifier)?;
                    // The starter waits for this; if it is gone, nobody is left to tell.
                    ready.send(confinement).ok();
                    worker.serve(listener, stopped).await
                });
                // A status of a large tree may still run; nobody waits for it any longer.
                runtime.shutdown_timeout(LEFT_BEHIND);
                served
            })
            .map_err(|source| WorkerError::Start {
                what: "thread",
                source,
            })?;
        match started.recv() {
            Ok(confinement) => Ok(ConfinedWorker {
                stop,
                thread: Some(thread),
                confinement,
                ended,
            }),
            Err(_ended) => match thread.join() {
                Ok(Err(error)) => Err(error),
                Ok(Ok(())) | Err(_) => Err(WorkerError::Ended),
            },
        }
    }

    /// Returns when the worker is gone, whether it was stopped or died.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// How firmly the worker is confined on this kernel.
    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// Ends the worker: calls in flight finish first. Blocks until it is gone.
    pub fn stop(mut self) -> Result<(), WorkerError> {
        self.stop.cancel();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            Some(Err(_panic)) => Err(WorkerError::Ended),
            None => Ok(()),
        }
    }
}

impl Drop for ConfinedWorker {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// A worker ready to serve, in whatever runtime runs it.
pub struct Worker {
    service: WorkerService,
    stores: Stores,
    recorder: tokio::task::JoinHandle<()>,
}

impl Worker {
    /// Opens the doors. Call it on a confined thread: search threads are made here.
    pub fn new(
        config: &WorkerConfig,
        mounts: Mounts,
        verifier: PassVerifier,
    ) -> Result<Self, WorkerError> {
        let stores = Stores::connect(&config.store)?;
        let (accesses, recorder) = Accesses::new(stores.clone());
        let doors = Doors {
            repos: Arc::new(Repos::new(
                mounts,
                search_threads(config),
                config.search_cache_bytes,
            )?),
            projects: Projects::new(stores.clone()),
            accesses,
            blocking: Blocking::new(config.blocking_calls),
            max_result_bytes: config.max_result_bytes,
        };
        let service = WorkerService::new(tools::registry()?, doors, verifier);
        Ok(Worker {
            service,
            stores,
            recorder: tokio::spawn(recorder),
        })
    }

    /// Serves until `stop`, then lets calls in flight finish and writes what is queued.
    pub async fn serve(
        self,
        listener: Listener,
        stop: CancellationToken,
    ) -> Result<(), WorkerError> {
        let worker = WorkerServer::new(self.service)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES);
        let router = tonic::transport::Server::builder()
            .tcp_nodelay(true)
            .add_service(worker);
        let bound = |source| WorkerError::Start {
            what: "socket",
            source,
        };
        let served = match listener {
            Listener::Tcp(listener) => {
                listener.set_nonblocking(true).map_err(bound)?;
                let listener = tokio::net::TcpListener::from_std(listener).map_err(bound)?;
                let incoming =
                    tonic::transport::server::TcpIncoming::from(listener).with_nodelay(Some(true));
                router
                    .serve_with_incoming_shutdown(incoming, stop.cancelled())
                    .await
            }
            Listener::Unix(listener) => {
                listener.set_nonblocking(true).map_err(bound)?;
                let listener = tokio::net::UnixListener::from_std(listener).map_err(bound)?;
                let incoming = tokio_stream::wrappers::UnixListenerStream::new(listener);
                router
                    .serve_with_incoming_shutdown(incoming, stop.cancelled())
                    .await
            }
        };
        // The service is gone, and with it the queue's last holder: the recorder writes and ends.
        self.recorder.await.ok();
        self.stores.close().await;
        served.map_err(WorkerError::Serve)
    }
}

fn search_threads(config: &WorkerConfig) -> NonZeroUsize {
    NonZeroUsize::new(config.search_threads)
        .or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN)
}
