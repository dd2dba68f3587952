//! Why a person was not signed in.

use super::super::fetch::FetchError;

/// Why a person was not signed in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoginError {
    /// The provider cannot be asked, or its keys are not known.
    #[error("the provider can't be asked")]
    Unreachable(#[source] Option<FetchError>),
    /// Its discovery document lacks an endpoint, or names one that cannot be trusted.
    #[error("the provider's discovery document has no usable `{0}`")]
    Endpoint(&'static str),
    /// As many people sign in as are served at a time.
    #[error("too many people sign in at the moment")]
    Crowded,
    /// The provider refused the code or the client, with this code of OAuth.
    #[error("the provider refused: {0}")]
    Refused(String),
    /// The provider's answer is not what OpenID Connect says.
    #[error("the provider's answer has no usable `{0}`")]
    Answer(&'static str),
    /// The ID token is not a valid one for this sign-in.
    #[error("the provider's ID token is not valid: {0}")]
    Token(&'static str),
    /// The person may not read the page.
    #[error("the provider does not grant {needed} to {name} (subject {subject})")]
    NotAdmitted {
        /// Who it is.
        name: String,
        /// The token's `sub`.
        subject: String,
        /// The words of which one is needed.
        needed: String,
    },
}

impl From<FetchError> for LoginError {
    fn from(error: FetchError) -> Self {
        LoginError::Unreachable(Some(error))
    }
}
