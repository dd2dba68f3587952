//! What an agent is told when a repository or its history refuses: a table each from the engine's
//! errors to faults.
//!
//! The engine's errors name paths inside the project only; what the system said goes to the log.

use std::time::Duration;

use archway_proto::{chain::Chain, failure::Failure, fault::Fault};

use crate::{
    history::HistoryError,
    repo::{Absence, GlobError, RepoError, Stopped},
    text::shown,
    tools::files::rfc3339,
};

const DATE_OR_REVISION: &str = "give a date, such as \"2025-01-01\", \"30 days ago\" or \
    \"yesterday\", or a revision, such as \"HEAD~3\"";

/// How the refusal of a revision begins, as [`HistoryError`] words it.
const INVALID_REFERENCE: &str = "Invalid git reference";

const REACHED: &str = "give what HEAD, a branch or a tag reaches; git_log shows commits";

/// What to do about a path that was no file as of a revision: nothing lists the files of one.
pub(super) const NOT_THEN: &str = "call git_log with it as file_path: renames are followed, so it \
    tells what the file was called then";
/// The same for a folder.
pub(super) const FOLDER_THEN: &str = "give a file in it; git_log with it as file_path tells which \
    files of it changed";

impl From<RepoError> for Failure {
    fn from(error: RepoError) -> Failure {
        if error.is_missing_object() {
            return missing_object(&error);
        }
        let (fault, suggestion) = meaning(&error);
        let failure = Failure::new(fault, error.to_string(), suggestion);
        match error {
            RepoError::Absent { absence, .. } => since(absence, failure),
            RepoError::InvalidPattern { position, .. } => at(failure, position),
            RepoError::Io { .. } | RepoError::Git { .. } => {
                tracing::error!(error = %Chain(&error), "a repository could not be read");
                failure
            }
            _ => failure,
        }
    }
}

/// Tells since when a folder is not there. One that may be about to come is asked for again in a
/// minute; one that does not come less and less, once an hour at last.
fn since(absence: Absence, mut failure: Failure) -> Failure {
    let is_new = absence.lasts < Duration::from_secs(600);
    let retry_after = match is_new {
        true => 60,
        false => absence.lasts.as_secs().min(3600),
    };
    if !is_new {
        let suggestion =
            "ask the operator for the folder; list_projects tells what else you may read";
        failure.suggestion = suggestion.to_owned();
    }
    failure
        .detail("since", rfc3339(absence.since))
        .detail("retry_after_seconds", retry_after)
}

fn missing_object(error: &RepoError) -> Failure {
    tracing::warn!(error = %Chain(error), "a repository lacks an object");
    Failure::new(
        Fault::FileNotFound,
        format!("{error}: the repository lacks an object of it"),
        "it was cloned in part and is not fetched from here; the operator must fetch the rest",
    )
}

/// Which fault an error is, and what to try instead.
fn meaning(error: &RepoError) -> (Fault, &'static str) {
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
            "secrets, dependencies and git's own data are not served; read other files",
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
            "mend the pattern; it is matched within one line",
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

const NO_REPOSITORY: &str =
    "call list_projects for projects with a commit, or read_file and search_files here";
const UNUSABLE_REPOSITORY: &str =
    "its files can be read all the same; the operator must mend the repository";

impl From<HistoryError> for Failure {
    fn from(error: HistoryError) -> Failure {
        let message = error.to_string();
        let failure = |fault, suggestion: &str| Failure::new(fault, &*message, suggestion);
        match error {
            HistoryError::NotARepository => failure(Fault::NotAGitRepository, NO_REPOSITORY),
            HistoryError::UnusableRepository { .. } => {
                failure(Fault::NotAGitRepository, UNUSABLE_REPOSITORY)
            }
            HistoryError::InvalidRevision { .. } => failure(
                Fault::InvalidArguments,
                "give one commit, branch or tag, such as \"HEAD~3\"",
            ),
            HistoryError::RevisionNotFound { hint, .. } => {
                failure(Fault::RevisionNotFound, &or(hint, REACHED))
            }
            HistoryError::InvalidBound { reason, hint, .. } => {
                failure(of_bound(reason), &or(hint, DATE_OR_REVISION))
            }
            HistoryError::NoCommits => failure(
                Fault::RevisionNotFound,
                "nothing is committed on the branch that is checked out; try another one",
            ),
            HistoryError::PlaceGone => failure(
                Fault::InvalidArguments,
                "start again without a cursor: the history was rewritten meanwhile",
            ),
            HistoryError::Ambiguous { candidates, .. } => failure(
                Fault::InvalidArguments,
                "give more characters of the id; the candidates are in details",
            )
            .detail("candidates", candidates),
            HistoryError::NotTracked {
                revision,
                is_folder,
                ..
            } => failure(
                Fault::FileNotTracked,
                not_tracked(is_folder, revision.is_some()),
            ),
            HistoryError::Binary { .. } => failure(
                Fault::BinaryFile,
                "its lines have no authors; git_log tells which commits changed it",
            ),
            HistoryError::TooLarge { size, .. } => failure(
                Fault::FileTooLarge,
                "git_log tells which commits changed it",
            )
            .detail("size", size),
            HistoryError::Repo(error) => error.into(),
        }
    }
}

/// A refusal in the words of the contract of `git_log`, which calls a revision a commit reference.
pub(super) fn of_log(mut failure: Failure) -> Failure {
    if let Some(rest) = failure.message.strip_prefix(INVALID_REFERENCE) {
        failure.message = format!("Invalid commit reference{rest}");
    }
    failure
}

/// What was most likely meant, and what else to do.
fn or(hint: Option<String>, otherwise: &str) -> String {
    match hint {
        Some(hint) => format!("{hint} Or {otherwise}"),
        None => otherwise.to_owned(),
    }
}

fn not_tracked(is_folder: bool, is_past: bool) -> &'static str {
    match (is_folder, is_past) {
        (true, _) => FOLDER_THEN,
        (false, true) => NOT_THEN,
        (false, false) => "give a file that is committed; call list_files or git_log for its name",
    }
}

/// Which fault it is that neither a date nor a revision was given, for this reason.
fn of_bound(reason: Option<&str>) -> Fault {
    match reason {
        Some(_no_form_of_a_revision) => Fault::InvalidArguments,
        None => Fault::RevisionNotFound,
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
        at(
            Failure::new(Fault::InvalidPattern, message, suggestion),
            error.position,
        )
    }
}

fn at(failure: Failure, position: Option<usize>) -> Failure {
    match position {
        Some(position) => failure.detail("position", position),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

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
    fn who_waits_for_a_folder_that_does_not_come_is_sent_to_the_operator() {
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
