//! The tokens of GitHub Apps: one for each connection that has an App, for its listings and its fetches.

use std::sync::Arc;

use archway_proto::chain::Chain;
use moka::sync::Cache;
use parking_lot::Mutex;
use secrecy::SecretString;
use serde_json::Value;
use tokio::time::Duration;

use crate::credentials::{CredentialError, Credentials};
use crate::failure::{SyncFailure, SyncState};
use crate::hosts::{
    AppKeyError, AppToken, ClientError, ConnectionSettings, HostClient, ListingError,
    StoredSettingsError,
};
use crate::remote::AllowedProtocols;

/// Connections whose tokens are held.
const MAX_APPS: u64 = 1000;
/// How long an App's key is used without being read again.
const KEY_LIFE: Duration = Duration::from_secs(10 * 60);

/// A tenant's slug, and the settings of one of its connections.
type AppKey = (String, String);

/// The tokens of all connections with an App.
pub(crate) struct AppTokens {
    credentials: Credentials,
    allowed: AllowedProtocols,
    /// By the tenant and the connection's settings, whose names are those of the key's file.
    apps: Cache<AppKey, Arc<AppToken>>,
    /// Held while one is made, so that those who ask at the same time share it.
    making: Mutex<()>,
}

/// Why an App has no token. Never carries a secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppTokenError {
    #[error(transparent)]
    Settings(#[from] StoredSettingsError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    File(#[from] CredentialError),
    #[error(transparent)]
    Key(#[from] AppKeyError),
    #[error(transparent)]
    Host(#[from] ListingError),
}

impl AppTokens {
    pub(crate) fn new(credentials: Credentials, allowed: AllowedProtocols) -> AppTokens {
        let apps = Cache::builder()
            .max_capacity(MAX_APPS)
            .time_to_live(KEY_LIFE);
        AppTokens {
            credentials,
            allowed,
            apps: apps.build(),
            making: Mutex::default(),
        }
    }

    /// A token of the App that the settings of a tenant's connection name.
    pub(crate) async fn token(
        &self,
        tenant: &str,
        settings: &Value,
    ) -> Result<SecretString, AppTokenError> {
        let token = self.held(tenant, settings)?.token().await;
        if let Err(ListingError::Refused { .. }) = &token {
            // Its key may have been replaced: the next one reads the file again.
            self.forget(tenant, settings);
        }
        Ok(token?)
    }

    /// Forgets the token of a connection, which the host refused.
    pub(crate) fn forget(&self, tenant: &str, settings: &Value) {
        self.apps.invalidate(&key(tenant, settings));
    }

    fn held(&self, tenant: &str, settings: &Value) -> Result<Arc<AppToken>, AppTokenError> {
        let key = key(tenant, settings);
        let _making = self.making.lock();
        if let Some(app) = self.apps.get(&key) {
            return Ok(app);
        }
        let app = Arc::new(self.app(tenant, settings)?);
        self.apps.insert(key, Arc::clone(&app));
        Ok(app)
    }

    fn app(&self, tenant: &str, settings: &Value) -> Result<AppToken, AppTokenError> {
        let (settings, connection) = ConnectionSettings::stored(settings, &self.allowed)?;
        let client = HostClient::new(connection)?;
        let pem = self.credentials.app_key(tenant, &settings.name)?;
        Ok(AppToken::new(&client, &pem)?)
    }
}

fn key(tenant: &str, settings: &Value) -> AppKey {
    (tenant.to_owned(), settings.to_string())
}

impl From<AppTokenError> for SyncFailure {
    fn from(error: AppTokenError) -> SyncFailure {
        let state = match &error {
            AppTokenError::File(_) => SyncState::CredentialMissing,
            AppTokenError::Host(ListingError::Refused { .. } | ListingError::NotFound { .. }) => {
                SyncState::CredentialRefused
            }
            AppTokenError::Host(_) => SyncState::BackingOff,
            AppTokenError::Settings(_) | AppTokenError::Client(_) | AppTokenError::Key(_) => {
                SyncState::Failed
            }
        };
        SyncFailure::new(state, Chain(&error).to_string())
    }
}
