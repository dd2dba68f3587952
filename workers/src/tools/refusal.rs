//! Failures of tools: texts that differ by contract, and failures that concern one project of several.

use archway_proto::{failure::Failure, fault::Fault};

/// How `HistoryError` begins the message for an invalid revision.
const INVALID_REFERENCE: &str = "Invalid git reference";

/// Rewords a failure for the contract of `git_log`, which calls a revision a commit reference.
pub(super) fn in_terms_of_git_log(mut failure: Failure) -> Failure {
    if let Some(rest) = failure.message.strip_prefix(INVALID_REFERENCE) {
        failure.message = format!("Invalid commit reference{rest}");
    }
    failure
}

/// Whether a failure of a search of several projects concerns one project, and not the question.
pub(super) fn is_of_the_project(code: Fault) -> bool {
    matches!(
        code,
        Fault::Unavailable
            | Fault::ProjectNotFound
            | Fault::FileNotFound
            | Fault::DirectoryNotFound
            | Fault::AccessDenied
            | Fault::FileTooLarge
            | Fault::NotAGitRepository
            | Fault::RevisionNotFound
            | Fault::InternalError
    )
}
