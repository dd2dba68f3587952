//! What is asked, why there may be no answer, and what callers are told then.

use tokio::time::Instant;
use tonic::{Code, Status};

use crate::vector_store::HomeError;

/// What is asked, in the words of an error, and until when an answer is of use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    pub(super) what: &'static str,
    pub(super) until: Instant,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server said so, or the way to it.
    Said(Status),
    /// It did not answer in time.
    Late,
    /// It was away a moment ago, or leaves others without an answer, and was not asked.
    Paused,
}

/// What an error is caused by, where the server was not asked.
#[derive(Debug, thiserror::Error)]
#[error("it does not answer others, either, and is asked again in a second")]
struct NotAsked;

impl Failure {
    /// As callers are told.
    pub(super) fn of(self, what: &'static str) -> HomeError {
        match self {
            Failure::Late => HomeError::Late(what),
            Failure::Paused => HomeError::Away {
                what,
                source: Box::new(NotAsked),
            },
            Failure::Said(status) if is_away(status.code()) || is_gone(status.code()) => {
                HomeError::Away {
                    what,
                    source: Box::new(status),
                }
            }
            Failure::Said(status) => HomeError::Refused {
                what,
                source: Box::new(status),
            },
        }
    }

    /// Whether what was asked for is not there.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Failure::Said(status) if status.code() == Code::NotFound)
    }

    /// Whether the server could not do it now.
    pub(super) fn is_away(&self) -> bool {
        match self {
            Failure::Said(status) => is_away(status.code()),
            Failure::Late | Failure::Paused => true,
        }
    }
}

/// Whether the time was up, by either side's clock. Tonic's own says it in the words for a call that
/// was given up.
pub(super) fn is_late(status: &Status, asking: Asking) -> bool {
    match status.code() {
        Code::DeadlineExceeded => true,
        Code::Cancelled => Instant::now() >= asking.until,
        _ => false,
    }
}

/// Whether the way to the server broke, or it says itself that nobody can ask it.
pub(super) fn is_broken(status: &Status) -> bool {
    status.code() == Code::Unavailable || std::error::Error::source(status).is_some()
}

/// Whether a code says that the collection came or went under the request.
fn is_gone(code: Code) -> bool {
    matches!(code, Code::NotFound | Code::AlreadyExists)
}

/// Whether a code says that the server can't now, rather than won't.
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
