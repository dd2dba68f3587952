//! Why a delivery was refused, and the status that says so.

use http::StatusCode;
use tokio::time::error::Elapsed;
use uuid::Uuid;

use super::HookStoreError;

/// Why a delivery was refused. Never carries anything of its body.
#[derive(Debug, thiserror::Error)]
pub(super) enum HookRefusal {
    /// It has no signature.
    #[error("no signature")]
    Unsigned,
    /// There is no such connection.
    #[error("no such connection")]
    NoConnection,
    /// Its signature is wrong, or its connection has no secret.
    #[error("wrong signature for connection {0}")]
    Signature(Uuid),
    /// Its body is longer than 25 MiB.
    #[error("body too large")]
    TooLarge,
    /// Its body took longer than 30 s.
    #[error("body too slow")]
    TooSlow,
    /// Its body ended early.
    #[error("body ended early")]
    Broken(#[source] axum::Error),
    /// Its connection sends too many.
    #[error("too many deliveries for connection {0}")]
    TooMany(Uuid),
    /// Too many others are being read.
    #[error("too many deliveries at once")]
    Busy,
    /// The database answered with an error.
    #[error("handling a delivery")]
    Store(#[from] HookStoreError),
    /// The database did not answer in time.
    #[error("handling a delivery: the database is late")]
    StoreLate(#[source] Elapsed),
}

impl HookRefusal {
    /// The status of the answer.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            HookRefusal::NoConnection => StatusCode::NOT_FOUND,
            HookRefusal::Unsigned | HookRefusal::Signature(_) => StatusCode::UNAUTHORIZED,
            HookRefusal::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            HookRefusal::TooSlow => StatusCode::REQUEST_TIMEOUT,
            HookRefusal::Broken(_) => StatusCode::BAD_REQUEST,
            HookRefusal::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            HookRefusal::Busy | HookRefusal::Store(_) | HookRefusal::StoreLate(_) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    /// Whether the database is to blame, so that an operator should hear of it.
    pub(super) fn is_of_the_store(&self) -> bool {
        match self {
            HookRefusal::Store(_) | HookRefusal::StoreLate(_) => true,
            HookRefusal::Unsigned
            | HookRefusal::NoConnection
            | HookRefusal::Signature(_)
            | HookRefusal::TooLarge
            | HookRefusal::TooSlow
            | HookRefusal::Broken(_)
            | HookRefusal::TooMany(_)
            | HookRefusal::Busy => false,
        }
    }
}
