//! Failures of a search of several projects.

use archway_proto::{failure::Failure, fault::Fault};

/// Whether a failure concerns one project, and not the question.
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

/// The time was up before anything was searched.
pub(super) fn timeout() -> Failure {
    Failure::new(
        Fault::SearchTimeout,
        "the time was up before the search began",
        "narrow the search: one project, a glob, a rarer pattern",
    )
}
