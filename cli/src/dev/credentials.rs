//! The secrets that `dev` keeps in its data folder, each in a file only its user can read (0600):
//! the root secret and the API key.
//!
//! The key is kept as text, which a real installation never does, so that client settings which
//! were pasted once stay good.

use archway_gateway::secrets::{RootSecret, SecretError};
use secrecy::{ExposeSecret, SecretString};

use super::database::Database;
use crate::data_dir::{DataDir, DataDirError, ROOT_SECRET, short_hash};

const API_KEY: &str = "api-key";

/// Why a secret can't be kept.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// A file can't be read or written.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The root secret is not right.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

/// The root secret of this data folder, made at the first start.
pub(super) fn root_secret(data: &DataDir) -> Result<RootSecret, CredentialsError> {
    if let Some(text) = data.read(ROOT_SECRET)? {
        return Ok(RootSecret::parse(&text)?);
    }
    let line = RootSecret::generate_line()?;
    data.write(ROOT_SECRET, &format!("{line}\n"))?;
    Ok(RootSecret::parse(&line)?)
}

/// Where the key of one database is kept.
pub(super) struct KeyFile<'a> {
    data: &'a DataDir,
    name: String,
}

impl<'a> KeyFile<'a> {
    /// A key is good in one database: trying another for a day must not cost the first one's.
    pub(super) fn of(database: &Database, data: &'a DataDir) -> Self {
        let name = match database.label() {
            None => API_KEY.to_owned(),
            Some(label) => format!("{API_KEY}-{}", short_hash(label.as_bytes())),
        };
        KeyFile { data, name }
    }

    /// The key that was kept, which may be good no longer.
    pub(super) fn read(&self) -> Result<Option<SecretString>, CredentialsError> {
        let text = self.data.read(&self.name)?;
        Ok(text.map(|text| text.trim_end().into()))
    }

    /// Keeps a key in place of what was kept.
    pub(super) fn write(&self, key: &SecretString) -> Result<(), CredentialsError> {
        let text = format!("{}\n", key.expose_secret());
        Ok(self.data.write(&self.name, &text)?)
    }
}
