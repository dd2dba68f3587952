//! The thread a worker of `dev` and of tests lives on, beside the gateway in one process.

use std::{sync::mpsc, thread::JoinHandle};

use archway_proto::pass::PassVerifier;
use archway_repo::{
    Mounts,
    confine::{Confinement, confine},
};
use tokio_util::sync::CancellationToken;

use super::{CacheFolder, LEFT_BEHIND, Listener, Worker, WorkerConfig, WorkerError, WorkerParts};
use crate::admin::Admin;

/// A worker on a thread of its own, confined to its mounts.
pub struct ConfinedWorker {
    stop: CancellationToken,
    thread: Option<JoinHandle<Result<(), WorkerError>>>,
    confinement: Confinement,
    admin: Admin,
    /// Cancelled when the thread is gone, however it went.
    ended: CancellationToken,
}

impl ConfinedWorker {
    /// Starts a worker on a thread that is confined before its runtime is built: threads inherit
    /// from the one that creates them, so its blocking and search threads are confined too. With
    /// a name it reports under it which projects it sees.
    pub fn start(
        config: WorkerConfig,
        mounts: Mounts,
        verifier: PassVerifier,
        listener: Listener,
        name: Option<&str>,
    ) -> Result<Self, WorkerError> {
        let stop = CancellationToken::new();
        let (ready, started) = mpsc::sync_channel(1);
        let stopped = stop.clone();
        let ended = CancellationToken::new();
        let ends = ended.clone().drop_guard();
        let name = name.map(str::to_owned);
        let thread = std::thread::Builder::new()
            .name("archway-worker".to_owned())
            .spawn(move || -> Result<(), WorkerError> {
                let _ends = ends;
                let parts = WorkerParts::read(&config)?;
                let cache = config.cache_folder(&mounts)?;
                let own = cache.as_ref().map(CacheFolder::path);
                let confinement = confine(&mounts.folders(), own)?;
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .map_err(|source| WorkerError::Start {
                        what: "runtime",
                        source,
                    })?;
                let served = runtime.block_on(async {
                    let mut worker = Worker::new(&config, mounts, verifier, parts)?;
                    if let Some(name) = name {
                        worker = worker.reporting_as(name, String::new());
                    }
                    // The starter waits for this; if it is gone, nobody is left to tell.
                    ready.send((confinement, worker.admin())).ok();
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
            Ok((confinement, admin)) => Ok(ConfinedWorker {
                stop,
                thread: Some(thread),
                confinement,
                admin,
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

    /// What an admin port tells of it.
    pub fn admin(&self) -> Admin {
        self.admin.clone()
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
