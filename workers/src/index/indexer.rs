//! Keeps the index of every project that this worker has up to date, beside the path of calls.
//!
//! Every two seconds HEAD of each project is compared with the commit that its index has; a call
//! that writes to memory wakes it at once. What differs is taken by a lease, which one worker has
//! at a time, and made whole by a [`run`](super::run). All its work on texts is done by one thread after all
//! others that want the CPU, one project after the other.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;

use archway_proto::chain::Chain;
use futures::FutureExt as _;
use rayon::ThreadPool;
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use uuid::Uuid;

use super::embed::Embedder;
use super::home::{Home, Shelf};
use super::lost::{self, Turns};
use super::run::{Progress, Run, RunError};
use crate::metrics::{IndexMetrics, Ran};
use crate::repo::{Mounts, RepoError, Repos, crew};
use crate::store::{LEASE, Lease, Mounted, Stores};

/// How often HEADs are looked at. A push has to be picked up within 5 s.
const LOOK: Duration = Duration::from_secs(2);
/// One look takes at most this part of the time, however many projects there are: a twentieth.
const SHARE: u32 = 20;
/// How many indexes one worker makes at once. They share one thread: a small change beside a large
/// repository waits for a batch of it, not for all.
const RUNS_AT_ONCE: usize = 8;
/// How many projects one worker looks at.
const MOST_PROJECTS: usize = 10_000;
/// Above the niceness of the threads that answer calls: sched(7).
const PATIENCE: i32 = 10;
/// How long a project is left alone after its run failed, at first and at most.
const REST: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// Makes indexes whole.
pub(crate) struct Indexer {
    pub(super) with: Tools,
    wake: Arc<Notify>,
    /// Where texts are cut and read.
    pub(super) thread: ThreadPool,
    /// This worker, to the others.
    holder: Uuid,
}

/// What the loop remembers between two looks.
#[derive(Default)]
struct Memory {
    /// Projects whose index is being made by this worker.
    running: HashSet<Shelf>,
    runs: JoinSet<(Shelf, Result<(), RunError>)>,
    rests: HashMap<Shelf, Rest>,
    /// When it is counted what homes have.
    counts: Turns,
    /// Whether the last look failed: an outage is told once.
    is_away: bool,
}

/// Until when a project is left alone, after so many failures in a row.
struct Rest {
    until: Instant,
    failures: u32,
}

/// What an indexer works with.
pub(crate) struct Tools {
    pub(crate) repos: Arc<Repos>,
    pub(crate) mounts: Mounts,
    pub(crate) stores: Stores,
    pub(crate) home: Arc<dyn Home>,
    pub(crate) embedder: Arc<Embedder>,
    /// Home, model and form.
    pub(crate) made_by: String,
    pub(crate) metrics: IndexMetrics,
}

impl Indexer {
    /// An indexer whose thread is started by the calling one, and confined if that is. It looks at
    /// once when `wake` is notified.
    ///
    /// # Errors
    /// If the thread can't be started.
    pub(crate) fn new(with: Tools, wake: Arc<Notify>) -> Result<Indexer, RepoError> {
        Ok(Indexer {
            thread: crew("index", NonZeroUsize::MIN, PATIENCE)?,
            with,
            wake,
            holder: Uuid::now_v7(),
        })
    }

