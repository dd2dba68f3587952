//! Reports to Postgres which projects are mounted, for `archway project list`.
//!
//! This is outside the path of calls: every 5 s the folders are listed on a blocking thread and
//! reported, and at shutdown the report is cleared. Each report has all folders, since a folder may
//! be older than its project. Postgres writes only those that are new, or reported over half a
//! minute ago. Nothing depends on a report: failures are logged once, until one succeeds again.

use archway_proto::chain::Chain;
use tokio::time::{Duration, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use archway_repo::Mounts;
use archway_store::Stores;

/// Maximum delay until a new folder is reported.
const INTERVAL: Duration = Duration::from_secs(5);
/// Maximum number of projects that one worker reports.
const MOST_PROJECTS: usize = 10_000;

/// Reports the mounted projects of one worker.
pub(crate) struct MountReporter {
    pub(crate) name: String,
    /// Distinguishes workers of the same name. It stays the same after a restart.
    pub(crate) instance: String,
    pub(crate) pool: String,
    pub(crate) mounts: Mounts,
    pub(crate) stores: Stores,
}

impl MountReporter {
    /// Reports until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut failing = false;
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = ticks.tick() => {}
            }
            // A file system that hangs delays only the next report.
            let reported = tokio::select! {
                () = stop.cancelled() => break,
                reported = self.report() => reported,
            };
            if let (Err(error), false) = (&reported, failing) {
                tracing::warn!(error = %Chain(&**error), "mounted projects were not reported");
            }
            failing = reported.is_err();
        }
        if let Err(error) = self.send(&[]).await {
            tracing::debug!(error = %Chain(&*error), "the report of mounted projects was not cleared");
        }
    }

    async fn report(&self) -> Result<(), ReportError> {
        let mounts = self.mounts.clone();
        let listed = tokio::task::spawn_blocking(move || mounts.names(MOST_PROJECTS));
        self.send(&listed.await??).await
    }

    async fn send(&self, folders: &[(String, String)]) -> Result<(), ReportError> {
        let (name, instance) = (&self.name, &self.instance);
        let sent = self
            .stores
            .report_mounts(name, instance, &self.pool, folders);
        Ok(sent.await?)
    }
}

/// Why a report failed. It is only logged.
type ReportError = Box<dyn std::error::Error + Send + Sync>;
