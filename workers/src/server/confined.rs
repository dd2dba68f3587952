//! A worker on a thread of the gateway's process, as `archway dev` and tests use it.

use std::{sync::mpsc, thread::JoinHandle};

use archway_proto::pass::PassVerifier;
use archway_repo::{
    Mounts,
    confine::{Confinement, confine},
};
use tokio_util::sync::CancellationToken;

use super::{
    BLOCKING_GRACE, CacheFolder, Listener, Worker, WorkerConfig, WorkerError, WorkerParts,
};
use crate::admin::Admin;

/// A worker on its own thread, confined to its mounts.
pub struct ConfinedWorker {
    stop: CancellationToken,
    thread: Option<JoinHandle<Result<(), WorkerError>>>,
    confinement: Confinement,
    admin: Admin,
    /// Cancelled when the thread has ended for any reason.
    ended: CancellationToken,
}

impl ConfinedWorker {
    /// Starts a worker on a thread that is confined before its runtime is built. Threads inherit
    /// confinement from their creator, so the blocking and search threads are confined too. With a
    /// name and an instance, the worker reports under them which projects are mounted.
    pub fn start(
        config: WorkerConfig,
        mounts: Mounts,
        verifier: PassVerifier,
        listener: Listener,
        name: Option<(String, String)>,
    ) -> Result<Self, WorkerError> {
        let stop = CancellationToken::new();
        let (ready, started) = mpsc::sync_channel(1);
        let (stopped, ended) = (stop.clone(), CancellationToken::new());
        let ends = ended.clone().drop_guard();
        let thread = std::thread::Builder::new()
            .name("archway-worker".to_owned())
            .spawn(move || -> Result<(), WorkerError> {
                let _ends = ends;
                let parts = WorkerParts::read(&config)?;
                let cache = config.cache_folder(&mounts)?;
                let own = cache.as_ref().map(CacheFolder::paths);
                let own = own.as_ref().map_or(&[][..], |own| own);
                let confinement = confine(&mounts.folders(), own)?;
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .map_err(WorkerError::start("runtime"))?;
                let served = runtime.block_on(async {
                    let mut worker = Worker::new(&config, mounts, verifier, parts)?;
                    if let Some((name, instance)) = name {
                        worker = worker.reporting_as(name, instance);
                    }
                    // The starter waits for this. If it is gone, the value has no reader.
                    ready.send((confinement, worker.admin())).ok();
                    worker.serve(listener, stopped).await
                });
                // Reading the status of a large work tree may still run. No call waits for it.
                runtime.shutdown_timeout(BLOCKING_GRACE);
                served
            })
            .map_err(WorkerError::start("thread"))?;
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

    /// Returns when the worker has ended, whether it was stopped or died.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// The level of confinement that this kernel supports.
    pub fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// The state that an admin port serves.
    pub fn admin(&self) -> Admin {
        self.admin.clone()
    }

    /// Stops the worker. Calls in flight finish first. Blocks until the thread has ended.
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
