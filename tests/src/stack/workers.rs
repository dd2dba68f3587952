//! The workers of a stack: real ones, confined to their mounts, or the fixture.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    num::NonZeroUsize,
    path::Path,
    time::Duration,
};

use archway_index::{config::IndexConfig, embed::EmbedderConfig};
use archway_proto::pass::{PassMinter, PassVerifier};
use archway_repo::Mounts;
use archway_workers::{
    chat::ChatConfig,
    server::{ConfinedWorker, Listener, WorkerConfig},
};
use tokio::{sync::mpsc::Sender, task::JoinHandle, time::Instant};

use super::{Harness, POOL, Stack, search_index::SearchCache};
use crate::{
    ChatModel, Database, Embeddings,
    fixture::{Fixture, HangEvent},
};

impl Harness {
    /// The worker indexes, which few tests need.
    #[must_use]
    pub fn indexing(mut self) -> Harness {
        self.worker.index.indexing = true;
        self
    }

    /// The memory of indexes, in bytes.
    #[must_use]
    pub fn index_memory(mut self, bytes: usize) -> Harness {
        self.worker.index.index_memory_bytes = bytes;
        self
    }

    /// The index takes its vectors from this service.
    #[must_use]
    pub fn embedder(mut self, service: &Embeddings) -> Harness {
        self.worker.index.embedder = EmbedderConfig {
            embedder_url: Some(service.url()),
            embedder_model: Some("words".to_owned()),
            embedder_dimensions: service.dimensions().try_into().ok(),
            ..EmbedderConfig::default()
        };
        self
    }

    /// The workers consult this chat model about decisions, with a key.
    #[must_use]
    pub fn chat(mut self, model: &ChatModel, key: &str) -> Harness {
        self.worker.chat = ChatConfig {
            chat_url: Some(model.url()),
            chat_key: Some(key.into()),
            chat_model: Some("double".to_owned()),
            ..ChatConfig::default()
        };
        self
    }

    /// The number of workers. Real ones share database and mounts.
    #[must_use]
    pub fn workers(mut self, count: usize) -> Harness {
        self.workers = count;
        self
    }

    /// At most this many calls of a real worker hold a thread.
    #[must_use]
    pub fn blocking_calls(mut self, count: usize) -> Harness {
        self.worker.blocking_calls = count;
        self
    }

    /// Starts the workers and returns them with their addresses.
    pub(super) async fn start_workers(
        &self,
        database: &Database,
        repositories: &Path,
        minter: &PassMinter,
    ) -> Vec<(Worker, SocketAddr)> {
        let verifier = || PassVerifier::new(&[minter.public_key()], POOL);
        if self.fixture {
            let fixture = |_| Worker::fixture(verifier(), self.hung.clone());
            return (0..self.workers).map(fixture).collect();
        }
        let mut started = Vec::with_capacity(self.workers);
        for _ in 0..self.workers {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let started_with = (database, repositories);
            let worker =
                Worker::real(started_with, verifier(), self.worker.clone(), listener).await;
            started.push((worker, address));
        }
        started
    }
}

/// The configuration of a real worker that differs between stacks.
#[derive(Clone, Debug)]
pub(super) struct WorkerParts {
    pub(super) index: IndexConfig,
    chat: ChatConfig,
    pub(super) search: SearchCache,
    blocking_calls: usize,
}

impl Default for WorkerParts {
    fn default() -> WorkerParts {
        WorkerParts {
            index: IndexConfig {
                indexing: false,
                ..IndexConfig::default()
            },
            chat: ChatConfig::default(),
            search: SearchCache::default(),
            blocking_calls: 16,
        }
    }
}

/// A worker. Dropping it ends it.
pub(super) enum Worker {
    Real(
        #[expect(dead_code, reason = "held for its end")] ConfinedWorker,
        Probes,
    ),
    Fixture(#[expect(dead_code, reason = "held for its end")] Fixture),
    /// Stopped, and not yet replaced.
    None,
}

/// Binds an address as soon as it is free.
async fn free(address: SocketAddr) -> TcpListener {
    let deadline = Instant::now() + super::PATIENCE;
    loop {
        match TcpListener::bind(address) {
            Ok(listener) => return listener,
            Err(error) => assert!(Instant::now() < deadline, "{address}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A worker's admin listener. Dropping it ends the server.
pub(super) struct Probes {
    address: SocketAddr,
    serving: JoinHandle<io::Result<()>>,
}

impl Drop for Probes {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Stack {
    /// Stops the workers.
    pub fn stop_workers(&mut self) {
        (0..self.workers.len()).for_each(|worker| self.stop_worker(worker));
    }

    /// Stops one of them.
    pub fn stop_worker(&mut self, worker: usize) {
        self.workers[worker] = Worker::None;
    }

    /// Stops the real workers and starts new ones at the same addresses, with empty caches.
    pub async fn restart_workers(&mut self) {
        for (worker, address) in self.workers.iter_mut().zip(&self.addresses) {
            let verifier = PassVerifier::new(&[self.pass_key.minter().public_key()], POOL);
            let ended = std::mem::replace(worker, Worker::None);
            drop(ended);
            let listener = free(*address).await;
            let started_with = (&self.database, &*self.repositories);
            *worker = Worker::real(
                started_with,
                verifier,
                WorkerParts::clone(&self.parts),
                listener,
            )
            .await;
        }
    }

    /// The admin addresses of the real workers.
    pub fn worker_admins(&self) -> Vec<SocketAddr> {
        let admin = |worker: &Worker| match worker {
            Worker::Real(_, probes) => Some(probes.address),
            Worker::Fixture(_) | Worker::None => None,
        };
        self.workers.iter().filter_map(admin).collect()
    }
}

impl Probes {
    fn of(worker: &ConfinedWorker) -> Probes {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Probes {
            address: listener.local_addr().unwrap(),
            serving: tokio::spawn(worker.admin().serve(listener)),
        }
    }
}

impl Worker {
    /// Starts a real worker, on a confined thread of its own.
    pub(super) async fn real(
        (database, repositories): (&Database, &Path),
        verifier: PassVerifier,
        parts: WorkerParts,
        listener: TcpListener,
    ) -> Worker {
        let config = WorkerConfig {
            pool: POOL.to_owned(),
            search_threads: 0,
            search_cache_bytes: parts.search.bytes,
            content_cache_bytes: 64 << 20,
            project_cache_bytes: 256 << 20,
            blocking_calls: NonZeroUsize::new(parts.blocking_calls).unwrap(),
            max_result_bytes: 64 << 10,
            cache: parts.search.folder(repositories),
            // Long enough that no test loses a late write.
            workflow_timeout: Duration::from_secs(5),
            index: parts.index,
            chat: parts.chat,
            store: archway_store::StoreConfig {
                url: database.url("archway_worker").into(),
                max_connections: 4,
            },
        };
        let mounts = Mounts::beneath(repositories.to_owned());
        let starting = tokio::task::spawn_blocking(move || {
            ConfinedWorker::start(config, mounts, verifier, Listener::Tcp(listener), None)
        });
        let worker = starting.await.unwrap().expect("the worker starts");
        let probes = Probes::of(&worker);
        Worker::Real(worker, probes)
    }

    /// Starts the fixture, with the tool `hang` if a test observes its calls.
    fn fixture(verifier: PassVerifier, hung: Option<Sender<HangEvent>>) -> (Worker, SocketAddr) {
        let fixture = Fixture::start(verifier, hung);
        let address = fixture.address();
        (Worker::Fixture(fixture), address)
    }
}
