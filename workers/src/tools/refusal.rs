//! Error texts that differ between tools by contract.

use archway_proto::failure::Failure;

/// How `HistoryError` begins the message for an invalid revision.
const INVALID_REFERENCE: &str = "Invalid git reference";

/// Rewords a failure for the contract of `git_log`, which calls a revision a commit reference.
pub(super) fn in_terms_of_git_log(mut failure: Failure) -> Failure {
    if let Some(rest) = failure.message.strip_prefix(INVALID_REFERENCE) {
        failure.message = format!("Invalid commit reference{rest}");
    }
    failure
}
