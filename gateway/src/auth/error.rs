//! Why a request is not authenticated.

use super::{failed_credentials::FailureReason, lookup::LookupError};

/// Why a request has no [`Principal`](crate::caller::Principal).
#[derive(Clone, Copy, Debug)]
pub(super) enum AuthError {
    /// No credential.
    Missing,
    /// An invalid credential.
    Bad(FailureReason),
    /// The credential cannot be verified at the moment.
    Unchecked,
    /// The credential was not verified because too many look-ups are waiting.
    Crowded,
}

impl From<&LookupError> for AuthError {
    /// Why a credential could not be verified.
    fn from(error: &LookupError) -> Self {
        match error {
            LookupError::Crowded => AuthError::Crowded,
            _ => AuthError::Unchecked,
        }
    }
}

impl From<FailureReason> for AuthError {
    fn from(reason: FailureReason) -> Self {
        AuthError::Bad(reason)
    }
}
