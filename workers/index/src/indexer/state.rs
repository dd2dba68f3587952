//! The indexer's state between scans.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use archway_proto::chain::Chain;
use archway_repo::{Look, RepoError};
use archway_store::ProjectKey;
use tokio::task::{JoinError, JoinSet};

use super::IndexerParts;
use super::backoffs::Backoffs;
use super::chunk_loss::{CountTurns, StorePresence};
use super::folders::Folders;
use super::looks::{LookOutcome, Looks};
use super::project_entry::Work;
use super::project_table::ProjectTable;
use super::run::RunError;
use super::run_queue::RunQueue;

/// State between two scans.
pub(super) struct IndexerState {
    pub(super) folders: Folders,
    /// Whether Postgres notifies of changes at the moment.
    pub(super) is_notified: Arc<AtomicBool>,
    pub(super) table: ProjectTable,
    pub(super) looks: Looks,
    pub(super) queue: RunQueue,
    pub(super) backoffs: Backoffs,
    /// Whether the store was missing.
    pub(super) store_presence: StorePresence,
    /// When projects are counted.
    pub(super) count_turns: CountTurns,
    /// Counts in progress; they return whether chunks are lost.
    pub(super) counts: JoinSet<(ProjectKey, bool)>,
    /// Projects whose chunks are known to be lost.
    pub(super) lost: HashSet<ProjectKey>,
    /// Projects that could not be read by their last look.
    unreadable: HashSet<ProjectKey>,
    /// Whether the last scan failed: an outage is logged once.
    pub(super) is_away: bool,
    /// Whether folders beyond the limit were reported.
    pub(super) is_limit_reported: bool,
}

impl IndexerState {
    pub(super) fn new(parts: &IndexerParts, is_notified: Arc<AtomicBool>) -> IndexerState {
        IndexerState {
            folders: Folders::new(parts.mounts.clone(), parts.max_folders),
            is_notified,
            table: ProjectTable::default(),
            looks: Looks::default(),
            queue: RunQueue::default(),
            backoffs: Backoffs::default(),
            store_presence: StorePresence::default(),
            count_turns: CountTurns::default(),
            counts: JoinSet::new(),
            lost: HashSet::new(),
            unreadable: HashSet::new(),
            is_away: false,
            is_limit_reported: false,
        }
    }

    /// Forgets projects that are no longer mounted.
    pub(super) fn forget_removed(&mut self) {
        let table = &self.table;
        self.backoffs.retain(|key| table.contains(key));
        self.queue.retain(|key| table.contains(key));
        self.lost.retain(|key| table.contains(*key));
        self.unreadable.retain(|key| table.contains(*key));
        self.count_turns.set_projects(table.keys());
    }

    /// Replaces the projects that wait for a run. Without an embedder none waits for vectors.
    pub(super) fn fill_queue(&mut self, has_embedder: bool) {
        let (table, looks) = (&self.table, &self.looks);
        let (lost, backoffs) = (&self.lost, &self.backoffs);
        let waiting = table.waiting(|key| lost.contains(&key));
        self.queue.set_waiting(waiting.filter(|(key, work)| {
            let is_possible = *work == Work::Documents || has_embedder;
            let responds = !looks.would_hang(*key, table.device(*key));
            is_possible && responds && backoffs.may_run(*key, *work)
        }));
    }

    /// Records the outcome of a look.
    pub(super) fn looked(&mut self, project_key: ProjectKey, outcome: LookOutcome) {
        match outcome {
            LookOutcome::Seen(look) => {
                self.unreadable.remove(&project_key);
                self.table.looked(project_key, look);
            }
            LookOutcome::Stuck => {
                self.unreadable.insert(project_key);
                self.table.unreadable(project_key, true);
            }
            LookOutcome::Failed(error) => {
                self.mark_unreadable(project_key, &error);
                self.table.unreadable(project_key, false);
            }
        }
    }

    /// Records that a project cannot be read; logged once until it can.
    fn mark_unreadable(&mut self, project_key: ProjectKey, error: &RepoError) {
        if self.unreadable.insert(project_key) {
            tracing::warn!(
                project = %project_key.project, error = %Chain(error),
                "a project can't be read; its index stays as it is"
            );
        }
    }

    /// Number of projects that cannot be read.
    pub(super) fn unreadable(&self) -> usize {
        self.unreadable.len()
    }

    /// Records the result of a count.
    pub(super) fn count_ended(&mut self, counted: Result<(ProjectKey, bool), JoinError>) {
        match counted {
            Ok((project_key, true)) => _ = self.lost.insert(project_key),
            Ok((_, false)) => {}
            Err(panicked) => tracing::error!(error = %panicked, "counting chunks panicked"),
        }
    }

    /// Records the end of a run. The row that it wrote has to be read before the next one.
    pub(super) fn run_ended(
        &mut self,
        project_key: ProjectKey,
        ended: Result<Result<Look, RunError>, JoinError>,
    ) {
        self.table.mark_outdated(project_key);
        match ended {
            Ok(Ok(look)) => {
                self.backoffs.run_completed(project_key);
                self.table.looked(project_key, Some(look));
            }
            Ok(Err(error)) => self.backoffs.run_failed(project_key, &error),
            Err(panicked) => self.backoffs.back_off_longer(project_key, &panicked),
        }
    }
}
