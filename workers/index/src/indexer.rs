//! Keeps the index of every project that this worker has up to date, beside the path of calls.
//!
//! Every two seconds HEAD of each project is compared with the commit that its index has; a call
//! that writes to memory wakes it at once. What differs is taken by a lease, which one worker has
//! at a time, and made whole by a [`run`]. All its work on texts is done by one thread after all
//! others that want the CPU, one project after the other.

mod clock;
mod lost;
mod memory;
mod run;

use std::mem;
use std::sync::Arc;

use archway_proto::chain::Chain;
use archway_repo::{Mounts, RepoError, Repos};
use archway_store::{LEASE, Lease, Mounted, Shelf, Stores};
use futures::FutureExt as _;
use tokio::sync::Notify;
use tokio::time::{Duration, Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use uuid::Uuid;

use super::embed::Embedder;
use super::metrics::{IndexMetrics, Ran};
use super::thread::Thread;
use super::vector_store::Home;
use clock::Clock;
use memory::Memory;
use run::{Progress, Run, RunError};

/// How many projects one worker looks at.
const MOST_PROJECTS: usize = 10_000;
/// How long a look waits for one project's folder.
const FOLDER: Duration = Duration::from_secs(1);
/// How long runs that are given up have for giving back what they hold.
const FAREWELL: Duration = Duration::from_secs(1);

/// Makes indexes whole.
pub struct Indexer {
    pub(super) with: Tools,
    wake: Arc<Notify>,
    /// Where texts are cut and read.
    pub(super) thread: Thread,
}

/// What an indexer works with.
pub struct Tools {
    /// The repositories that it reads.
    pub repos: Arc<Repos>,
    /// The folders that this worker has.
    pub mounts: Mounts,
    /// Postgres.
    pub stores: Stores,
    /// Where chunks are kept.
    pub home: Arc<dyn Home>,
    /// Makes the vectors.
    pub embedder: Arc<Embedder>,
    /// Home, model and form.
    pub made_by: String,
    /// Where indexing is counted.
    pub metrics: IndexMetrics,
}

impl Indexer {
    /// An indexer whose thread is started by the calling one, and confined if that is. It looks at
    /// once when `wake` is notified.
    ///
    /// # Errors
    /// If the thread can't be started.
    pub fn new(with: Tools, wake: Arc<Notify>) -> Result<Indexer, RepoError> {
        let thread = Thread::start()?;
        with.metrics.indexing();
        Ok(Indexer { thread, with, wake })
    }

    /// Indexes until `stop`. A run that is under way then is given up: what it brought home stays
    /// there, and the next one goes on from it, on whichever worker.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let (mut clock, mut memory) = (Clock::start(), Memory::default());
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                () = sleep_until(clock.next()) => {}
                () = self.wake.notified() => {
                    clock.wake();
                    continue;
                }
                Some(ended) = memory.runs.join_next_with_id() => {
                    memory.ended(ended);
                    if !mem::take(&mut memory.waiting).is_empty() {
                        clock.wake();
                    }
                    continue;
                }
                Some(counted) = memory.counts.join_next() => {
                    memory.counted(counted);
                    continue;
                }
            }
            let started = Instant::now();
            let looked = tokio::select! {
                () = stop.cancelled() => break,
                looked = self.look(&mut memory, &stop) => looked,
            };
            if let (Err(error), false) = (&looked, memory.is_away) {
                tracing::warn!(error = %Chain(&**error), "projects were not looked at");
            }
            memory.is_away = looked.is_err();
            if !memory.is_away {
                self.with.metrics.looked();
            }
            clock.looked(started);
        }
        let given_up = async { while memory.runs.join_next().await.is_some() {} };
        timeout(FAREWELL, given_up).await.ok();
        self.with.stores.close().await;
    }

    /// Begins a run of each project whose index is not what it should be.
    async fn look(
        self: &Arc<Self>,
        memory: &mut Memory,
        stop: &CancellationToken,
    ) -> Result<(), LookError> {
        let mounts = self.with.mounts.clone();
        let folders = tokio::task::spawn_blocking(move || mounts.names(MOST_PROJECTS)).await??;
        let mounted = self.with.stores.mounted(&folders, &self.with.made_by);
        let mut mounted = mounted.await?;
        lost::mark(&self.with, &mut mounted, &mut memory.seen).await;
        for shelf in memory.begin(&mut mounted) {
            self.count(shelf, memory);
        }
        for project in mounted {
            let (shelf, tenant) = (project.shelf, project.shelf.tenant);
            // Of a tenant that waits nothing more begins in this look.
            if !memory.is_free(shelf) || memory.waiting.contains(&tenant) {
                continue;
            }
            let due = self.due(&project, memory).await?;
            if due == Due::Nothing {
                continue;
            }
            if memory.has_place(tenant) {
                let (indexer, stop) = (Arc::clone(self), stop.clone());
                let yields = CancellationToken::new();
                let asked = yields.clone();
                let run = async move { indexer.make(&project, stop, asked).boxed().await };
                memory.run(shelf, yields, run.in_current_span());
            } else if due == Due::Documents {
                memory.wait(tenant);
                if !memory.has_room() {
                    break;
                }
            }
        }
        self.with.metrics.unreadable(memory.unreadable());
        Ok(())
    }

    /// What a project is due for: documents, if chunks are lost, or its index is not of the commit that
    /// HEAD names, or not by the path rules that hold (what was opened since then is not in it); else
    /// vectors, if some are lacking that could be had now.
    async fn due(&self, project: &Mounted, memory: &mut Memory) -> Result<Due, LookError> {
        let (Some(indexed), Some(rules)) = (&project.indexed, &project.rules) else {
            return Ok(Due::Documents);
        };
        if memory.is_lost(project.shelf) {
            return Ok(Due::Documents);
        }
        let (repos, rules) = (Arc::clone(&self.with.repos), Arc::clone(rules));
        let (tenant, slug) = (project.tenant.clone(), project.project.clone());
        let look = move || repos.head_and_rules(&tenant, &slug, &rules);
        let mut look = tokio::task::spawn_blocking(look);
        let Ok(looked) = timeout(FOLDER, &mut look).await else {
            memory.stuck(project.shelf, look);
            return Ok(Due::Nothing);
        };
        // Whoever asks for it is told what is wrong with it; here it stays as it is.
        let (head, rules) = match looked? {
            Ok(standing) => standing,
            Err(error) => {
                memory.not_read(project.shelf, &error);
                return Ok(Due::Nothing);
            }
        };
        memory.read(project.shelf);
        let is_other =
            head.map(|head| head.commit) != *indexed || project.ruled != Some(rules.fingerprint());
        Ok(if project.is_asked || is_other {
            Due::Documents
        } else if project.lacks_vectors
            && memory.may_ask_for_vectors(project.shelf)
            && !self.with.embedder.is_unavailable()
        {
            Due::Vectors
        } else {
            Due::Nothing
        })
    }

    /// Has the chunks of a project counted. The run that begins if some are lost counts them again,
    /// once no other worker can be at it.
    fn count(self: &Arc<Self>, shelf: Shelf, memory: &mut Memory) {
        let indexer = Arc::clone(self);
        let count = async move { (shelf, indexer.is_lost(shelf).await) };
        memory.counts.spawn(count.in_current_span());
    }

    /// Whether a project's index lost chunks.
    async fn is_lost(&self, shelf: Shelf) -> bool {
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

    /// Makes the index of a project whole, unless another worker does. Once it is to yield, it makes
    /// no more vectors.
    async fn make(
        &self,
        project: &Mounted,
        ends: CancellationToken,
        yields: CancellationToken,
    ) -> Result<(), RunError> {
        let shelf = project.shelf;
        let store = self.with.stores.tenant(shelf.tenant);
        // Each run is another holder: what an earlier one still does must not pass for its own.
        let taken = store.take_index(shelf.project, &self.with.made_by, Uuid::now_v7());
        let lease = taken.await?.ok_or(RunError::Held)?;
        let started = Instant::now();
        let _under_way = self.with.metrics.under_way();
        let stop = CancellationToken::new();
        let progress = Progress::default();
        let run = Run::new(self, project, lease, &progress, (stop.clone(), yields));
        let ran = tokio::select! {
            ran = run.finish().boxed() => ran,
            () = self.keep(lease, &progress).boxed() => Err(RunError::Lost),
            () = ends.cancelled() => Err(RunError::Ended),
        };
        // What a thread still does for it ends soon.
        stop.cancel();
        let how = match &ran {
            Ok(()) => Ran::Whole,
            Err(RunError::Lost) => Ran::Lost,
            Err(RunError::Ended) => Ran::Ended,
            Err(_told) => Ran::Failed,
        };
        self.with.metrics.ran(how, started.elapsed());
        let failed = ran.as_ref().err();
        let failed = failed.filter(|error| !matches!(error, RunError::Ended));
        let failure = failed.map(ToString::to_string);
        store.release_index(lease, failure.as_deref()).await?;
        ran
    }

    /// Says that this worker lives, until the lease is lost.
    async fn keep(&self, lease: Lease, progress: &Progress) {
        let store = self.with.stores.tenant(lease.shelf.tenant);
        let mut lost_at = lease.taken + LEASE;
        loop {
            tokio::time::sleep(LEASE / 5).await;
            let (done, total) = progress.read();
            // Postgres counts from when it hears of it.
            let said = Instant::now();
            let kept = store.keep_index(lease, done, total);
            match tokio::time::timeout_at(lost_at, kept).await {
                Ok(Ok(true)) => lost_at = said + LEASE,
                // Postgres may be back before the lease is over.
                Ok(Err(_away)) if Instant::now() < lost_at => {}
                Ok(_) | Err(_) => return,
            }
        }
    }
}

/// What a project is due for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    Nothing,
    /// It is searched by words alone.
    Vectors,
    Documents,
}

/// Why projects were not looked at: nobody acts on which, so it is only ever shown.
type LookError = Box<dyn std::error::Error + Send + Sync>;
