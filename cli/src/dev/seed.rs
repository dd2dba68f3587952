//! Puts into the database what calls need to be answered: tenant, projects and key, by the code
//! that applies an operator's file.
//!
//! What was changed by command since stays: names, path rules, the key's scopes and end, projects that
//! were removed. Only the folder that `--repo` names comes back, because its user asks for it.

use crate::tenants::{
    KeyRequest, Project as StoredProject, TenantError, Tenants, TenantsTx, generate_key, key_id,
};
use archway_gateway::secrets::RootSecret;
use secrecy::{ExposeSecret, SecretString};

use super::TENANT;
use super::credentials::{self, CredentialsError, KeyFile};
use super::database::{Database, DatabaseError};
use super::projects::Project;
use crate::data_dir::DataDir;
use crate::wanted::{
    Wanted, WantedError, WantedKey, WantedName, WantedProject, WantedTenant, carry_out,
};

/// Why the database has not what calls need.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// It doesn't answer, or its schema is not right.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The secrets can't be kept.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// It can't be looked at.
    #[error(transparent)]
    Tenants(#[from] TenantError),
    /// Tenant, projects or key were refused.
    #[error(transparent)]
    Wanted(#[from] WantedError),
}

/// What was put there, as the rest of `dev` needs it.
pub(super) struct Seeded {
    pub(super) secret: RootSecret,
    pub(super) api_key: SecretString,
    /// The slug of the project that calls with the key mean unless they name another.
    pub(super) default: String,
    /// The folders whose projects were not removed.
    pub(super) served: Vec<Project>,
}

/// Brings the schema up to date and makes tenant, projects and key what they shall be. A new key means
/// `project` where a call names none; one that is there goes on meaning what it did, so that pasted
/// settings do not read another repository all at once.
pub(super) async fn seed(
    data: &DataDir,
    database: &Database,
    project: &Project,
    served: Vec<Project>,
) -> Result<Seeded, SeedError> {
    let owner = database.owner_pool().await?;
    let tenants = Tenants::new(owner.clone());
    let secret = credentials::root_secret(data)?;
    let file = KeyFile::of(database, data);
    let kept = good_key(&tenants, &secret, file.read()?).await?;
    let (api_key, is_new) = match kept {
        Some(kept) => (kept, false),
        None => (generate_key()?.api_key, true),
    };
    let mut tx = tenants.begin().await?;
    let removed = removed(&mut tx).await?;
    let still = |folder: &Project| folder == project || !removed.contains(&folder.slug);
    let served: Vec<Project> = served.into_iter().filter(still).collect();
    let there = terms_of(&mut tx, &api_key).await?;
    let is_kept = |slug: &String| *slug == project.slug || !removed.contains(slug);
    let default = there
        .as_ref()
        .and_then(|terms| terms.default_project.clone());
    let default = default
        .filter(is_kept)
        .unwrap_or_else(|| project.slug.clone());
    let terms = changed(there, &default);
    let wanted = wanted(&served, &api_key, terms);
    carry_out(&mut tx, &wanted, Some(&secret), None).await?;
    tx.commit().await?;
    owner.close().await;
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

/// The kept key, if this database takes it.
async fn good_key(
    tenants: &Tenants,
    secret: &RootSecret,
    kept: Option<SecretString>,
) -> Result<Option<SecretString>, TenantError> {
    let Some(kept) = kept else { return Ok(None) };
    let good = tenants.key_is_good(secret, kept.expose_secret()).await?;
    Ok(good.map(|_id| kept))
}

/// The slugs of the projects that were removed by command.
async fn removed(tx: &mut TenantsTx) -> Result<Vec<String>, TenantError> {
    let tenant = match tx.find_tenant(TENANT).await {
        Err(TenantError::Missing { .. }) => return Ok(Vec::new()),
        found => found?,
    };
    let removed = |project: StoredProject| project.removed_at.map(|_at| project.slug);
    Ok(tx
        .projects(tenant)
        .await?
        .into_iter()
        .filter_map(removed)
        .collect())
}

/// The key's own terms, if it has any yet.
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

/// The key's terms, its own where it has any, with this default. `None` if it has these: it is left
/// alone, with a project that was removed since, too.
fn changed(there: Option<KeyRequest>, default: &str) -> Option<KeyRequest> {
    let new = || KeyRequest {
        label: "archway dev".to_owned(),
        ..KeyRequest::default()
    };
    let wanted = KeyRequest {
        default_project: Some(default.to_owned()),
        ..there.clone().unwrap_or_else(new)
    };
    Some(wanted).filter(|wanted| there.as_ref() != Some(wanted))
}

fn wanted(served: &[Project], api_key: &SecretString, terms: Option<KeyRequest>) -> Wanted {
    let key = |terms| WantedKey {
        text: api_key.clone(),
        terms,
        limits: None,
    };
    let project = |folder: &Project| WantedProject {
        slug: folder.slug.clone(),
        name: WantedName::AtFirst(folder.display_name().map(str::to_owned)),
        globs: None,
    };
    Wanted {
        tenants: vec![WantedTenant {
            slug: TENANT.to_owned(),
            name: WantedName::AtFirst(None),
            disabled: None,
            pool: None,
            limits: None,
            projects: Some(served.iter().map(project).collect()),
            keys: terms.map(|terms| vec![key(terms)]),
        }],
    }
}
