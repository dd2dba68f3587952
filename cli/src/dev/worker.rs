//! The worker of `dev`, which is replaced when a folder is added.
//!
//! It runs on a thread of its own, which confines itself to the served folders and to the mirrors before its
//! runtime is built. The kernel never widens a confinement. So a new folder needs a new thread: it listens at
//! the path of the old one's socket, and the old one ends once its calls have finished. Nobody else gets wider
//! rights than before, and no call is lost. What the old one had in memory is read again.

use std::fmt;
use std::num::NonZeroUsize;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;

use archway_index::config::IndexConfig;
use archway_proto::chain::Chain;
use archway_proto::pass::PassVerifier;
use archway_repo::Mounts;
use archway_store::StoreConfig;
use archway_workers::admin::Admin;
use archway_workers::server::{ConfinedWorker, Listener, WorkerConfig, WorkerError};
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::TENANT;
use super::mirrors;
use super::projects::Project;
use super::stack::{CONNECTIONS, POOL, Plan, StackError};

/// The worker's name in `archway project list`.
const WORKER: &str = "dev";
/// The worker's cache folder, in the data folder.
const CACHE: &str = "cache";

/// What every worker of a `dev` is made from.
pub(super) struct WorkerPlan {
    config: WorkerConfig,
    /// The folder of mirrors.
    repos: PathBuf,
    public_key: [u8; 32],
    socket: PathBuf,
}

/// The running worker, and earlier ones that finish their calls.
pub(super) struct DevWorker {
    plan: WorkerPlan,
    running: ConfinedWorker,
    folders: Vec<Project>,
    /// How many there were before it.
    number: u32,
    admin: Arc<Mutex<Admin>>,
    ending: JoinSet<Result<(), WorkerError>>,
}

impl WorkerPlan {
    pub(super) fn new(plan: &Plan<'_>, socket: PathBuf, public_key: [u8; 32]) -> WorkerPlan {
        let config = WorkerConfig {
            pool: POOL.to_owned(),
            search_threads: 0,
            search_cache_bytes: 2 << 30,
            content_cache_bytes: 64 << 20,
            project_cache_bytes: 256 << 20,
            blocking_calls: const { NonZeroUsize::new(64).unwrap() },
            max_result_bytes: 64 * 1024,
            cache: Some(plan.data.path().join(CACHE)),
            workflow_timeout: WorkerConfig::WORKFLOW_TIMEOUT,
            index: IndexConfig {
                embedder: plan.embedder.clone(),
                ..IndexConfig::default()
            },
            chat: plan.chat.clone(),
            store: StoreConfig {
                url: plan.database.runtime_url("archway_worker"),
                max_connections: CONNECTIONS,
            },
        };
        WorkerPlan {
            config,
            repos: mirrors::folder(plan.data),
            public_key,
            socket,
        }
    }

    /// Starts a worker on the socket. One that listened there before gets no new connections.
    async fn start(&self, folders: &[Project], number: u32) -> Result<ConfinedWorker, StackError> {
        let mounts = Mounts::beneath(self.repos.clone());
        let mounts = folders.iter().fold(mounts, |mounts, project| {
            mounts.link(TENANT, &project.slug, project.path.clone())
        });
        let verifier = PassVerifier::new(&[self.public_key], POOL);
        let beside = self.socket.with_extension("new");
        // A socket of an earlier process has no server any more, since the data folder is claimed.
        std::fs::remove_file(&beside).ok();
        let listener = UnixListener::bind(&beside)
            .map_err(|error| StackError::Socket("making the worker's socket", error))?;
        let (config, listener) = (self.config.clone(), Listener::Unix(listener));
        // Reports of the one before it end with that.
        let instance = match number {
            0 => String::new(),
            number => number.to_string(),
        };
        let name = Some((WORKER.to_owned(), instance));
        let start = move || ConfinedWorker::start(config, mounts, verifier, listener, name);
        let worker = tokio::task::spawn_blocking(start).await??;
        std::fs::rename(&beside, &self.socket)
            .map_err(|error| StackError::Socket("naming the worker's socket", error))?;
        Ok(worker)
    }
}

impl DevWorker {
    /// Starts the first one.
    pub(super) async fn start(
        plan: WorkerPlan,
        folders: &[Project],
    ) -> Result<DevWorker, StackError> {
        let running = plan.start(folders, 0).await?;
        Ok(DevWorker {
            plan,
            folders: folders.to_vec(),
            number: 0,
            admin: Arc::new(Mutex::new(running.admin())),
            running,
            ending: JoinSet::new(),
        })
    }

    /// The folders that it may read, besides the mirrors.
    pub(super) fn folders(&self) -> &[Project] {
        &self.folders
    }

    /// Replaces it by one that may read these folders. If that one does not start, nothing changes.
    pub(super) async fn replace(&mut self, folders: &[Project]) -> Result<(), StackError> {
        let next = self.plan.start(folders, self.number + 1).await?;
        self.number += 1;
        self.folders = folders.to_vec();
        *self.admin.lock() = next.admin();
        let old = std::mem::replace(&mut self.running, next);
        self.ending.spawn_blocking(move || old.stop());
        while let Some(ended) = self.ending.try_join_next() {
            log_end(ended);
        }
        Ok(())
    }

    /// Returns if it ends by itself.
    pub(super) async fn ended(&self) {
        self.running.ended().await;
    }

    /// Writes the metrics of the worker that runs.
    pub(super) fn exposition(&self) -> impl Fn() -> Result<String, fmt::Error> + use<> {
        let admin = Arc::clone(&self.admin);
        move || admin.lock().exposition()
    }

    /// Stops all. Calls in flight finish, within a bound.
    pub(super) async fn stop(mut self) -> Result<(), StackError> {
        let running = self.running;
        let stopped = tokio::task::spawn_blocking(move || running.stop()).await?;
        while let Some(ended) = self.ending.join_next().await {
            log_end(ended);
        }
        Ok(stopped?)
    }
}

fn log_end(ended: Result<Result<(), WorkerError>, tokio::task::JoinError>) {
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(error = %Chain(&error), "a worker that was replaced failed")
        }
        Err(error) => tracing::warn!(%error, "a worker that was replaced failed"),
    }
}
