//! The thread that makes graphs: one project after the other, after everything else that wants
//! the CPU.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tokio::time::{Duration, Instant};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::error::HistoryError;
use super::super::graph::build;
use super::super::packs;
use super::MAX_PROJECTS;
use super::graphs::Graphs;
use crate::metrics::{Build, HistoryMetrics};
use crate::repo::{Cancel, Key, RepoError};

/// Above the niceness of the threads that answer calls: sched(7).
const PATIENCE: i32 = 10;
/// A build that takes longer is given up.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// Where graphs are asked for. Dropped, it ends the thread and what that is doing.
pub(super) struct Builder {
    queue: SyncSender<Job>,
    _end: DropGuard,
}

/// A graph to be made.
struct Job {
    project: Key,
    git: gix::ThreadSafeRepository,
}

/// What the thread has.
struct Work {
    graphs: Graphs,
    metrics: HistoryMetrics,
    end: CancellationToken,
}

impl Builder {
    /// Starts the thread, confined as the calling one.
    pub(super) fn start(graphs: Graphs, metrics: HistoryMetrics) -> io::Result<Builder> {
        let (queue, jobs) = sync_channel(MAX_PROJECTS);
        let end = CancellationToken::new();
        let _end = end.clone().drop_guard();
        let work = Work {
            graphs,
            metrics,
            end,
        };
        let thread = std::thread::Builder::new().name("graphs".to_owned());
        thread.spawn(move || work.run(&jobs))?;
        Ok(Builder { queue, _end })
    }

    /// Has a project's graph made, some time.
    pub(super) fn ask(&self, project: &Key, git: &gix::Repository) {
        let job = Job {
            project: project.clone(),
            git: git.clone().into_sync(),
        };
        // With a full queue it is asked for again later, by another call.
        self.queue.try_send(job).ok();
    }
}

impl Work {
    fn run(&self, jobs: &Receiver<Job>) {
        // Of this thread alone, on Linux (nice(2)). Where it may not be, calls take longer.
        if let Err(error) = rustix::process::nice(PATIENCE) {
            tracing::debug!(%error, "the thread that makes graphs keeps its priority");
        }
        while let Ok(job) = jobs.recv() {
            let started = Instant::now();
            let outcome = self.build(&job);
            let took = started.elapsed();
            self.metrics.built(outcome, took);
            self.graphs.built(&job.project, took);
        }
    }

    fn build(&self, job: &Job) -> Build {
        let cancel = Cancel::new(Instant::now() + LONGEST, self.end.clone());
        let mut git = job.git.to_thread_local();
        packs::keep(&mut git);
        let before = self.graphs.ours(&job.project, &cancel);
        let built = before.map_err(HistoryError::from);
        match built.and_then(|before| build(&git, &before, &cancel)) {
            Ok(Some((file, new))) => {
                let (bytes, id) = (file.len(), job.project.fingerprint());
                tracing::info!(project = id, new, bytes, "a commit-graph was made");
                self.graphs.take(&job.project, file, &cancel);
                Build::Made
            }
            Ok(None) => Build::Unfit,
            Err(HistoryError::Repo(RepoError::Stopped(_))) => Build::Stopped,
            Err(_source_has_host_paths) => {
                tracing::warn!("a commit-graph could not be made: the repository is damaged");
                Build::Failed
            }
        }
    }
}
