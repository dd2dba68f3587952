//! Word of which projects this worker sees, so that `archway project list` can say who does.
//!
//! Beside the path of calls: every 5 s the folders are listed on a blocking thread and told to
//! Postgres, and at the end they are taken back. All are told each time, since a folder may have been
//! there before its project was added; Postgres writes only what is new, or half a minute old.
//! Nothing depends on it: a report that fails is logged once, until one succeeds again.

use archway_proto::chain::Chain;
use tokio::time::{Duration, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use archway_repo::Mounts;
use archway_store::Stores;

/// Within this time a new folder is known.
const INTERVAL: Duration = Duration::from_secs(5);
/// How many projects one worker reports.
const MOST_PROJECTS: usize = 10_000;

/// Who reports what to whom.
pub(crate) struct Reporter {
    pub(crate) name: String,
    /// Tells it from others of its name, and stays the same when it starts again.
    pub(crate) instance: String,
    pub(crate) pool: String,
    pub(crate) mounts: Mounts,
    pub(crate) stores: Stores,
}

impl Reporter {
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
            // A file system that hangs holds up the next report, and nothing else.
            let reported = tokio::select! {
                () = stop.cancelled() => break,
                reported = self.report() => reported,
            };
            if let (Err(error), false) = (&reported, failing) {
                tracing::warn!(error = %Chain(&**error), "mounted projects were not reported");
            }
            failing = reported.is_err();
        }
        if let Err(error) = self.tell(&[]).await {
            tracing::debug!(error = %Chain(&*error), "the last report was not taken back");
        }
    }

    async fn report(&self) -> Result<(), ReportError> {
        let mounts = self.mounts.clone();
        let listed = tokio::task::spawn_blocking(move || mounts.names(MOST_PROJECTS));
        self.tell(&listed.await??).await
    }

    async fn tell(&self, folders: &[(String, String)]) -> Result<(), ReportError> {
        let (name, instance) = (&self.name, &self.instance);
        let told = self
            .stores
            .report_mounts(name, instance, &self.pool, folders);
        Ok(told.await?)
    }
}

/// Why a report was not made: nobody acts on which, so it is only ever shown.
type ReportError = Box<dyn std::error::Error + Send + Sync>;
