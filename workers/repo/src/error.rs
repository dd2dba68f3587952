//! Why a repository refused, or could not answer.
//!
//! Paths in here are relative to the project's root and are what the caller asked for: neither a
//! folder of the host nor the target of a link is ever in a message. A message repeats a little of
//! what the caller sent, with what can't be seen escaped.

use std::io;
use std::time::{Duration, SystemTime};

use rustix::io::Errno;

use super::cancel::Stopped;
use super::path::{PathError, RepoPath};
use crate::text::shown;

/// Why a repository refused, or could not answer.
#[derive(Debug, thiserror::Error)]
pub enum RepoError {
    /// No folder of such a project was found; [`Repos`](super::Repos) says [`RepoError::Absent`].
    #[error("project is not mounted on this worker")]
    NotMounted,
    /// This worker sees no such project.
    #[error("the folder of project {project} has not been there since {}", to_the_second(absence.since))]
    Absent {
        /// The project's slug.
        project: String,
        /// Since when.
        absence: Absence,
    },
    /// The text is no path at all.
    #[error("path {reason}")]
    InvalidPath {
        /// What is wrong with it, to be read after "path".
        reason: &'static str,
    },
    /// A rule of the project hides this path; whether it exists was not looked up.
    #[error("path {} is blocked", shown(&path.display()))]
    Blocked {
        /// The path that was asked for.
        path: RepoPath,
    },
    /// The path is absolute, climbs with `..`, or a link on it leads nowhere within the project.
    #[error("path {} leads outside the project", shown(path))]
    Outside {
        /// The path that was asked for, as text: it may have no normal form.
        path: String,
    },
    /// The operating system lets the worker not read it.
    #[error("path {} may not be read by the worker", shown(&path.display()))]
    Unreadable {
        /// The path that was asked for.
        path: RepoPath,
    },
    /// No regular file is there.
    #[error("no file {}", shown(&path.display()))]
    NotFound {
        /// The path that was asked for.
        path: RepoPath,
    },
    /// No directory is there.
    #[error("no directory {}", shown(&path.display()))]
    DirectoryNotFound {
        /// The path that was asked for.
        path: RepoPath,
    },
    /// The search pattern does not parse, or needs what a search by lines can't do.
    ///
    /// The first words are those of the tools' contract, which clients look for.
    #[error("Invalid {what}: {}: {}", shown(pattern), shown(message))]
    InvalidPattern {
        /// What it was to be: a regular expression, or a text.
        what: &'static str,
        /// As it was given.
        pattern: String,
        /// What is wrong with it.
        message: String,
        /// Where: 0-based character, if known.
        position: Option<usize>,
    },
    /// The project has more entries than a listing holds.
    #[error("the project has more than {limit} files")]
    TooManyEntries {
        /// How many it holds at most.
        limit: usize,
    },
    /// The call's time is up, or its caller is gone.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// The file system failed.
    #[error("{what}")]
    Io {
        /// What was being done.
        what: &'static str,
        /// The failure.
        #[source]
        source: io::Error,
    },
    /// The repository's own data could not be read.
    #[error("{what}")]
    Git {
        /// What was being done.
        what: &'static str,
        /// The failure; its text may hold host paths, so it is for the log only.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A project's folder that is not there.
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
    /// Whether the repository lacks the object that was to be read: it was cloned in part, or is
    /// damaged. Nothing is fetched here.
    pub fn is_missing_object(&self) -> bool {
        let RepoError::Git { source, .. } = self else {
            return false;
        };
        let error = source.downcast_ref::<gix::Error>();
        error.is_some_and(gix::Error::is_not_found)
    }

    /// What an error of the kernel means for who asked for the file `path`.
    pub(super) fn opening(path: &RepoPath, errno: Errno) -> RepoError {
        let path = path.clone();
        match errno {
            // ENXIO is a socket's answer to open; a name too long can't exist.
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

    /// The same failure, for who asked for a directory.
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

/// A moment as it is told: RFC 3339 in UTC, to the second.
fn to_the_second(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time);
    format!("{:.0}", time.unwrap_or(jiff::Timestamp::UNIX_EPOCH))
}
