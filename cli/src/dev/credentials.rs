//! The secrets that `dev` keeps in its data folder, each in a file only its user can read (0600):
//! the root secret and the API key.
//!
//! The key is kept as text, which a real installation never does, so that client settings which
//! were pasted once stay good. It is made anew only if the database doesn't know it (any more).

use archway_gateway::secrets::{RootSecret, SecretError};
use archway_gateway::tenants::{KeyRequest, TenantError, Tenants};
use aws_lc_rs::digest;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use super::database::Database;
use crate::data_dir::{DataDir, DataDirError};

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

/// The key of this data folder and database, whose calls mean `project` unless they name another.
pub(super) async fn api_key(
    data: &DataDir,
    database: &Database,
    secret: &RootSecret,
    (tenants, tenant): (&Tenants, Uuid),
    project: &str,
) -> Result<SecretString, CredentialsError> {
    let file = file_name(database);
    let kept = data
        .read(&file)?
        .map(|text| SecretString::from(text.trim_end()));
    if let Some(key) = kept
        && let Some(id) = tenants.key_is_good(secret, key.expose_secret()).await?
    {
        tenants.set_default_project(&id, Some(project)).await?;
        return Ok(key);
    }
    let request = KeyRequest {
        label: "archway dev".to_owned(),
        default_project: Some(project.to_owned()),
        ..KeyRequest::default()
    };
    let issued = tenants.issue_key(tenant, secret, request).await?;
    data.write(&file, &format!("{}\n", issued.api_key.expose_secret()))?;
    Ok(issued.api_key)
}

/// A key is good in one database: trying another for a day must not cost the first one's.
fn file_name(database: &Database) -> String {
    let Some(label) = database.label() else {
        return API_KEY.to_owned();
    };
    let hash = digest::digest(&digest::SHA256, label.as_bytes());
    let hash: String = hash
        .as_ref()
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{API_KEY}-{hash}")
}
