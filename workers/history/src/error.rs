//! Errors of history queries.

use archway_repo::{RepoError, RepoPath, Stopped, text::shown};

/// Why a history query failed. Messages name nothing but what the caller asked for.
///
/// The first words are fixed by the tools' contract: clients match them. Messages repeat a little
/// of the caller's input, with invisible characters escaped.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The project's folder is not a git repository.
    #[error("This project is not a git repository")]
    NotARepository,
    /// The repository exists but is rejected.
    #[error("This project is not a git repository that can be read: {why}")]
    UnusableRepository {
        /// Why it is rejected.
        why: &'static str,
    },
    /// The text does not have a supported revision form.
    #[error("Invalid git reference: {}: {reason}", shown(revision))]
    InvalidRevision {
        /// The revision as the caller gave it.
        revision: String,
        /// Why the form is invalid.
        reason: &'static str,
    },
    /// No branch, tag or HEAD reaches a commit of this name.
    #[error("Invalid git reference: {}", shown(revision))]
    RevisionNotFound {
        /// The revision as the caller gave it.
        revision: String,
        /// Near matches, in whole sentences.
        hint: Option<String>,
    },
    /// The bound of a commit range is neither a date nor a known commit.
    #[error("Invalid git reference: {}: neither a date nor a revision here{}", shown(text), as_revision(*.reason))]
    InvalidBound {
        /// The bound as the caller gave it.
        text: String,
        /// Why the text is invalid as a revision, if its form is invalid.
        reason: Option<&'static str>,
        /// Near matches among revisions, in whole sentences.
        hint: Option<String>,
    },
    /// The caller named HEAD, and the repository has no commits.
    #[error("Invalid git reference: HEAD: the project has no commits yet")]
    NoCommits,
    /// A commit that the cursor names is no longer reachable.
    #[error("the cursor refers to commits that are no longer reachable")]
    CursorExpired,
    /// An abbreviated id that several commits begin with.
    #[error("Invalid git reference: {}: several commits match it", shown(revision))]
    Ambiguous {
        /// The id as the caller gave it.
        revision: String,
        /// Commits it may mean, in hexadecimal; at most ten.
        candidates: Vec<String>,
    },
    /// The commit has no such file.
    #[error("File not tracked by git: {}{}{}", shown(&path.display()), at_revision(revision.as_deref()), folder_note(*.is_folder))]
    NotTracked {
        /// The path as the caller gave it.
        path: RepoPath,
        /// The revision that was searched, if the caller named one.
        revision: Option<String>,
        /// Whether a folder is there.
        is_folder: bool,
    },
    /// The file is binary.
    #[error("{} is binary", shown(&path.display()))]
    Binary {
        /// The path as the commit spells it.
        path: RepoPath,
    },
    /// The file is too large to blame.
    #[error("{} has {size} bytes, more than can be blamed", shown(&path.display()))]
    TooLarge {
        /// The path as the commit spells it.
        path: RepoPath,
        /// In bytes.
        size: u64,
    },
    /// Reading the repository failed, or the call was stopped.
    #[error(transparent)]
    Repo(#[from] RepoError),
}

impl HistoryError {
    /// Whether the call's deadline passed.
    pub fn is_deadline(&self) -> bool {
        matches!(
            self,
            HistoryError::Repo(RepoError::Stopped(Stopped::Deadline))
        )
    }
}

/// Suffix of a message: why a text is not a revision.
fn as_revision(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!(" (as a revision, {reason})"))
}

/// Suffix of a message: the revision in which a path was looked up.
fn at_revision(revision: Option<&str>) -> String {
    revision.map_or_else(String::new, |revision| format!(" at {}", shown(revision)))
}

/// Suffix of a message: a folder was found instead of a file.
fn folder_note(is_folder: bool) -> &'static str {
    match is_folder {
        true => ": it is a folder",
        false => "",
    }
}

impl From<Stopped> for HistoryError {
    fn from(stopped: Stopped) -> HistoryError {
        HistoryError::Repo(RepoError::Stopped(stopped))
    }
}

/// Wraps a failure of gix.
pub(super) fn git<E>(what: &'static str) -> impl FnOnce(E) -> HistoryError
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    move |source| {
        HistoryError::Repo(RepoError::Git {
            what,
            source: source.into(),
        })
    }
}
