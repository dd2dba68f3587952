//! Failures of the shared store, for the log and as a label in metrics.
//!
//! The crate's errors contain neither the URL nor the password.

use redis::{ErrorKind, RedisError};

/// Why the store is unusable. Every kind pauses its use for a while.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreFailure {
    #[error("no connection could be made in time")]
    ConnectTimeout,
    #[error("no answer came in time")]
    Timeout,
    #[error("the connection broke or could not be made")]
    Connection(#[source] RedisError),
    #[error("the server refused the command")]
    Refused(#[source] RedisError),
    #[error("the answer is not valid Redis protocol")]
    InvalidAnswer(#[source] RedisError),
    #[error("the answer is not one that the script can return")]
    UnexpectedAnswer,
}

impl StoreFailure {
    /// The label in metrics.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            StoreFailure::ConnectTimeout | StoreFailure::Connection(_) => "connection",
            StoreFailure::Timeout => "timeout",
            StoreFailure::Refused(_) => "refused",
            StoreFailure::InvalidAnswer(_) | StoreFailure::UnexpectedAnswer => "garbage",
        }
    }
}

impl From<RedisError> for StoreFailure {
    fn from(error: RedisError) -> Self {
        match error.kind() {
            ErrorKind::Io if error.is_timeout() => StoreFailure::Timeout,
            ErrorKind::Io => StoreFailure::Connection(error),
            // The crate reports unknown error codes (OOM, MISCONF, NOAUTH, BUSY …) as extensions.
            ErrorKind::Server(_) | ErrorKind::Extension | ErrorKind::AuthenticationFailed => {
                StoreFailure::Refused(error)
            }
            _ => StoreFailure::InvalidAnswer(error),
        }
    }
}
