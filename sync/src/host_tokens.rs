//! The token that a host's API is asked with for a connection.

use std::sync::Arc;

use secrecy::SecretString;
use serde_json::Value;

use crate::app_tokens::{AppTokenError, AppTokens};
use crate::credentials::{Credential, CredentialError, Credentials};
use crate::hosts::{ConnectionSettings, CredentialSetting, ListingError};
use crate::remote::Protocol;

/// The tokens of all connections.
#[derive(Clone)]
pub(crate) struct HostTokens {
    pub(crate) credentials: Credentials,
    pub(crate) apps: Arc<AppTokens>,
}

/// Why there is no token. Never carries a secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostTokenError {
    /// The credential's file.
    #[error(transparent)]
    Credential(#[from] CredentialError),
    /// The App's token.
    #[error(transparent)]
    App(#[from] AppTokenError),
}

impl HostTokens {
    /// The token of a connection of a tenant, by its settings and as they are stored; `None` without a credential.
    pub(crate) async fn of(
        &self,
        tenant: &str,
        (settings, stored): (&ConnectionSettings, &Value),
    ) -> Result<Option<SecretString>, HostTokenError> {
        Ok(match settings.listing_credential() {
            None => None,
            Some(CredentialSetting::Name(name)) => {
                match self.credentials.read(tenant, name, Protocol::Https)? {
                    Credential::Https(https) => Some(https.password),
                    Credential::Ssh(_) => None,
                }
            }
            Some(CredentialSetting::App(_)) => Some(self.apps.token(tenant, stored).await?),
        })
    }
}

impl HostTokenError {
    /// What the host said, if it was asked.
    pub(crate) fn by_host(&self) -> Option<&ListingError> {
        match self {
            HostTokenError::App(AppTokenError::Host(error)) => Some(error),
            HostTokenError::App(_) | HostTokenError::Credential(_) => None,
        }
    }
}
