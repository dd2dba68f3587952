//! A run under its lease: acquired before, renewed while it runs, released after.

use archway_repo::Look;
use archway_store::{LEASE, Lease, MountedProject};
use futures::FutureExt as _;
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::Indexer;
use super::run::{Progress, Run, RunError};
use crate::metrics::RunOutcome;

/// How long an index is left as it is after its last run began, unless the repository changed: what is
/// written to memory meanwhile is indexed by one run.
const REST: Duration = Duration::from_secs(2);

impl Indexer {
    /// Completes a project's index, unless another worker does. Makes no more vectors once `yields` is
    /// cancelled. Returns the state of the repository that the index is of.
    pub(super) async fn complete(
        &self,
        project: &MountedProject,
        ends: CancellationToken,
        yields: CancellationToken,
    ) -> Result<Look, RunError> {
        let project_key = project.project_key;
        let store = self.parts.stores.tenant(project_key.tenant);
        // A new holder for each run, so that work left over from an earlier run is not mistaken for
        // this one's.
        let holder = Uuid::now_v7();
        let rest = match project.is_requested {
            true => REST,
            false => Duration::ZERO,
        };
        let taken = store.acquire_lease(project_key.project, &self.parts.made_by, (holder, rest));
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
            Ok(_) => RunOutcome::Complete,
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
