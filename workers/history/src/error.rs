//! Why a history could not be told.

use archway_repo::{RepoError, RepoPath, Stopped, text::shown};

/// Why a history could not be told. Names nothing but what the caller asked for.
///
/// The first words are those of the tools' contract, which clients look for. A little of what the
/// caller sent is repeated, with what can't be seen escaped.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The project's folder is no git repository.
    #[error("This project is not a git repository")]
    NotARepository,
    /// It is one that is not used.
    #[error("This project is not a git repository that can be read: {why}")]
    UnusableRepository {
        /// What is in the way.
        why: &'static str,
    },
    /// The text is no revision of the forms that are served.
    #[error("Invalid git reference: {}: {reason}", shown(revision))]
    InvalidRevision {
        /// As it was given.
        revision: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Nothing that a branch, a tag or HEAD reaches has this name.
    #[error("Invalid git reference: {}", shown(revision))]
    RevisionNotFound {
        /// As it was given.
        revision: String,
        /// What may have been meant, in whole sentences.
        hint: Option<String>,
    },
    /// The end of a span of commits is no date, and names no commit.
    #[error("Invalid git reference: {}: neither a date nor a revision here{}", shown(text), told(*.reason))]
    InvalidBound {
        /// As it was given.
        text: String,
        /// What is wrong with it as a revision, if it can't be one.
        reason: Option<&'static str>,
        /// Which revision may have been meant, in whole sentences.
        hint: Option<String>,
    },
    /// HEAD was asked for, and there is no commit yet.
    #[error("Invalid git reference: HEAD: the project has no commits yet")]
    NoCommits,
    /// A log can't go on where a page of it ended.
    #[error("the commits that the cursor goes on from are no longer there")]
    CursorExpired,
    /// An abbreviated id that several commits begin with.
    #[error("Invalid git reference: {}: several commits begin so", shown(revision))]
    Ambiguous {
        /// As it was given.
        revision: String,
        /// Commits it may mean, in hexadecimal; at most ten.
        candidates: Vec<String>,
    },
    /// The commit has no such file.
    #[error("File not tracked by git: {}{}{}", shown(&path.display()), at(revision.as_deref()), kind(*.is_folder))]
    NotTracked {
        /// As it was asked for.
        path: RepoPath,
        /// As of which revision, if one was named.
        revision: Option<String>,
        /// A folder is there.
        is_folder: bool,
    },
    /// A file that holds no text.
    #[error("{} is binary", shown(&path.display()))]
    Binary {
        /// As it is in the commit.
        path: RepoPath,
    },
    /// A file whose history would take too long.
    #[error("{} has {size} bytes, more than can be blamed", shown(&path.display()))]
    TooLarge {
        /// As it is in the commit.
        path: RepoPath,
        /// In bytes.
        size: u64,
    },
    /// The file, or the call.
    #[error(transparent)]
    Repo(#[from] RepoError),
}

impl HistoryError {
    /// Whether the call's time was up.
    pub fn is_deadline(&self) -> bool {
        matches!(
            self,
            HistoryError::Repo(RepoError::Stopped(Stopped::Deadline))
        )
    }
}

/// What more is known of a text that is no revision.
fn told(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!(" (as a revision, {reason})"))
}

/// As of when a path was looked up, to be read after it.
fn at(revision: Option<&str>) -> String {
    revision.map_or_else(String::new, |revision| format!(" at {}", shown(revision)))
}

/// What stands where a file was looked for, to be read after its path.
fn kind(is_folder: bool) -> &'static str {
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
