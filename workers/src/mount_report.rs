//! Reports to Postgres which projects are mounted, for `archway project list`.
//!
//! This is outside the path of calls: every 5 s the folders are listed on a blocking thread. They are
//! reported when they change, when a project was added, and once a minute; in between the worker only
//! says that it is there. At shutdown the report is cleared. Nothing depends on a report: failures are
//! logged once, until one succeeds again.

use archway_proto::chain::Chain;
use archway_repo::{FolderList, Mounts};
use archway_store::Stores;
use tokio::time::{Duration, Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

/// Folders that one worker indexes and reports, at most.
pub(crate) const MAX_FOLDERS: usize = 200_000;
/// Maximum delay until a new folder is reported, and the interval of signs of life.
const INTERVAL: Duration = Duration::from_secs(5);
/// All folders are reported this often: a removed project may have been added again.
const FULL_INTERVAL: Duration = Duration::from_secs(60);

/// Reports the mounted projects of one worker.
pub(crate) struct MountReporter {
    pub(crate) name: String,
    /// Distinguishes workers of the same name. It stays the same after a restart.
    pub(crate) instance: String,
    pub(crate) pool: String,
    pub(crate) mounts: Mounts,
    pub(crate) stores: Stores,
}

/// The reporter's state between reports.
struct ReporterState {
    /// `None` if a refresh panicked.
    folders: Option<FolderList>,
    /// When all folders were reported. `None` if they have changed since.
    reported: Option<Instant>,
}

impl MountReporter {
    /// Reports until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut failing = false;
        let mut state = ReporterState {
            folders: None,
            reported: None,
        };
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = ticks.tick() => {}
            }
            // A file system that hangs delays only the next report.
            let reported = tokio::select! {
                () = stop.cancelled() => break,
                reported = self.report(&mut state) => reported,
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

    async fn report(&self, state: &mut ReporterState) -> Result<(), ReportError> {
        let new = || FolderList::new(self.mounts.clone(), MAX_FOLDERS);
        let mut folders = state.folders.take().unwrap_or_else(new);
        let refresh = move || {
            let refreshed = folders.refresh();
            (folders, refreshed)
        };
        let (folders, refreshed) = tokio::task::spawn_blocking(refresh).await?;
        let folders = state.folders.insert(folders);
        if refreshed? {
            state.reported = None;
        }
        let is_recent = state
            .reported
            .is_some_and(|at| at.elapsed() < FULL_INTERVAL);
        if is_recent && !self.stores.worker_lives(&self.name, &self.instance).await? {
            return Ok(());
        }
        let names = folders.names();
        let names: Vec<_> = names.map(|(t, p)| (t.to_owned(), p.to_owned())).collect();
        self.send(&names).await?;
        state.reported = Some(Instant::now());
        Ok(())
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
