//! The errors of this crate.
//!
//! Paths in errors are relative to the project's root and are those that the caller requested: a
//! message never contains a host folder or a link's target. It repeats a limited part of the
//! caller's input, with invisible characters escaped.

use std::io;
use std::time::{Duration, SystemTime};

use archway_proto::refused_by::RefusedBy;
use rustix::io::Errno;

use super::cancel::Stopped;
use super::path::{PathError, RepoPath};
use crate::text::shown;

/// Why a repository rejected a call or could not answer it.
#[derive(Debug, thiserror::Error)]
pub enum RepoError {
    /// The project's folder was not found; [`Repos`](super::Repos) returns [`RepoError::Absent`]
    /// instead.
    #[error("project is not mounted on this worker")]
    NotMounted,
    /// This worker cannot see the project.
    #[error("the folder of project {project} has not been there since {}", to_the_second(absence.since))]
    Absent {
        /// The project's slug.
        project: String,
        /// Since when.
        absence: Absence,
    },
    /// The text is not a valid path.
    #[error("path {reason}")]
    InvalidPath {
        /// The reason, to be read after "path".
        reason: &'static str,
    },
    /// A rule hides this path; whether it exists was not looked up.
    #[error("path {} is blocked", shown(&path.display()))]
    Blocked {
        /// The requested path.
        path: RepoPath,
        /// The rule, which the message does not name: callers must not read it.
        rule: RefusedBy,
    },
    /// The path is absolute, climbs with `..`, or a link on it leads nowhere within the project.
    #[error("path {} leads outside the project", shown(path))]
    Outside {
        /// The requested path, as text: it may not be normalisable.
        path: String,
    },
    /// The operating system denies the worker access.
    #[error("path {} may not be read by the worker", shown(&path.display()))]
    Unreadable {
        /// The requested path.
        path: RepoPath,
    },
    /// No regular file is there.
    #[error("no file {}", shown(&path.display()))]
    NotFound {
        /// The requested path.
        path: RepoPath,
    },
    /// No directory is there.
    #[error("no directory {}", shown(&path.display()))]
    DirectoryNotFound {
        /// The requested path.
        path: RepoPath,
    },
    /// The search pattern does not parse, or cannot be matched line by line.
    ///
    /// The tools' contract fixes the first words, which clients look for.
    #[error("Invalid {what}: {}: {}", shown(pattern), shown(message))]
    InvalidPattern {
        /// The kind of pattern: a regular expression or a text.
        what: &'static str,
        /// The pattern as given.
        pattern: String,
        /// The reason.
        message: String,
        /// Position of the error, a 0-based character, if known.
        position: Option<usize>,
    },
    /// The project has more entries than a listing may have.
    #[error("the project has more than {limit} files")]
    TooManyEntries {
        /// The maximum.
        limit: usize,
    },
    /// The call's deadline passed, or its caller is gone.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The file system failed.
    #[error("{what}")]
    Io {
        /// The failed operation.
        what: &'static str,
        /// The failure.
        #[source]
        source: io::Error,
    },
    /// The repository's own data could not be read.
    #[error("{what}")]
    Git {
        /// The failed operation.
        what: &'static str,
        /// The cause. Its text may contain host paths, so it is for the log only.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A missing project folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// Since when, by the worker's clock.
    pub since: SystemTime,
    /// For how long.
    pub lasts: Duration,
}

impl From<PathError> for RepoError {
    fn from(error: PathError) -> RepoError {
        match error {
            PathError::Invalid { reason } => RepoError::InvalidPath { reason },
            PathError::Outside { path } => RepoError::Outside { path },
        }
    }
}

impl RepoError {
    /// Whether the repository lacks the object to read: it is a partial clone, or damaged. Archway
    /// never fetches it.
    pub fn is_missing_object(&self) -> bool {
        let RepoError::Git { source, .. } = self else {
            return false;
        };
        let error = source.downcast_ref::<gix::Error>();
        error.is_some_and(gix::Error::is_not_found)
    }

    /// Maps a kernel error from opening the file `path`.
    pub(super) fn opening(path: &RepoPath, errno: Errno) -> RepoError {
        let path = path.clone();
        match errno {
            // Opening a socket fails with `ENXIO`; a name that is too long cannot exist.
            Errno::NOENT | Errno::NOTDIR | Errno::NXIO | Errno::NAMETOOLONG => {
                RepoError::NotFound { path }
            }
            Errno::LOOP | Errno::XDEV => RepoError::Outside {
                path: path.to_string(),
            },
            Errno::ACCESS | Errno::PERM => RepoError::Unreadable { path },
            errno => RepoError::Io {
                what: "opening a file",
                source: errno.into(),
            },
        }
    }

    /// The same error for a requested directory.
    pub(super) fn of_directory(self) -> RepoError {
        match self {
            RepoError::NotFound { path } => RepoError::DirectoryNotFound { path },
            other => other,
        }
    }

    /// Whether another spelling of the path may still be tried.
    pub(super) fn is_absence(&self) -> bool {
        matches!(
            self,
            RepoError::NotFound { .. } | RepoError::DirectoryNotFound { .. }
        )
    }
}

/// Formats a time: RFC 3339 in UTC, to the second.
fn to_the_second(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time);
    format!("{:.0}", time.unwrap_or(jiff::Timestamp::UNIX_EPOCH))
}
