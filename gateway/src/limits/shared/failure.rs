//! What can be wrong with the shared store, for the log and, as a word, for metrics.
//!
//! The crate's errors repeat neither the URL nor the password.

use redis::{ErrorKind, RedisError};

/// Why the store is of no use. Whatever it is, the store is left alone for a while.
#[derive(Debug, thiserror::Error)]
pub(super) enum StoreFailure {
    #[error("no connection could be made in time")]
    ConnectTimeout,
    #[error("it did not answer in time")]
    Timeout,
    #[error("the connection broke, or none could be made")]
    Connection(#[source] RedisError),
    #[error("it refuses to count for us")]
    Refused(#[source] RedisError),
    #[error("it answers what is no answer of Redis")]
    Garbage(#[source] RedisError),
    #[error("it answers something else than was asked")]
    Nonsense,
}

impl StoreFailure {
    /// The label in metrics.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            StoreFailure::ConnectTimeout | StoreFailure::Connection(_) => "connection",
            StoreFailure::Timeout => "timeout",
            StoreFailure::Refused(_) => "refused",
            StoreFailure::Garbage(_) | StoreFailure::Nonsense => "garbage",
        }
    }
}

impl From<RedisError> for StoreFailure {
    fn from(error: RedisError) -> Self {
        match error.kind() {
            ErrorKind::Io if error.is_timeout() => StoreFailure::Timeout,
            ErrorKind::Io => StoreFailure::Connection(error),
            // Words that the crate doesn't know (OOM, MISCONF, NOAUTH, BUSY …) are extensions.
            ErrorKind::Server(_) | ErrorKind::Extension | ErrorKind::AuthenticationFailed => {
                StoreFailure::Refused(error)
            }
            _ => StoreFailure::Garbage(error),
        }
    }
}
