//! A worker's failure where no result can carry it: an error of the protocol.

use archway_proto::{failure::Failure, fault::Fault};
use serde_json::{Value, json};

/// An application's error code: whoever should answer can't at the moment. JSON-RPC's own range is
/// left alone.
pub(crate) const NOT_NOW: i32 = 50300;

/// Its JSON-RPC code.
pub(super) fn code(fault: Fault) -> i32 {
    match fault {
        Fault::CircuitOpen
        | Fault::Unavailable
        | Fault::EmbeddingUnavailable
        | Fault::SearchTimeout
        | Fault::DeadlineExceeded => NOT_NOW,
        Fault::InternalError => -32603,
        Fault::InvalidArguments
        | Fault::ProjectRequired
        | Fault::ProjectNotFound
        | Fault::FileNotFound
        | Fault::DirectoryNotFound
        | Fault::AccessDenied
        | Fault::FileTooLarge
        | Fault::BinaryFile
        | Fault::InvalidPattern
        | Fault::NotAGitRepository
        | Fault::RevisionNotFound
        | Fault::FileNotTracked
        | Fault::InvalidLineRange
        | Fault::IndexNotReady
        | Fault::WriteNotAllowed
        | Fault::EntryTooLarge
        | Fault::QuotaExceeded
        | Fault::PatternNotFound
        | Fault::RateLimited => -32602,
    }
}

/// What programs read of it.
pub(super) fn data(failure: &Failure) -> Value {
    let mut data = json!(failure.details);
    data["code"] = json!(failure.code);
    data["suggestion"] = json!(failure.suggestion);
    data
}
