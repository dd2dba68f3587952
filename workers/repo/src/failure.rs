//! Maps this crate's errors to the failures that agents read.
//!
//! The errors name only paths inside the project; messages of the system go to the log.

use std::time::{Duration, SystemTime};

use archway_proto::{chain::Chain, failure::Failure, fault::Fault};

use super::cancel::Stopped;
use super::error::{Absence, RepoError};
use super::glob::GlobError;
use super::path::PathError;
use super::submodules::Submodule;
use crate::text::shown;

impl From<RepoError> for Failure {
    fn from(error: RepoError) -> Failure {
        if error.is_missing_object() {
            return missing_object(&error);
        }
        let (fault, suggestion) = fault_of(&error);
        let failure = Failure::new(fault, error.to_string(), suggestion);
        match error {
            RepoError::Absent { absence, .. } => with_absence(absence, failure),
            RepoError::Blocked { rule, .. } => failure.refused_by(rule),
            RepoError::InvalidPattern { position, .. } => with_position(failure, position),
            RepoError::Io { .. } | RepoError::Git { .. } => {
                tracing::error!(error = %Chain(&error), "a repository could not be read");
                failure
            }
            _ => failure,
        }
    }
}

/// Adds since when a folder is missing. A client retries a recent absence after a minute, and a
/// longer one ever more rarely, at last once an hour.
fn with_absence(absence: Absence, mut failure: Failure) -> Failure {
    let is_new = absence.lasts < Duration::from_secs(600);
    let retry_after = match is_new {
        true => 60,
        false => absence.lasts.as_secs().min(3600),
    };
    if !is_new {
        let suggestion =
            "ask the operator for the folder; list_projects lists the projects that you can read";
        failure.suggestion = suggestion.to_owned();
    }
    failure
        .detail("since", rfc3339(absence.since))
        .detail("retry_after_seconds", retry_after)
}

/// The detail of a failure whose repository lacks an object.
const MISSING_OBJECT: &str = "missing_object";

/// Whether the failure may be one of a repository whose packs were replaced while it was read: an object is
/// missing, or a file could not be read. A repository that is opened anew sees the new packs.
pub fn may_pass_when_opened_anew(failure: &Failure) -> bool {
    failure.code == Fault::InternalError || failure.details.contains_key(MISSING_OBJECT)
}

fn missing_object(error: &RepoError) -> Failure {
    tracing::warn!(error = %Chain(error), "a repository lacks an object");
    Failure::new(
        Fault::FileNotFound,
        format!("{error}: the repository lacks one of its objects"),
        "the clone is partial, and Archway never fetches; an operator must fetch the rest",
    )
    .detail(MISSING_OBJECT, true)
}

/// The fault of an error, and a suggestion.
fn fault_of(error: &RepoError) -> (Fault, &'static str) {
    match error {
        RepoError::NotMounted | RepoError::Absent { .. } => (
            Fault::Unavailable,
            "try again in 60 seconds; if it does not come, ask the operator for the folder",
        ),
        RepoError::InvalidPath { .. } => (
            Fault::InvalidArguments,
            "give a path relative to the project's root",
        ),
        RepoError::Blocked { .. } => (
            Fault::AccessDenied,
            "secrets, dependencies, git's own data and what this project closes are not served; read other files",
        ),
        RepoError::Outside { .. } => (
            Fault::AccessDenied,
            "give a path relative to the project's root, such as \"README.md\"",
        ),
        RepoError::Unreadable { .. } => (
            Fault::AccessDenied,
            "the operator must make the file readable",
        ),
        RepoError::NotFound { .. } => (
            Fault::FileNotFound,
            "call list_files on its folder for the right name",
        ),
        RepoError::DirectoryNotFound { .. } => (
            Fault::DirectoryNotFound,
            "call list_files on \".\" for the folders",
        ),
        RepoError::InvalidPattern { .. } => (
            Fault::InvalidPattern,
            "correct the pattern; it is matched within one line",
        ),
        RepoError::TooManyEntries { .. } => (
            Fault::FileTooLarge,
            "read files by their exact path; the operator must split the project to list it",
        ),
        RepoError::Stopped(Stopped::Deadline | Stopped::Cancelled) => (
            Fault::DeadlineExceeded,
            "try again, or narrow the call to a folder or a smaller file",
        ),
        RepoError::Io { .. } | RepoError::Git { .. } => (
            Fault::InternalError,
            "try again; report the trace id if it stays so",
        ),
    }
}

impl From<Submodule> for Failure {
    fn from(submodule: Submodule) -> Failure {
        let path = submodule.path.display();
        Failure::new(
            Fault::FileNotFound,
            format!(
                "{} is a submodule at commit {}: its files are not here",
                shown(&path),
                submodule.commit
            ),
            "look for a project of that repository in list_projects",
        )
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Failure {
        RepoError::from(error).into()
    }
}

impl From<GlobError> for Failure {
    fn from(error: GlobError) -> Failure {
        let suggestion = "use gitignore-style globs, such as \"*.rs\" or \"src/**/*.ts\"";
        let message = format!(
            "Invalid glob pattern: {}: {}",
            shown(&error.glob),
            shown(&error.message)
        );
        with_position(
            Failure::new(Fault::InvalidPattern, message, suggestion),
            error.position,
        )
    }
}

fn with_position(failure: Failure, position: Option<usize>) -> Failure {
    match position {
        Some(position) => failure.detail("position", position),
        None => failure,
    }
}

/// Formats a time for data: RFC 3339 in UTC, with milliseconds.
pub fn rfc3339(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absent(seconds: u64) -> Failure {
        Failure::from(RepoError::Absent {
            project: "site".to_owned(),
            absence: Absence {
                since: SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_794_400),
                lasts: Duration::from_secs(seconds),
            },
        })
    }

    #[test]
    fn after_ten_minutes_a_missing_folder_is_referred_to_the_operator() {
        let message = "the folder of project site has not been there since 2026-01-07T14:00:00Z";
        for (seconds, retry, suggestion) in [
            (
                0,
                60,
                "try again in 60 seconds; if it does not come, ask the operator",
            ),
            (
                599,
                60,
                "try again in 60 seconds; if it does not come, ask the operator",
            ),
            (600, 600, "ask the operator for the folder; list_projects"),
            (
                100_000,
                3600,
                "ask the operator for the folder; list_projects",
            ),
        ] {
            let failure = absent(seconds);
            assert_eq!(failure.code, Fault::Unavailable);
            assert_eq!(failure.message, message);
            assert!(failure.suggestion.starts_with(suggestion), "{failure:?}");
            assert_eq!(failure.details["retry_after_seconds"], retry);
            assert_eq!(failure.details["since"], "2026-01-07T14:00:00.000Z");
        }
    }
}
