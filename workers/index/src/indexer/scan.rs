//! One scan: reads what is due, and finds out which projects need a run.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use archway_proto::chain::Chain;
use archway_store::ProjectKey;
use tracing::Instrument as _;

use super::state::IndexerState;
use super::{Indexer, chunk_loss};

/// Rows that one query reads.
const ROWS_PER_QUERY: usize = 2_000;
/// Queries for rows of one scan.
const QUERIES_PER_SCAN: usize = 8;
/// Projects that one scan looks at, at most.
const LOOKS_PER_SCAN: usize = 20_000;

/// Why a scan failed; only logged.
pub(super) type ScanError = Box<dyn std::error::Error + Send + Sync>;

impl Indexer {
    /// Reads folders, rows and repositories that are due, and queues projects that need a run.
    pub(super) async fn scan(self: &Arc<Self>, state: &mut IndexerState) -> Result<(), ScanError> {
        let running = |key| state.queue.is_running(key);
        state.table.apply(&self.signals.take(), running);
        self.refresh_folders(state).await?;
        self.read_rows(state).await?;
        chunk_loss::mark_lost_indexes(&self.parts, &mut state.table, &mut state.store_presence)
            .await;
        let due = state.table.due_looks(LOOKS_PER_SCAN);
        for (project_key, outcome) in state.looks.look(&self.look, due).await {
            state.looked(project_key, outcome);
        }
        state.fill_queue(!self.parts.embedder.is_unavailable());
        state.queue.displace_vectors();
        self.start_counts(state);
        self.parts.metrics.unreadable(state.unreadable());
        Ok(())
    }

    /// Reads which folders are mounted.
    async fn refresh_folders(&self, state: &mut IndexerState) -> Result<(), ScanError> {
        let Some(list) = state.folders.refresh().await? else {
            return Ok(());
        };
        let beyond_limit = list.beyond_limit();
        state.table.set_folders(list.names());
        state.forget_removed();
        if beyond_limit > 0 && !state.is_limit_reported {
            tracing::warn!(
                limit = self.parts.max_folders,
                folders = beyond_limit,
                "more folders are mounted than a worker indexes: divide the tenants into pools"
            );
        }
        state.is_limit_reported = beyond_limit > 0;
        Ok(())
    }

    /// Reads the rows that are due.
    async fn read_rows(&self, state: &mut IndexerState) -> Result<(), ScanError> {
        let mut has_changed = false;
        for _ in 0..QUERIES_PER_SCAN {
            let due = state.table.due_rows(ROWS_PER_QUERY);
            if due.is_empty() {
                break;
            }
            // What changes after this is signalled, if notifications are received by now.
            let is_notified = state.is_notified.load(Ordering::Relaxed);
            let rows = self.parts.stores.mounted(&due, &self.parts.made_by).await?;
            has_changed |= state.table.rows_read(&due, rows, is_notified);
        }
        if has_changed {
            state.forget_removed();
        }
        Ok(())
    }

    /// Starts counting the chunks of projects whose turn it is. If some are lost, the run that follows
    /// counts them again, under its lease.
    fn start_counts(self: &Arc<Self>, state: &mut IndexerState) {
        for project_key in state.count_turns.begin() {
            // A run counts them, too.
            if state.lost.contains(&project_key) || state.queue.is_running(project_key) {
                continue;
            }
            let indexer = Arc::clone(self);
            let count = async move { (project_key, indexer.is_lost(project_key).await) };
            state.counts.spawn(count.in_current_span());
        }
    }

    /// Whether chunks of a project's index are missing.
    async fn is_lost(&self, project_key: ProjectKey) -> bool {
        let store = self.parts.stores.tenant(project_key.tenant);
        let rows = store
            .indexes(&[project_key.project], &self.parts.made_by)
            .await;
        match rows.map(|mut rows| rows.remove(&project_key.project)) {
            Ok(Some(row)) => {
                let recorded = u64::try_from(row.chunks).unwrap_or(0);
                chunk_loss::is_lost(&self.parts, project_key, recorded).await
            }
            Ok(None) => false,
            // The project's next turn counts again.
            Err(error) => {
                tracing::debug!(project = %project_key.project, error = %Chain(&error), "could not count chunks");
                false
            }
        }
    }
}
