//! A connection's settings as the database has them.

use serde_json::Value;

use super::{Connection, ConnectionSettings, SettingsError};
use crate::remote::AllowedProtocols;

/// Why stored settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoredSettingsError {
    /// They are not as this version writes them.
    #[error("the settings of the connection can't be read: add the connection again")]
    Unreadable(#[source] serde_json::Error),
    /// They are refused, by this process's options perhaps.
    #[error("the settings of the connection are refused")]
    Refused(#[from] SettingsError),
}

impl ConnectionSettings {
    /// Reads settings that the database has, and checks them.
    ///
    /// # Errors
    /// [`StoredSettingsError`].
    pub fn stored(
        settings: &Value,
        allowed: &AllowedProtocols,
    ) -> Result<(ConnectionSettings, Connection), StoredSettingsError> {
        let settings: ConnectionSettings =
            serde_json::from_value(settings.clone()).map_err(StoredSettingsError::Unreadable)?;
        let connection = settings.check(allowed)?;
        Ok((settings, connection))
    }
}
