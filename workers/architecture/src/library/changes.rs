//! When documents were last changed: by the commits that did it, as far as that is found soon.
//!
//! A file's own time is that of its checkout, which for most mounts is when the worker got it. So it
//! is told only where nothing is committed.

use std::collections::HashMap;
use std::sync::OnceLock;

use archway_history::{Histories, History, HistoryError};
use archway_proto::chain::Chain;
use archway_repo::{Cancel, Repo, RepoPath};
use jiff::Timestamp;
use tokio::time::{Duration, Instant};

use super::Library;
use crate::document::Document;

/// How long history is asked, once a commit of HEAD: a list of documents has to come soon, and what
/// is not found by then was changed long ago.
const PATIENCE: Duration = Duration::from_millis(100);

/// What was found out, once it was asked for.
#[derive(Debug, Default)]
pub(super) struct Changes(OnceLock<HashMap<RepoPath, Timestamp>>);

impl Library {
    /// When a document was last changed, if that is known, or found out soon.
    pub fn changed(
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
            let found = self.found(repo, histories, cancel).unwrap_or_else(|error| {
                tracing::debug!(error = %Chain(&error), "when documents were changed is not told");
                HashMap::new()
            });
            // What was cut short says nothing of the documents.
            cancel.check().ok()?;
            // Another call may have been first, with the same.
            _ = changes.set(found);
        }
        changes.get()?.get(&document.path).copied()
    }

    fn found(
        &self,
        repo: &Repo,
        histories: &Histories,
        cancel: &Cancel,
    ) -> Result<HashMap<RepoPath, Timestamp>, HistoryError> {
        let history = History::of(repo, histories, cancel)?;
        let until = cancel.deadline.min(Instant::now() + PATIENCE);
        let soon = Cancel::new(until, cancel.token.clone());
        let documents = self.documents.iter();
        let files: Vec<_> = documents.map(|it| (&it.path, it.blob)).collect();
        let changes = history.last_changes(&files, &soon)?;
        let changes = files.into_iter().zip(changes);
        let changes = changes.filter_map(|((path, _), seconds)| {
            let time = Timestamp::from_second(seconds?).ok()?;
            Some((path.clone(), time))
        });
        Ok(changes.collect())
    }
}
