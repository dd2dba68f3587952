//! Saves the cursors of a log, and finds them again.

use std::sync::Arc;

use archway_repo::{Cancel, RepoPath};
use gix::ObjectId;

use super::super::cursor::{LogCursor, SAVED_ONLY};
use super::super::{AnswerKey, History, HistoryError};
use super::query::LogQuery;

impl History {
    /// The text of a cursor of this log, of at most 52 bytes. The whole cursor stays in the cache.
    pub fn save_cursor(&self, query: &LogQuery, cursor: LogCursor) -> String {
        let text = cursor.text();
        let (key, cursor) = (key(query, &text), Arc::new(cursor));
        self.cache().insert(&key, cursor);
        text
    }

    /// The cursor of a text; `None` if it is malformed.
    ///
    /// # Errors
    /// [`HistoryError::CursorExpired`] if its commits are no longer served, or it named a saved position that is gone.
    pub fn find_cursor(
        &self,
        query: &LogQuery,
        text: &str,
        cancel: &Cancel,
    ) -> Result<Option<LogCursor>, HistoryError> {
        if let Some(saved) = self.cache().get::<LogCursor>(&key(query, text)) {
            return Ok(Some(LogCursor::clone(&saved)));
        }
        if text.starts_with(SAVED_ONLY) {
            return Err(HistoryError::CursorExpired);
        }
        let Some((ids, mut cursor)) = LogCursor::parse(text) else {
            return Ok(None);
        };
        let resolve = |id: &String| {
            let found = self.resolve(id, cancel);
            found.map_err(|error| match error {
                HistoryError::RevisionNotFound { .. } | HistoryError::Ambiguous { .. } => {
                    HistoryError::CursorExpired
                }
                other => other,
            })
        };
        let ids: Vec<ObjectId> = ids.iter().map(resolve).collect::<Result<_, _>>()?;
        cursor.from = ids.iter().take(1).copied().collect();
        cursor.excluded = ids.iter().skip(1).copied().collect();
        Ok(Some(cursor))
    }
}

/// Where a cursor's text leads to in the cache.
fn key(query: &LogQuery, text: &str) -> AnswerKey {
    let filters = (&query.author, &query.grep, &query.changed);
    AnswerKey {
        commit: ObjectId::null(gix::hash::Kind::Sha1),
        path: query.path.clone().unwrap_or_else(RepoPath::root),
        detail: format!("{text} {filters:?}"),
    }
}
