//! Keeps the indexes of this worker's projects up to date, off the path of calls.
//!
//! Every two seconds a [`scan`] looks at the projects that are due: used ones often, quiet ones seldom,
//! each by a few `stat` calls. Notifications and calls signal changes in between. An outdated index is
//! leased, by one worker at a time, and completed by a [`run`]. One thread of low priority does all
//! work on texts, one project after the other.

mod parts;
mod schedule;
mod folders;
mod project_entry;
mod project_table;
mod looks;
mod chunk_loss;
mod backoffs;
mod run_queue;
mod state;
mod scan;
mod lease;
mod run;

use std::sync::Arc;

use archway_proto::chain::Chain;
use archway_repo::RepoError;
use tokio::time::{Duration, Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::change_listener::ChangeListener;
use super::signals::ProjectSignals;
use super::thread::WorkThread;
use looks::{LookFunction, looking_at};
pub use parts::IndexerParts;
use schedule::ScanSchedule;
use state::IndexerState;

/// How long cancelled runs may take to release their leases.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

/// Completes outdated indexes.
pub struct Indexer {
    pub(super) parts: IndexerParts,
    signals: Arc<ProjectSignals>,
    /// Cuts and reads texts.
    pub(super) thread: WorkThread,
    look: LookFunction,
}

impl Indexer {
    /// Starts the indexing thread, confined if the calling thread is. `signals` say which projects
    /// changed.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn new(parts: IndexerParts, signals: Arc<ProjectSignals>) -> Result<Indexer, RepoError> {
        let thread = WorkThread::start()?;
        parts.metrics.indexing();
        Ok(Indexer {
            look: looking_at(Arc::clone(&parts.repos)),
            thread,
            parts,
            signals,
        })
    }

    /// Indexes until `stop` is cancelled. Runs in flight are then abandoned: their uploaded texts remain,
    /// and the next run continues from them, on any worker.
    pub async fn run(self: Arc<Self>, stop: CancellationToken) {
        let (stores, signals) = (self.parts.stores.clone(), Arc::clone(&self.signals));
        let (listener, is_notified) = ChangeListener::new(stores, signals);
        let listening = tokio::spawn(listener.run(stop.clone()));
        let mut clock = ScanSchedule::start();
        let mut state = IndexerState::new(&self.parts, is_notified);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                () = sleep_until(clock.next()) => {}
                () = self.signals.wait() => {
                    let running = |key| state.queue.is_running(key);
                    if state.table.apply(&self.signals.take(), running) {
                        clock.wake();
                    }
                    continue;
                }
                Some((project_key, ended)) = state.queue.join_next() => {
                    state.run_ended(project_key, ended);
                    self.start_runs(&mut state, &stop);
                    // The next scan reads the rows of ended runs. It need not be now while others run.
                    if state.queue.is_idle() {
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
            let scanned = stop.run_until_cancelled(self.scan_and_start(&mut state, &stop));
            if scanned.await.is_none() {
                break;
            }
            clock.scanned(started);
        }
        let given_up = async { while state.queue.join_next().await.is_some() {} };
        timeout(RELEASE_TIMEOUT, given_up).await.ok();
        listening.await.ok();
        self.parts.stores.close().await;
    }

    /// Scans, and starts runs of what was found. An outage is logged once.
    async fn scan_and_start(self: &Arc<Self>, state: &mut IndexerState, stop: &CancellationToken) {
        match self.scan(state).await {
            Ok(()) => {
                state.is_away = false;
                self.parts.metrics.scanned();
                self.start_runs(state, stop);
            }
            Err(error) => {
                if !state.is_away {
                    tracing::warn!(error = %Chain(&*error), "projects could not be scanned");
                }
                state.is_away = true;
            }
        }
    }

    /// Starts runs while there are free slots.
    fn start_runs(self: &Arc<Self>, state: &mut IndexerState, stop: &CancellationToken) {
        while let Some(project_key) = state.queue.next() {
            let Some(project) = state.table.row(project_key).cloned() else {
                continue;
            };
            state.lost.remove(&project_key);
            let (indexer, stop, yields) =
                (Arc::clone(self), stop.clone(), CancellationToken::new());
            let run_yields = yields.clone();
            let run = async move { indexer.complete(&project, stop, run_yields).await };
            state.queue.start(project_key, yields, run);
        }
    }
}
