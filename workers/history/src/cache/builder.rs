//! The thread that builds graphs and ledgers: one project at a time, at low CPU priority.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use archway_repo::{Cancel, Key, RepoError, lower_priority_for_background, pack_cache};
use tokio::time::{Duration, Instant};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::error::HistoryError;
use super::super::graph::build;
use super::super::ledger;
use super::super::metrics::{BuildOutcome, HistoryMetrics};
use super::folder::Part;
use super::graphs::Graphs;
use super::ledgers::Ledgers;
use super::{MAX_WAITING, is_complete_graph};

/// A longer build ends with what it has, and the next one continues from there.
const MAX_BUILD_TIME: Duration = Duration::from_secs(30 * 60);

/// Queues builds. Dropping it ends the thread, and the build in progress.
pub(super) struct Builder {
    queue: SyncSender<Job>,
    _end: DropGuard,
}

/// A project whose graph or ledger is to be built.
struct Job {
    project: Key,
    git: gix::ThreadSafeRepository,
}

/// The state of the thread.
struct BuilderThread {
    graphs: Graphs,
    ledgers: Ledgers,
    metrics: HistoryMetrics,
    end: CancellationToken,
}

impl Builder {
    /// Starts the thread, confined as the calling one.
    pub(super) fn start(
        graphs: Graphs,
        ledgers: Ledgers,
        metrics: HistoryMetrics,
    ) -> io::Result<Builder> {
        let (queue, jobs) = sync_channel(MAX_WAITING);
        let end = CancellationToken::new();
        let _end = end.clone().drop_guard();
        let worker = BuilderThread {
            graphs,
            ledgers,
            metrics,
            end,
        };
        let thread = std::thread::Builder::new().name("graphs".to_owned());
        thread.spawn(move || worker.run(&jobs))?;
        Ok(Builder { queue, _end })
    }

    /// Queues a build. Returns false if the queue is full.
    pub(super) fn enqueue(&self, project: &Key, git: &gix::Repository) -> bool {
        let job = Job {
            project: project.clone(),
            git: git.clone().into_sync(),
        };
        self.queue.try_send(job).is_ok()
    }
}

impl BuilderThread {
    fn run(&self, jobs: &Receiver<Job>) {
        lower_priority_for_background("graphs");
        while let Ok(job) = jobs.recv() {
            let started = Instant::now();
            // A panic on one repository must not end builds for all.
            let result = catch_unwind(AssertUnwindSafe(|| self.build_indexes(&job)));
            if result.is_err() {
                let (id, took) = (job.project.fingerprint(), started.elapsed());
                tracing::error!(
                    project = id,
                    "the build of a commit-graph or ledger panicked: bug"
                );
                self.metrics
                    .record_build(Part::Graph.name(), BuildOutcome::Failed, took);
            }
            self.graphs.schedule_next(&job.project, started.elapsed());
        }
    }

    /// Builds the graph, then the ledger, which depends on it.
    fn build_indexes(&self, job: &Job) {
        let cancel = Cancel::new(Instant::now() + MAX_BUILD_TIME, self.end.clone());
        let mut git = job.git.to_thread_local();
        pack_cache::enable(&mut git);
        let Ok(graph) = self.graphs.get(&job.project, &git, &cancel) else {
            return;
        };
        if !archway_repo::head(&git)
            .ok()
            .flatten()
            .is_some_and(|head| is_complete_graph(&graph, head))
        {
            self.timed(Part::Graph, || self.build_graph(job, &git, &cancel));
        }
        self.timed(Part::Ledger, || self.build_ledger(job, &git, &cancel));
    }

    fn timed(&self, part: Part, build: impl FnOnce() -> Result<bool, HistoryError>) {
        let started = Instant::now();
        let outcome = match build() {
            Ok(true) => BuildOutcome::Made,
            Ok(false) => BuildOutcome::Unfit,
            Err(HistoryError::Repo(RepoError::Stopped(_))) => BuildOutcome::Stopped,
            Err(_source_has_host_paths) => {
                tracing::warn!(?part, "build failed: the repository is damaged");
                BuildOutcome::Failed
            }
        };
        self.metrics
            .record_build(part.name(), outcome, started.elapsed());
    }

    /// Returns false if nothing is to be built.
    fn build_graph(
        &self,
        job: &Job,
        git: &gix::Repository,
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        let before = self.graphs.built(&job.project, cancel)?;
        let Some((file, new)) = build(git, &before, cancel)? else {
            return Ok(false);
        };
        let (bytes, id) = (file.len(), job.project.fingerprint());
        tracing::info!(project = id, new, bytes, "built a commit-graph");
        self.graphs.insert(&job.project, file, cancel);
        Ok(true)
    }

    /// Returns false if a new ledger would add nothing.
    fn build_ledger(
        &self,
        job: &Job,
        git: &gix::Repository,
        cancel: &Cancel,
    ) -> Result<bool, HistoryError> {
        let graph = self.graphs.get(&job.project, git, cancel)?;
        let before = self.ledgers.get(&job.project, cancel)?;
        let Some((file, new)) = ledger::build(git, &graph, &before, cancel)? else {
            return Ok(false);
        };
        let (bytes, id) = (file.len(), job.project.fingerprint());
        tracing::info!(project = id, new, bytes, "built a ledger");
        self.ledgers.insert(&job.project, file, cancel);
        Ok(true)
    }
}
