//! The times of the documents' last changes, read from history within a time limit.
//!
//! A file's modification time is the time of its checkout, which for most mounts is when the worker
//! fetched it. So it is used only in a project without commits.

use std::collections::HashMap;
use std::sync::OnceLock;

use archway_history::{Histories, History, HistoryError};
use archway_proto::chain::Chain;
use archway_repo::{Cancel, Repo, RepoPath};
use jiff::Timestamp;
use tokio::time::Duration;

use super::Library;
use crate::document::Document;

/// The time limit for reading history, once per commit of HEAD. Listing documents must be fast, and
/// recent changes are found first.
const HISTORY_TIMEOUT: Duration = Duration::from_millis(100);

/// The computed change times.
#[derive(Debug, Default)]
pub(super) struct ChangeTimes(OnceLock<HashMap<RepoPath, Timestamp>>);

impl Library {
    /// The time of a document's last change. `None` if history did not yield it in time.
    pub fn last_changed(
        &self,
        document: &Document,
        repo: &Repo,
        (histories, cancel): (&Histories, &Cancel),
    ) -> Option<Timestamp> {
        if repo.commit().is_none() {
            return document.modified;
        }
        let changes = &self.changes.0;
        if changes.get().is_none() {
            let times = self.read_history(repo, histories, cancel).unwrap_or_else(|error| {
                tracing::debug!(error = %Chain(&error), "change times of documents could not be read");
                HashMap::new()
            });
            // A cancelled search says nothing about the documents.
            cancel.check().ok()?;
            // A concurrent call may have stored the same result first.
            _ = changes.set(times);
        }
        changes.get()?.get(&document.path).copied()
    }

    fn read_history(
        &self,
        repo: &Repo,
        histories: &Histories,
        cancel: &Cancel,
    ) -> Result<HashMap<RepoPath, Timestamp>, HistoryError> {
        let history = History::of(repo, histories, cancel)?;
        let documents = self.documents.iter();
        let files: Vec<_> = documents.map(|it| (&it.path, it.blob)).collect();
        let changes = history.last_changes(&files, HISTORY_TIMEOUT, cancel)?;
        let changes = files.into_iter().zip(changes);
        let changes = changes.filter_map(|((path, _), change)| {
            let time = Timestamp::from_second(change?.time).ok()?;
            Some((path.clone(), time))
        });
        Ok(changes.collect())
    }
}
