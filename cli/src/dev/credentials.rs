//! The secrets of `dev` in its data folder, each in a file that only its user can read (0600): the root
//! secret and the API key.
//!
//! The key is stored as text, so that pasted client settings stay valid. A real installation never does
//! that.

use archway_gateway::secrets::{RootSecret, SecretError};
use secrecy::{ExposeSecret, SecretString};

use super::database::Database;
use crate::data_dir::{DataDir, DataDirError, ROOT_SECRET, short_hash};

const API_KEY: &str = "api-key";

/// Why a secret cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// A file cannot be read or written.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The root secret is invalid.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// The root secret of this data folder. Created at the first start.
pub(super) fn root_secret(data: &DataDir) -> Result<RootSecret, CredentialsError> {
    if let Some(text) = data.read(ROOT_SECRET)? {
        return Ok(RootSecret::parse(&text)?);
    }
    let line = RootSecret::generate_line()?;
    data.write(ROOT_SECRET, &format!("{line}\n"))?;
    Ok(RootSecret::parse(&line)?)
}

/// The file with the key of one database.
pub(super) struct KeyFile<'a> {
    data: &'a DataDir,
    name: String,
}

impl<'a> KeyFile<'a> {
    /// Each database has its own key, so trying another database keeps the first one's key.
    pub(super) fn of(database: &Database, data: &'a DataDir) -> Self {
        let name = match database.label() {
            None => API_KEY.to_owned(),
            Some(label) => format!("{API_KEY}-{}", short_hash(label.as_bytes())),
        };
        KeyFile { data, name }
    }

    /// The stored key, which may no longer be valid.
    pub(super) fn read(&self) -> Result<Option<SecretString>, CredentialsError> {
        let text = self.data.read(&self.name)?;
        Ok(text.map(|text| text.trim_end().into()))
    }

    /// Stores a key, replacing the stored one.
    pub(super) fn write(&self, key: &SecretString) -> Result<(), CredentialsError> {
        let text = format!("{}\n", key.expose_secret());
        Ok(self.data.write(&self.name, &text)?)
    }
}
