//! Resolves a log query: names to commits, dates to seconds, and a path to a file or folder.

use archway_repo::{Cancel, Kind, RepoPath};
use gix::ObjectId;
use jiff::Timestamp;

use super::Log;
use super::filter::CommitFilter;
use crate::cursor::LogCursor;
use crate::date::{self, SpanEnd};
use crate::path_limiter::PathLimiter;
use crate::{History, HistoryError};

/// The parameters of a log.
#[derive(Clone, Debug)]
pub struct LogQuery {
    /// A file or folder. All commits without one.
    pub path: Option<RepoPath>,
    /// A date, or a commit whose history is excluded.
    pub since: Option<String>,
    /// A date, or a commit that reaches everything listed.
    pub until: Option<String>,
    /// A part of the author's `Name <email>`, in any case.
    pub author: Option<String>,
    /// A regular expression that a line of the message matches, in any case.
    pub grep: Option<String>,
    /// A text that the commit adds or removes.
    pub changed: Option<String>,
    /// Where the log begins. Defaults to HEAD.
    pub revision: Option<String>,
    /// The time that dates such as "30 days ago" refer to.
    pub now: Timestamp,
}

impl History {
    /// A log, from its beginning or from a cursor.
    ///
    /// # Errors
    /// If a revision names nothing, the path is blocked, or a commit can't be read.
    pub fn log(
        &self,
        query: &LogQuery,
        cursor: Option<LogCursor>,
        cancel: &Cancel,
    ) -> Result<Log<'_>, HistoryError> {
        if let Some(path) = &query.path {
            self.rules.admit(path, path, Kind::Directory)?;
        }
        let mut cursor = match cursor {
            Some(cursor) => self.check_cursor(cursor, cancel)?,
            None => self.first_cursor(query, cancel)?,
        };
        let (path, is_folder) = match &query.path {
            Some(path) => self.resolve_path(path, &cursor)?,
            None => (None, None),
        };
        if let (Some(path), None | Some(false)) = (&path, is_folder) {
            self.rules.admit(path, path, Kind::File)?;
        }
        cursor.is_folder = is_folder;
        Log::new(self, cursor, path, CommitFilter::of(query)?, cancel)
    }

    /// The position where a log begins: names and dates resolved as of now.
    fn first_cursor(&self, query: &LogQuery, cancel: &Cancel) -> Result<LogCursor, HistoryError> {
        let head = || Ok(self.head());
        let resolve = |revision: &str| self.resolve(revision, cancel);
        let named = query.revision.as_deref().map(resolve);
        let start = named.map_or_else(head, |id| id.map(Some))?;
        let mut cursor = LogCursor {
            from: start.into_iter().collect(),
            excluded: Vec::new(),
            since: None,
            until: None,
            returned: 0,
            is_folder: None,
            walk: None,
            name: None,
            last: None,
        };
        if let Some(since) = &query.since {
            cursor.since = date::parse_bound(since, SpanEnd::Since, query.now);
            if cursor.since.is_none() {
                cursor.excluded.push(resolve(since).map_err(invalid_bound)?);
            }
        }
        if let Some(until) = &query.until {
            cursor.until = date::parse_bound(until, SpanEnd::Until, query.now);
            if let (None, Some(start)) = (cursor.until, start) {
                let until = resolve(until).map_err(invalid_bound)?;
                cursor.from = self.merge_bases(start, until, cancel)?;
            }
        }
        Ok(cursor)
    }

    /// Checks that the cursor's commits are still served.
    fn check_cursor(&self, cursor: LogCursor, cancel: &Cancel) -> Result<LogCursor, HistoryError> {
        for id in cursor.from.iter().chain(&cursor.excluded) {
            let resolved = self.resolve(&id.to_hex().to_string(), cancel);
            resolved.map_err(|error| match error {
                HistoryError::RevisionNotFound { .. } => HistoryError::CursorExpired,
                other => other,
            })?;
        }
        Ok(cursor)
    }

    /// Resolves the path as the repository spells it, and whether it is a folder, if that is known.
    ///
    /// Names that are not UTF-8 are shown with `\xNN`. Text with such escapes means that name,
    /// unless the starting commit has an entry spelled like the text itself.
    fn resolve_path(
        &self,
        path: &RepoPath,
        cursor: &LogCursor,
    ) -> Result<(Option<RepoPath>, Option<bool>), HistoryError> {
        let kind = self.kind_at(path, &cursor.from)?;
        let (path, kind) = match (kind, path.unescaped()) {
            (None, Some(other)) => {
                self.rules.admit(&other, path, Kind::Directory)?;
                let kind = self.kind_at(&other, &cursor.from)?;
                (other, kind)
            }
            _ => (path.clone(), kind),
        };
        Ok((Some(path), cursor.is_folder.or(kind)))
    }

    /// Whether the path is a folder in one of these commits. `None` if none has it.
    fn kind_at(&self, path: &RepoPath, commits: &[ObjectId]) -> Result<Option<bool>, HistoryError> {
        let mut limiter = PathLimiter::of(path.clone());
        for &id in commits {
            let tree = self.walk_node(self.commit_key(id))?.tree;
            if let (_, Some(side)) = limiter.sides(self, None, Some(tree))? {
                return Ok(Some(side.mode.is_tree()));
            }
        }
        Ok(None)
    }
}

/// Converts the error of a bound that is not a date: it is not a revision either.
fn invalid_bound(error: HistoryError) -> HistoryError {
    let (text, reason, hint) = match error {
        HistoryError::RevisionNotFound { revision, hint } => (revision, None, hint),
        HistoryError::InvalidRevision { revision, reason } => (revision, Some(reason), None),
        other => return other,
    };
    HistoryError::InvalidBound { text, reason, hint }
}
