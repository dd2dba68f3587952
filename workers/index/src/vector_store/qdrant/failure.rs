//! How a request to Qdrant failed, and the error that callers get.

use tokio::time::Instant;
use tonic::{Code, Status};

use crate::vector_store::VectorStoreError;

/// The operation, as errors name it, and when its answer is no longer needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestContext {
    pub(super) operation: &'static str,
    pub(super) deadline: Instant,
}

/// Why a request failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server or the transport returned a status.
    Status(Status),
    /// The deadline passed.
    Late,
    /// Not sent: the circuit is open, or too many requests wait for a silent server.
    NotSent,
}

/// The cause of an error if no request was sent.
#[derive(Debug, thiserror::Error)]
#[error("it does not answer other requests either; the next attempt is in a second")]
struct NoRequestSent;

impl Failure {
    /// The error for callers.
    pub(super) fn into_error(self, operation: &'static str) -> VectorStoreError {
        match self {
            Failure::Late => VectorStoreError::Late(operation),
            Failure::NotSent => VectorStoreError::Unavailable {
                what: operation,
                source: Box::new(NoRequestSent),
            },
            Failure::Status(status) if is_away(status.code()) || is_gone(status.code()) => {
                VectorStoreError::Unavailable {
                    what: operation,
                    source: Box::new(status),
                }
            }
            Failure::Status(status) => VectorStoreError::Refused {
                what: operation,
                source: Box::new(status),
            },
        }
    }

    /// Whether the collection does not exist.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Failure::Status(status) if status.code() == Code::NotFound)
    }

    /// Whether the server was unavailable.
    pub(super) fn is_away(&self) -> bool {
        match self {
            Failure::Status(status) => is_away(status.code()),
            Failure::Late | Failure::NotSent => true,
        }
    }
}

/// Whether the deadline passed, by either side's clock. Tonic reports its own timeout as
/// `Cancelled`.
pub(super) fn is_late(status: &Status, context: RequestContext) -> bool {
    match status.code() {
        Code::DeadlineExceeded => true,
        Code::Cancelled => Instant::now() >= context.deadline,
        _ => false,
    }
}

/// Whether the connection broke, or the server says that it is unavailable.
pub(super) fn is_broken(status: &Status) -> bool {
    status.code() == Code::Unavailable || std::error::Error::source(status).is_some()
}

/// Whether the collection was created or deleted during the request.
fn is_gone(code: Code) -> bool {
    matches!(code, Code::NotFound | Code::AlreadyExists)
}

/// Whether the code blames the server's present state rather than the request.
pub(super) fn is_away(code: Code) -> bool {
    match code {
        Code::Unavailable
        | Code::ResourceExhausted
        | Code::Aborted
        | Code::Internal
        | Code::DataLoss
        | Code::Cancelled
        | Code::Unknown => true,
        Code::Ok
        | Code::DeadlineExceeded
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::FailedPrecondition
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Unauthenticated => false,
    }
}
