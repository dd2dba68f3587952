//! The secrets that `dev` keeps in its data folder, each in a file only its user can read (0600):
//! the root secret and the API key.
//!
//! The key is kept as text, which a real installation never does, so that client settings which
//! were pasted once stay good. It is made anew only if the database doesn't know it (any more).

use archway_gateway::secrets::{RootSecret, SecretError};
use archway_gateway::tenants::{KeyRequest, TenantError, Tenants};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use super::database::Database;
use crate::data_dir::{DataDir, DataDirError, short_hash};

const ROOT_SECRET: &str = "root-secret";
const API_KEY: &str = "api-key";

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// A file can't be read or written.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The root secret is not right.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The database has no key for us.
    #[error(transparent)]
    Tenants(#[from] TenantError),
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

/// Where a key is kept, and where it is good.
pub(super) struct Place<'a> {
    pub(super) data: &'a DataDir,
    pub(super) database: &'a Database,
    pub(super) tenants: &'a Tenants,
    pub(super) tenant: Uuid,
}

impl Place<'_> {
    /// The key of this place, whose calls mean `project` unless they name another.
    pub(super) async fn api_key(
        &self,
        secret: &RootSecret,
        project: &str,
    ) -> Result<SecretString, CredentialsError> {
        let file = file_name(self.database);
        let kept = self
            .data
            .read(&file)?
            .map(|text| SecretString::from(text.trim_end()));
        if let Some(key) = kept
            && let Some(id) = self
                .tenants
                .key_is_good(secret, key.expose_secret())
                .await?
        {
            self.tenants.set_default_project(&id, Some(project)).await?;
            return Ok(key);
        }
        let request = KeyRequest {
            label: "archway dev".to_owned(),
            default_project: Some(project.to_owned()),
            ..KeyRequest::default()
        };
        let key = self
            .tenants
            .issue_key(self.tenant, secret, request)
            .await?
            .api_key;
        self.data
            .write(&file, &format!("{}\n", key.expose_secret()))?;
        Ok(key)
    }
}

/// A key is good in one database: trying another for a day must not cost the first one's.
fn file_name(database: &Database) -> String {
    let Some(label) = database.label() else {
        return API_KEY.to_owned();
    };
    let hash = short_hash(label.as_bytes());
    format!("{API_KEY}-{hash}")
}
