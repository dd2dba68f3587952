//! Keeps the indexes of this worker's projects up to date, off the path of calls.
//!
//! Every two seconds, each project's HEAD is compared with its indexed commit; a call that writes to
//! memory wakes the indexer at once. An outdated index is leased, by one worker at a time, and
//! completed by a [`run`]. One thread of low priority does all work on texts, one project after
//! the other.

mod parts;
mod schedule;
mod chunk_loss;
mod state;
mod run;

use std::mem;
use std::sync::Arc;

use archway_proto::chain::Chain;
use archway_repo::RepoError;
use archway_store::{LEASE, Lease, MountedProject, ProjectKey};
use futures::FutureExt as _;
use tokio::sync::Notify;
use tokio::time::{Duration, Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use uuid::Uuid;

use super::metrics::RunOutcome;
use super::thread::WorkThread;
pub use parts::IndexerParts;
use run::{Progress, Run, RunError};
use schedule::ScanSchedule;
use state::IndexerState;

/// Projects that one worker scans, at most.
const MAX_PROJECTS: usize = 10_000;
/// How long a scan waits for one project's folder.
const FOLDER_TIMEOUT: Duration = Duration::from_secs(1);
/// How long cancelled runs may take to release their leases.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

/// Completes outdated indexes.
pub struct Indexer {
    pub(super) parts: IndexerParts,
    wake: Arc<Notify>,
    /// Cuts and reads texts.
    pub(super) thread: WorkThread,
}

impl Indexer {
    /// Starts the indexing thread, confined if the calling thread is. A notification of `wake` starts
    /// a scan.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn new(parts: IndexerParts, wake: Arc<Notify>) -> Result<Indexer, RepoError> {
        let thread = WorkThread::start()?;
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
        let (mut clock, mut state) = (ScanSchedule::start(), IndexerState::default());
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                () = sleep_until(clock.next()) => {}
                () = self.wake.notified() => {
                    clock.wake();
                    continue;
                }
                Some(ended) = state.runs.join_next_with_id() => {
                    state.run_ended(ended);
                    if !mem::take(&mut state.waiting).is_empty() {
                        clock.wake();
                    }
                    continue;
                }
                Some(counted) = state.counts.join_next() => {
                    state.count_ended(counted);
                    continue;
                }
            }
            let started = Instant::now();
            let scanned = tokio::select! {
                () = stop.cancelled() => break,
                scanned = self.scan(&mut state, &stop) => scanned,
            };
            if let (Err(error), false) = (&scanned, state.is_away) {
                tracing::warn!(error = %Chain(&**error), "projects could not be scanned");
            }
            state.is_away = scanned.inspect(|()| self.parts.metrics.scanned()).is_err();
            clock.scanned(started);
        }
        let given_up = async { while state.runs.join_next().await.is_some() {} };
        timeout(RELEASE_TIMEOUT, given_up).await.ok();
        self.parts.stores.close().await;
    }

    /// Scans all projects and starts a run for each outdated index.
    async fn scan(
        self: &Arc<Self>,
        state: &mut IndexerState,
        stop: &CancellationToken,
    ) -> Result<(), ScanError> {
        let mounts = self.parts.mounts.clone();
        let folders = tokio::task::spawn_blocking(move || mounts.names(MAX_PROJECTS)).await??;
        let mounted = self.parts.stores.mounted(&folders, &self.parts.made_by);
        let mut mounted = mounted.await?;
        chunk_loss::mark_lost_indexes(&self.parts, &mut mounted, &mut state.store_presence).await;
        for project_key in state.begin_scan(&mut mounted) {
            self.count(project_key, state);
        }
        for project in mounted {
            let (project_key, tenant) = (project.project_key, project.project_key.tenant);
            // After one project had to wait, no other of its tenant starts in this scan.
            if !state.is_ready(project_key) || state.waiting.contains(&tenant) {
                continue;
            }
            let due = self.due_work(&project, state).await?;
            if due == Work::Nothing {
                continue;
            }
            if state.has_tenant_slot(tenant) {
                let (indexer, stop, yields) =
                    (Arc::clone(self), stop.clone(), CancellationToken::new());
                let run_yields = yields.clone();
                let run = async move { indexer.complete(&project, stop, run_yields).boxed().await };
                state.start_run(project_key, yields, run.in_current_span());
            } else if due == Work::Documents {
                state.queue_tenant(tenant);
                if !state.has_slot() {
                    break;
                }
            }
        }
        self.parts.metrics.unreadable(state.unreadable());
        Ok(())
    }

    /// Returns the work that a project needs. Documents: if chunks are lost, or if the index is not of
    /// HEAD's commit, or not by the present path rules (it lacks files that they opened). Vectors: if
    /// only those are missing and the embedder is available.
    async fn due_work(
        &self,
        project: &MountedProject,
        state: &mut IndexerState,
    ) -> Result<Work, ScanError> {
        let (Some(indexed), Some(rules)) = (&project.indexed, &project.rules) else {
            return Ok(Work::Documents);
        };
        if state.is_lost(project.project_key) {
            return Ok(Work::Documents);
        }
        let (repos, rules) = (Arc::clone(&self.parts.repos), Arc::clone(rules));
        let (tenant, slug) = (project.tenant.clone(), project.project.clone());
        let scan = move || repos.head_and_rules(&tenant, &slug, &rules);
        let mut scan = tokio::task::spawn_blocking(scan);
        let Ok(scanned) = timeout(FOLDER_TIMEOUT, &mut scan).await else {
            state.stuck(project.project_key, scan);
            return Ok(Work::Nothing);
        };
        let (head, rules) = match scanned? {
            Ok(standing) => standing,
            // A call to the project reports the error; the index stays as it is.
            Err(error) => {
                state.mark_unreadable(project.project_key, &error);
                return Ok(Work::Nothing);
            }
        };
        state.mark_read(project.project_key);
        let is_outdated = head.map(|head| head.commit) != *indexed
            || project.rules_fingerprint != Some(rules.fingerprint());
        Ok(if project.is_requested || is_outdated {
            Work::Documents
        } else if project.lacks_vectors
            && state.may_make_vectors(project.project_key)
            && !self.parts.embedder.is_unavailable()
        {
            Work::Vectors
        } else {
            Work::Nothing
        })
    }

    /// Starts counting a project's chunks. If some are lost, the run that follows counts them again,
    /// under its lease.
    fn count(self: &Arc<Self>, project_key: ProjectKey, state: &mut IndexerState) {
        let indexer = Arc::clone(self);
        let count = async move { (project_key, indexer.is_lost(project_key).await) };
        state.counts.spawn(count.in_current_span());
    }

    /// Whether chunks of a project's index are missing.
    async fn is_lost(&self, project_key: ProjectKey) -> bool {
        let counted = async {
            let store = self.parts.stores.tenant(project_key.tenant);
            let row = store.index(project_key.project, &self.parts.made_by);
            match row.await? {
                Some(row) => chunk_loss::is_lost(&self.parts, project_key, row.id).await,
                None => Ok(false),
            }
        };
        let log = |error: &RunError| {
            tracing::debug!(project = %project_key.project, error = %Chain(error), "could not count chunks");
        };
        // If Postgres or the store is unavailable, the project's next turn counts again.
        counted.await.inspect_err(log).unwrap_or(false)
    }

    /// Completes a project's index, unless another worker does. Makes no more vectors once `yields` is
    /// cancelled.
    async fn complete(
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
        let lease = taken.await?.ok_or(RunError::LeaseHeld)?;
        let started = Instant::now();
        let _under_way = self.parts.metrics.active_run();
        let stop = CancellationToken::new();
        let progress = Progress::default();
        let run = Run::new(self, project, lease, &progress, (stop.clone(), yields));
        let ran = tokio::select! {
            ran = run.finish().boxed() => ran,
            () = self.renew_lease(lease, &progress).boxed() => Err(RunError::LeaseLost),
            () = ends.cancelled() => Err(RunError::Stopped),
        };
        // The thread then stops working for this run.
        stop.cancel();
        let how = match &ran {
            Ok(()) => RunOutcome::Complete,
            Err(RunError::LeaseLost) => RunOutcome::LeaseLost,
            Err(RunError::Stopped) => RunOutcome::Stopped,
            Err(_reported) => RunOutcome::Failed,
        };
        self.parts.metrics.run_ended(how, started.elapsed());
        let is_failure = |error: &&RunError| !matches!(error, RunError::Stopped);
        let failure = ran
            .as_ref()
            .err()
            .filter(is_failure)
            .map(ToString::to_string);
        store.release_lease(lease, failure.as_deref()).await?;
        ran
    }

    /// Renews the lease until it is lost.
    async fn renew_lease(&self, lease: Lease, progress: &Progress) {
        let store = self.parts.stores.tenant(lease.project_key.tenant);
        let mut lost_at = lease.taken + LEASE;
        loop {
            tokio::time::sleep(LEASE / 5).await;
            let (done, total) = progress.read();
            // The lease starts when Postgres receives the renewal, so count from before.
            let renewed_at = Instant::now();
            let renewed = store.renew_lease(lease, done, total);
            match tokio::time::timeout_at(lost_at, renewed).await {
                Ok(Ok(true)) => lost_at = renewed_at + LEASE,
                // Postgres may recover before the lease ends.
                Ok(Err(_away)) if Instant::now() < lost_at => {}
                Ok(_) | Err(_) => return,
            }
        }
    }
}

/// The work that a project needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Nothing,
    /// Only vectors are missing; until they exist, words rank the project.
    Vectors,
    Documents,
}

/// Why a scan failed; only logged.
type ScanError = Box<dyn std::error::Error + Send + Sync>;
