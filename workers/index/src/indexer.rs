//! Keeps the indexes of this worker's projects up to date, off the path of calls.
//!
//! Every two seconds, each project's HEAD is compared with its indexed commit; a call that writes to
//! memory wakes the indexer at once. An outdated index is leased, by one worker at a time, and
//! completed by a [`run`]. One thread of low priority does all work on texts, one project after
//! the other.

mod clock;
mod lost;
mod memory;
mod run;

use std::mem;
use std::sync::Arc;

use archway_proto::chain::Chain;
use archway_repo::{Mounts, RepoError, Repos};
use archway_store::{LEASE, Lease, MountedProject, ProjectKey, Stores};
use futures::FutureExt as _;
use tokio::sync::Notify;
use tokio::time::{Duration, Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use uuid::Uuid;

use super::embed::Embedder;
use super::metrics::{IndexMetrics, Ran};
use super::thread::Thread;
use super::vector_store::VectorStore;
use clock::Clock;
use memory::Memory;
use run::{Progress, Run, RunError};

/// Projects that one worker scans, at most.
const MOST_PROJECTS: usize = 10_000;
/// How long a scan waits for one project's folder.
const FOLDER: Duration = Duration::from_secs(1);
/// How long cancelled runs may take to release their leases.
const FAREWELL: Duration = Duration::from_secs(1);

/// Completes outdated indexes.
pub struct Indexer {
    pub(super) parts: IndexerParts,
    wake: Arc<Notify>,
    /// Cuts and reads texts.
    pub(super) thread: Thread,
}

/// Dependencies of an indexer.
pub struct IndexerParts {
    /// The repositories to index.
    pub repos: Arc<Repos>,
    /// The folders that this worker mounts.
    pub mounts: Mounts,
    /// Postgres.
    pub stores: Stores,
    /// Stores the chunks.
    pub vector_store: Arc<dyn VectorStore>,
    /// Makes the vectors.
    pub embedder: Arc<Embedder>,
    /// Store, model and format.
    pub made_by: String,
    /// Counts runs and texts.
    pub metrics: IndexMetrics,
}

impl Indexer {
    /// Starts the indexing thread, confined if the calling thread is. A notification of `wake` starts
    /// a scan.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn new(parts: IndexerParts, wake: Arc<Notify>) -> Result<Indexer, RepoError> {
        let thread = Thread::start()?;
        parts.metrics.indexing();
        Ok(Indexer {
            thread,
            parts,
            wake,
        })
    }

    /// Indexes until `stop` is cancelled. Runs in flight are then abandoned: their uploaded texts remain,
    /// and the next run continues from them, on any worker.
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
                tracing::warn!(error = %Chain(&**error), "projects could not be scanned");
            }
            memory.is_away = looked.is_err();
            if !memory.is_away {
                self.parts.metrics.looked();
            }
            clock.looked(started);
        }
        let given_up = async { while memory.runs.join_next().await.is_some() {} };
        timeout(FAREWELL, given_up).await.ok();
        self.parts.stores.close().await;
    }

    /// Scans all projects and starts a run for each outdated index.
    async fn look(
        self: &Arc<Self>,
        memory: &mut Memory,
        stop: &CancellationToken,
    ) -> Result<(), LookError> {
        let mounts = self.parts.mounts.clone();
        let folders = tokio::task::spawn_blocking(move || mounts.names(MOST_PROJECTS)).await??;
        let mounted = self.parts.stores.mounted(&folders, &self.parts.made_by);
        let mut mounted = mounted.await?;
        lost::mark(&self.parts, &mut mounted, &mut memory.seen).await;
        for project_key in memory.begin(&mut mounted) {
            self.count(project_key, memory);
        }
        for project in mounted {
            let (project_key, tenant) = (project.project_key, project.project_key.tenant);
            // After one project had to wait, no other of its tenant starts in this scan.
            if !memory.is_free(project_key) || memory.waiting.contains(&tenant) {
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
                memory.run(project_key, yields, run.in_current_span());
            } else if due == Due::Documents {
                memory.wait(tenant);
                if !memory.has_room() {
                    break;
                }
            }
        }
        self.parts.metrics.unreadable(memory.unreadable());
        Ok(())
    }

    /// What a project needs. Documents: if chunks are lost, or the index is not of HEAD's commit or not
    /// by the present path rules (files that they opened are missing from it). Vectors: if only those
    /// are missing and the embedder is available.
    async fn due(&self, project: &MountedProject, memory: &mut Memory) -> Result<Due, LookError> {
        let (Some(indexed), Some(rules)) = (&project.indexed, &project.rules) else {
            return Ok(Due::Documents);
        };
        if memory.is_lost(project.project_key) {
            return Ok(Due::Documents);
        }
        let (repos, rules) = (Arc::clone(&self.parts.repos), Arc::clone(rules));
        let (tenant, slug) = (project.tenant.clone(), project.project.clone());
        let look = move || repos.head_and_rules(&tenant, &slug, &rules);
        let mut look = tokio::task::spawn_blocking(look);
        let Ok(looked) = timeout(FOLDER, &mut look).await else {
            memory.stuck(project.project_key, look);
            return Ok(Due::Nothing);
        };
        // A call to the project reports the error; the index stays as it is.
        let (head, rules) = match looked? {
            Ok(standing) => standing,
            Err(error) => {
                memory.not_read(project.project_key, &error);
                return Ok(Due::Nothing);
            }
        };
        memory.read(project.project_key);
        let is_other = head.map(|head| head.commit) != *indexed
            || project.rules_fingerprint != Some(rules.fingerprint());
        Ok(if project.is_requested || is_other {
            Due::Documents
        } else if project.lacks_vectors
            && memory.may_ask_for_vectors(project.project_key)
            && !self.parts.embedder.is_unavailable()
        {
            Due::Vectors
        } else {
            Due::Nothing
        })
    }

    /// Starts counting a project's chunks. If some are lost, the run that follows counts them again,
    /// under its lease.
    fn count(self: &Arc<Self>, project_key: ProjectKey, memory: &mut Memory) {
        let indexer = Arc::clone(self);
        let count = async move { (project_key, indexer.is_lost(project_key).await) };
        memory.counts.spawn(count.in_current_span());
    }

    /// Whether chunks of a project's index are missing.
    async fn is_lost(&self, project_key: ProjectKey) -> bool {
        let counted = async {
            let store = self.parts.stores.tenant(project_key.tenant);
            match store
                .index(project_key.project, &self.parts.made_by)
                .await?
            {
                Some(row) => lost::is_lost(&self.parts, project_key, row.id).await,
                None => Ok(false),
            }
        };
        let told = |error: &RunError| {
            tracing::debug!(project = %project_key.project, error = %Chain(error), "could not count chunks");
        };
        // If Postgres or the store is unavailable, the project's next turn counts again.
        counted.await.inspect_err(told).unwrap_or(false)
    }

    /// Completes a project's index, unless another worker does. Makes no more vectors once `yields` is
    /// cancelled.
    async fn make(
        &self,
        project: &MountedProject,
        ends: CancellationToken,
        yields: CancellationToken,
    ) -> Result<(), RunError> {
        let project_key = project.project_key;
        let store = self.parts.stores.tenant(project_key.tenant);
        // A new holder for each run, so that work left over from an earlier run is not mistaken for
        // this one's.
        let taken = store.acquire_lease(project_key.project, &self.parts.made_by, Uuid::now_v7());
        let lease = taken.await?.ok_or(RunError::Held)?;
        let started = Instant::now();
        let _under_way = self.parts.metrics.under_way();
        let stop = CancellationToken::new();
        let progress = Progress::default();
        let run = Run::new(self, project, lease, &progress, (stop.clone(), yields));
        let ran = tokio::select! {
            ran = run.finish().boxed() => ran,
            () = self.keep(lease, &progress).boxed() => Err(RunError::Lost),
            () = ends.cancelled() => Err(RunError::Ended),
        };
        // The thread then stops working for this run.
        stop.cancel();
        let how = match &ran {
            Ok(()) => Ran::Whole,
            Err(RunError::Lost) => Ran::Lost,
            Err(RunError::Ended) => Ran::Ended,
            Err(_told) => Ran::Failed,
        };
        self.parts.metrics.ran(how, started.elapsed());
        let failed = ran.as_ref().err();
        let failed = failed.filter(|error| !matches!(error, RunError::Ended));
        let failure = failed.map(ToString::to_string);
        store.release_lease(lease, failure.as_deref()).await?;
        ran
    }

    /// Renews the lease until it is lost.
    async fn keep(&self, lease: Lease, progress: &Progress) {
        let store = self.parts.stores.tenant(lease.project_key.tenant);
        let mut lost_at = lease.taken + LEASE;
        loop {
            tokio::time::sleep(LEASE / 5).await;
            let (done, total) = progress.read();
            // The lease starts when Postgres receives the renewal, so count from before.
            let said = Instant::now();
            let kept = store.renew_lease(lease, done, total);
            match tokio::time::timeout_at(lost_at, kept).await {
                Ok(Ok(true)) => lost_at = said + LEASE,
                // Postgres may recover before the lease ends.
                Ok(Err(_away)) if Instant::now() < lost_at => {}
                Ok(_) | Err(_) => return,
            }
        }
    }
}

/// What a project needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    Nothing,
    /// Only vectors are missing; words alone rank the project.
    Vectors,
    Documents,
}

/// Why a scan failed; only logged.
type LookError = Box<dyn std::error::Error + Send + Sync>;
