//! The worker of a stack: the real one, confined to its mounts, or the fixture.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    num::NonZeroUsize,
    path::Path,
    time::Duration,
};

use archway_proto::pass::{PassMinter, PassVerifier};
use archway_workers::{
    chat::ChatConfig,
    index::{config::IndexConfig, embed::EmbedderConfig},
    repo::Mounts,
    server::{ConfinedWorker, Listener, WorkerConfig},
};
use tokio::{sync::mpsc::Sender, task::JoinHandle, time::Instant};

use super::{Harness, POOL, Stack};
use crate::{
    ChatModel, Database, Embeddings,
    fixture::{Fixture, Hung},
};

impl Harness {
    /// Has the worker keep the index, which few tests ask.
    #[must_use]
    pub fn indexing(mut self) -> Harness {
        self.index.indexing = true;
        self
    }

    /// Has the index ask this service for its vectors.
    #[must_use]
    pub fn embedder(mut self, service: &Embeddings) -> Harness {
        self.index.embedder = EmbedderConfig {
            embedder_url: Some(service.url()),
            embedder_model: Some("words".to_owned()),
            embedder_dimensions: service.dimensions().try_into().ok(),
            ..EmbedderConfig::default()
        };
        self
    }

    /// Has the workers ask this chat model about decisions, under a key.
    #[must_use]
    pub fn chat(mut self, model: &ChatModel, key: &str) -> Harness {
        self.chat = ChatConfig {
            chat_url: Some(model.url()),
            chat_key: Some(key.into()),
            chat_model: Some("double".to_owned()),
            ..ChatConfig::default()
        };
        self
    }

    /// Has as many real workers, which share database and mounts.
    #[must_use]
    pub fn workers(mut self, count: usize) -> Harness {
        self.workers = count;
        self
    }

    /// What each worker has of its own.
    pub(super) fn parts(&self) -> Parts {
        (self.index.clone(), self.chat.clone())
    }

    /// The workers, and where each listens.
    pub(super) async fn start_workers(
        &self,
        database: &Database,
        repositories: &Path,
        minter: &PassMinter,
    ) -> Vec<(Worker, SocketAddr)> {
        let verifier = || PassVerifier::new(&[minter.public_key()], POOL);
        if self.fixture {
            return vec![Worker::fixture(verifier(), self.hung.clone()).await];
        }
        let mut started = Vec::with_capacity(self.workers);
        for _ in 0..self.workers {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let started_with = (database, repositories);
            let worker = Worker::real(started_with, verifier(), self.parts(), listener).await;
            started.push((worker, address));
        }
        started
    }
}

/// What a worker's own parts are made of.
pub(super) type Parts = (IndexConfig, ChatConfig);

/// A worker that ends when this is dropped.
pub(super) enum Worker {
    Real(
        #[expect(dead_code, reason = "held for its end")] ConfinedWorker,
        Probes,
    ),
    Fixture(#[expect(dead_code, reason = "held for its end")] Fixture),
    /// Between two.
    None,
}

/// Listens at an address, as soon as nobody else does.
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

/// Where probes ask a worker; it ends when this is dropped.
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
    /// Ends the real workers, and starts new ones in their places and at their addresses, which
    /// remember nothing.
    pub async fn restart_workers(&mut self) {
        for (worker, address) in self.workers.iter_mut().zip(&self.addresses) {
            let verifier = PassVerifier::new(&[self.pass_key.minter().public_key()], POOL);
            let ended = std::mem::replace(worker, Worker::None);
            drop(ended);
            let listener = free(*address).await;
            let started_with = (&self.database, &*self.repositories);
            *worker = Worker::real(started_with, verifier, (*self.parts).clone(), listener).await;
        }
    }

    /// Where probes ask the workers, those that are real.
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
    /// The real one, on a confined thread of its own.
    pub(super) async fn real(
        (database, repositories): (&Database, &Path),
        verifier: PassVerifier,
        (index, chat): Parts,
        listener: TcpListener,
    ) -> Worker {
        let config = WorkerConfig {
            pool: POOL.to_owned(),
            search_threads: 0,
            search_cache_bytes: 64 << 20,
            blocking_calls: NonZeroUsize::new(16).unwrap(),
            max_result_bytes: 64 << 10,
            cache: None,
            // What comes late would be dropped, which no test is about.
            workflow_patience: Duration::from_secs(5),
            index,
            chat,
            store: archway_workers::store::StoreConfig {
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

    /// The one that serves the conformance suite's tools, and `hang` where somebody is told of it.
    pub(super) async fn fixture(
        verifier: PassVerifier,
        hung: Option<Sender<Hung>>,
    ) -> (Worker, SocketAddr) {
        let fixture = Fixture::start(verifier, hung).await;
        let address = fixture.address();
        (Worker::Fixture(fixture), address)
    }
}
