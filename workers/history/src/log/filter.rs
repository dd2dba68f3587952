//! Which commits a log lists, by what they say and by what they change.

use archway_repo::SearchPattern;

use super::changed_text::ChangedText;
use super::query::LogQuery;
use crate::{CommitInfo, HistoryError};

/// The conditions of a query.
pub(super) struct CommitFilter {
    /// In lower case.
    author: Option<String>,
    message: Option<SearchPattern>,
    pub(super) changed: Option<ChangedText>,
}

impl CommitFilter {
    /// # Errors
    /// If the pattern for messages is no regular expression.
    pub(super) fn of(query: &LogQuery) -> Result<CommitFilter, HistoryError> {
        let message = query.grep.clone();
        let message = message.map(|pattern| SearchPattern::regex(pattern, false));
        if let Some(message) = &message {
            message.check()?;
        }
        Ok(CommitFilter {
            author: query.author.as_deref().map(str::to_lowercase),
            message,
            changed: query.changed.as_deref().map(ChangedText::of),
        })
    }

    /// Whether it has to be known what a commit says.
    pub(super) fn reads_commits(&self) -> bool {
        self.author.is_some() || self.message.is_some()
    }

    /// Whether author and message match.
    pub(super) fn admits(&self, commit_info: &CommitInfo) -> Result<bool, HistoryError> {
        let is_author = |part: &String| has_author(commit_info, part);
        if !self.author.as_ref().is_none_or(is_author) {
            return Ok(false);
        }
        match &self.message {
            Some(pattern) => Ok(pattern.is_in(&commit_info.message)?),
            None => Ok(true),
        }
    }
}

/// Whether the author's `Name <email>` contains `part`, which is in lower case.
fn has_author(commit_info: &CommitInfo, part: &str) -> bool {
    let author = format!("{} <{}>", commit_info.author.name, commit_info.author.email);
    author.to_lowercase().contains(part)
}
