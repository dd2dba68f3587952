//! Refusals in the words of one contract.

use archway_proto::failure::Failure;

/// How the refusal of a revision begins, as `HistoryError` words it.
const INVALID_REFERENCE: &str = "Invalid git reference";

/// A refusal in the words of the contract of `git_log`, which calls a revision a commit reference.
pub(super) fn of_log(mut failure: Failure) -> Failure {
    if let Some(rest) = failure.message.strip_prefix(INVALID_REFERENCE) {
        failure.message = format!("Invalid commit reference{rest}");
    }
    failure
}