    /// Indexes until `stop`. A run that is under way then is given up: what it brought home stays
    /// there, and the next one goes on from it.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut memory = Memory::default();
        let mut rest = LOOK;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(rest) => {}
                () = self.wake.notified() => {}
                Some(ended) = memory.runs.join_next() => {
                    memory.ended(ended);
                    continue;
                }
            }
            let started = Instant::now();
            let looked = tokio::select! {
                () = stop.cancelled() => return,
                looked = self.look(&mut memory) => looked,
            };
            if let (Err(error), false) = (&looked, memory.is_away) {
                tracing::warn!(error = %Chain(&**error), "projects were not looked at");
            }
            memory.is_away = looked.is_err();
            rest = LOOK.max(started.elapsed() * SHARE);
        }
    }

    /// Begins a run of each project whose index is not what it should be.
    async fn look(self: &Arc<Self>, memory: &mut Memory) -> Result<(), LookError> {
        let mounts = self.with.mounts.clone();
        let folders = tokio::task::spawn_blocking(move || mounts.names(MOST_PROJECTS)).await??;
        let mounted = self
            .with
            .stores
            .mounted(&folders, &self.with.made_by)
            .await?;
        memory.begin(&mounted);
        for project in mounted {
            if memory.runs.len() >= RUNS_AT_ONCE {
                break;
            }
            if !memory.may_run(project.shelf) {
                continue;
            }
            if !self.is_due(&project).await? && !self.is_lost(&project, &mut memory.counts).await {
                continue;
            }
            memory.running.insert(project.shelf);
            let (indexer, shelf) = (Arc::clone(self), project.shelf);
            let run = async move { (shelf, indexer.make(&project).boxed().await) };
            memory.runs.spawn(run.in_current_span());
        }
        Ok(())
    }

    /// Whether a project's index is not of the commit that HEAD names, or not by the path rules that
    /// hold: what was opened since then is not in it.
    async fn is_due(&self, project: &Mounted) -> Result<bool, LookError> {
        let (Some(indexed), Some(rules)) = (&project.indexed, &project.rules) else {
            return Ok(true);
        };
        let (repos, rules) = (Arc::clone(&self.with.repos), Arc::clone(rules));
        let (tenant, slug) = (project.tenant.clone(), project.project.clone());
        let look = move || repos.standing(&tenant, &slug, &rules);
        // Whoever asks for it is told what is wrong with it; here it stays as it is.
        let Ok((head, rules)) = tokio::task::spawn_blocking(look).await? else {
            return Ok(false);
        };
        Ok(project.is_asked
            || head.map(|head| head.commit) != *indexed
            || project.ruled != Some(rules.fingerprint()))
    }

    /// Whether it is a project's turn, and its index lost chunks. The run that this begins counts
    /// them again, once no other worker can be at it.
    async fn is_lost(&self, project: &Mounted, turns: &mut Turns) -> bool {
        let shelf = project.shelf;
        if !turns.take(shelf) {
            return false;
        }
        let counted = async {
            let store = self.with.stores.tenant(shelf.tenant);
            match store.index(shelf.project, &self.with.made_by).await? {
                Some(row) => lost::is_lost(&self.with, shelf, row.id).await,
                None => Ok(false),
            }
        };
        let told = |error: &RunError| {
            tracing::debug!(project = %shelf.project, error = %Chain(error), "chunks were not counted");
        };
        // With Postgres or the home away it is looked at again in its next turn.
        counted.await.inspect_err(told).unwrap_or(false)
    }

    /// Makes the index of a project whole, unless another worker does.
    async fn make(&self, project: &Mounted) -> Result<(), RunError> {
        let shelf = project.shelf;
        let store = self.with.stores.tenant(shelf.tenant);
        let taken = store.take_index(shelf.project, &self.with.made_by, self.holder);
        let Some(lease) = taken.await? else {
            return Ok(());
        };
        let started = Instant::now();
        let stop = CancellationToken::new();
        let progress = Progress::default();
        let run = Run::new(self, project, lease, &progress, stop.clone());
        let ran = tokio::select! {
            ran = run.finish().boxed() => ran,
            () = self.keep(lease, &progress).boxed() => Err(RunError::Lost),
        };
        // What a thread still does for it ends soon.
        stop.cancel();
        let how = match &ran {
            Ok(()) => Ran::Whole,
            Err(RunError::Lost) => Ran::Lost,
            Err(_told) => Ran::Failed,
        };
        self.with.metrics.ran(how, started.elapsed());
        let failure = ran.as_ref().err().map(ToString::to_string);
        store.release_index(lease, failure.as_deref()).await?;
        ran
    }

    /// Says that this worker lives, until the lease is lost.
    async fn keep(&self, lease: Lease, progress: &Progress) {
        let store = self.with.stores.tenant(lease.shelf.tenant);
        let mut lost_at = Instant::now() + LEASE;
        loop {
            tokio::time::sleep(LEASE / 5).await;
            let (done, total) = progress.read();
            let kept = store.keep_index(lease, done, total);
            match tokio::time::timeout_at(lost_at, kept).await {
                Ok(Ok(true)) => lost_at = Instant::now() + LEASE,
                // Postgres may be back before the lease is over.
                Ok(Err(_away)) if Instant::now() < lost_at => {}
                Ok(_) | Err(_) => return,
            }
        }
    }
}

/// Why projects were not looked at: nobody acts on which, so it is only ever shown.
type LookError = Box<dyn std::error::Error + Send + Sync>;

impl Memory {
    fn may_run(&self, shelf: Shelf) -> bool {
        let rests = self.rests.get(&shelf);
        !self.running.contains(&shelf) && rests.is_none_or(|rest| rest.until <= Instant::now())
    }

    /// A look begins; projects that are no longer there are forgotten.
    fn begin(&mut self, mounted: &[Mounted]) {
        let there: HashSet<Shelf> = mounted.iter().map(|project| project.shelf).collect();
        self.rests.retain(|shelf, _| there.contains(shelf));
        self.counts.begin(&there);
    }

    fn ended(&mut self, ended: Result<(Shelf, Result<(), RunError>), JoinError>) {
        let (shelf, outcome) = match ended {
            Ok(ended) => ended,
            Err(panicked) => {
                // Which one it was is not known; its lease runs out.
                tracing::error!(error = %panicked, "a project could not be indexed: bug");
                self.running.clear();
                return;
            }
        };
        self.running.remove(&shelf);
        let Err(error) = outcome else {
            self.rests.remove(&shelf);
            return;
        };
        let failures = self.rests.get(&shelf).map_or(0, |rest| rest.failures);
        if failures == 0 {
            tracing::warn!(project = %shelf.project, error = %Chain(&error), "a project was not indexed");
        }
        let (first, most) = REST;
        let rest = first.saturating_mul(1 << failures.min(5)).min(most);
        let until = Instant::now() + rest;
        let failures = failures.saturating_add(1);
        self.rests.insert(shelf, Rest { until, failures });
    }
}
