//! Seeds the database with what calls need: tenant, projects and key, through the same code as
//! `archway apply`.
//!
//! Changes made by commands since then stay: names, path rules, the key's scopes and end, removed
//! projects. Only what `--repo` names is restored, because its user asks for it.

use archway_gateway::secrets::RootSecret;
use secrecy::{ExposeSecret, SecretString};
use sqlx::PgPool;

use super::TENANT;
use super::credentials::{self, CredentialsError, KeyFile};
use super::database::{Database, DatabaseError};
use super::projects::ProjectsError;
use super::served::{Resolved, Served, Wanted};
use crate::data_dir::DataDir;
use crate::desired::{
    self, DesiredKey, DesiredName, DesiredProject, DesiredSource, DesiredState, DesiredTenant,
    ReconcileError,
};
use crate::tenants::{KeyRequest, TenantError, Tenants, TenantsTx, generate_key, key_id};

/// Why the database could not be seeded.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// It does not answer, or its schema is not right.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The secrets cannot be stored.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The remembered folders cannot be read or written.
    #[error(transparent)]
    Projects(#[from] ProjectsError),
    /// A new repository by ssh has no key.
    #[error(
        "{0} cannot be read without a key: name one with --credential, as `archway dev --help` explains"
    )]
    NoKey(String),
    /// It cannot be read.
    #[error(transparent)]
    Tenants(#[from] TenantError),
    /// Tenant, projects or key were refused.
    #[error(transparent)]
    Reconcile(#[from] ReconcileError),
}

/// What was seeded, as far as the rest of `dev` needs it.
pub(super) struct Seeded {
    pub(super) secret: RootSecret,
    pub(super) api_key: SecretString,
    /// The slug of the project of calls that name none.
    pub(super) default: String,
    pub(super) served: Served,
}

/// Migrates the schema and applies tenant, projects and key. The first of `wanted` becomes a new key's default
/// project. An existing key keeps its default, so that pasted settings do not suddenly read another
/// repository.
pub(super) async fn seed(
    data: &DataDir,
    (database, owner): (&Database, &PgPool),
    wanted: &Wanted<'_>,
) -> Result<Seeded, SeedError> {
    let tenants = Tenants::new(owner.clone());
    let secret = credentials::root_secret(data)?;
    let file = KeyFile::of(database, data);
    let stored_key = good_key(&tenants, &secret, file.read()?).await?;
    let (api_key, is_new) = match stored_key {
        Some(stored_key) => (stored_key, false),
        None => (generate_key()?.api_key, true),
    };
    let mut tx = tenants.begin().await?;
    let resolved = Resolved::of(&mut tx, data, wanted).await?;
    let stored = terms_of(&mut tx, &api_key).await?;
    let default = stored
        .as_ref()
        .and_then(|terms| terms.default_project.clone());
    let default = default.filter(|slug| resolved.is_served(slug));
    let default = default.unwrap_or_else(|| resolved.first().to_owned());
    let terms = changed_terms(stored, &default);
    let state = desired_state(&resolved, &api_key, terms);
    desired::apply(&mut tx, &state, Some(&secret), None).await?;
    let served = resolved.store_sources(&mut tx, wanted.credential).await?;
    tx.commit().await?;
    if is_new {
        file.write(&api_key)?;
    }
    Ok(Seeded {
        secret,
        api_key,
        default,
        served,
    })
}

/// The stored key, if it is valid in this database.
async fn good_key(
    tenants: &Tenants,
    secret: &RootSecret,
    stored_key: Option<SecretString>,
) -> Result<Option<SecretString>, TenantError> {
    let Some(stored_key) = stored_key else {
        return Ok(None);
    };
    let good = tenants
        .key_is_good(secret, stored_key.expose_secret())
        .await?;
    Ok(good.map(|_id| stored_key))
}

/// The stored terms of the key, if it exists.
async fn terms_of(
    tx: &mut TenantsTx,
    key: &SecretString,
) -> Result<Option<KeyRequest>, TenantError> {
    let id = key_id(key).ok_or(TenantError::NoKey)?;
    match tx.find_key(&id).await {
        Err(TenantError::Missing { .. }) => Ok(None),
        found => Ok(Some(found?.terms)),
    }
}

/// The key's terms with this default project. `None` if nothing changes: then the key is not written,
/// even if it names a project that was removed since.
fn changed_terms(stored: Option<KeyRequest>, default: &str) -> Option<KeyRequest> {
    let new = || KeyRequest {
        label: "archway dev".to_owned(),
        ..KeyRequest::default()
    };
    let terms = KeyRequest {
        default_project: Some(default.to_owned()),
        ..stored.clone().unwrap_or_else(new)
    };
    Some(terms).filter(|terms| stored.as_ref() != Some(terms))
}

fn desired_state(
    resolved: &Resolved,
    api_key: &SecretString,
    terms: Option<KeyRequest>,
) -> DesiredState {
    let key = |terms| DesiredKey {
        text: api_key.clone(),
        terms,
        left_out: Vec::new(),
        limits: None,
    };
    let project = |(slug, name): (&str, Option<&str>)| DesiredProject {
        source: DesiredSource::Unchanged,
        slug: slug.to_owned(),
        name: DesiredName::AtFirst(name.map(str::to_owned)),
        globs: None,
        left_out: Vec::new(),
    };
    DesiredState {
        tenants: vec![DesiredTenant {
            connections: None,
            access: None,
            slug: TENANT.to_owned(),
            name: DesiredName::AtFirst(None),
            disabled: None,
            pool: None,
            limits: None,
            projects: Some(resolved.desired().map(project).collect()),
            keys: terms.map(|terms| vec![key(terms)]),
        }],
    }
}
