//! Administration of API keys.
//!
//! A key's secret exists in the answer to [`Tenants::issue_key`] and nowhere else: what is stored
//! is an HMAC of it, and which line of the root secret keyed it.

use std::time::Duration;

use archway_proto::catalog::Scope;
use secrecy::SecretString;
use uuid::Uuid;

use super::{TenantError, Tenants, query};
use crate::{auth::key::KeyText, secrets::RootSecret};

/// What a new key shall be.
#[derive(Clone, Debug)]
pub struct KeyRequest {
    /// For people.
    pub label: String,
    /// What it carries.
    pub scopes: Vec<Scope>,
    /// The project slugs it may read; `None` for all of the tenant's.
    pub projects: Option<Vec<String>>,
    /// The families of tools it covers; `None` for all.
    pub families: Option<Vec<String>>,
    /// The project a call without `project` means; must be among `projects`.
    pub default_project: Option<String>,
    /// How long it is good; `None` until revoked.
    pub lifetime: Option<Duration>,
}

impl Default for KeyRequest {
    /// A key that reads and writes memory, for all projects, until revoked.
    fn default() -> Self {
        KeyRequest {
            label: String::new(),
            scopes: vec![Scope::ToolsRead, Scope::MemoryWrite],
            projects: None,
            families: None,
            default_project: None,
            lifetime: None,
        }
    }
}

/// A key at the one moment its secret is known.
#[derive(Debug)]
pub struct IssuedKey {
    /// The public part.
    pub id: String,
    /// The whole key: what a client sends.
    pub api_key: SecretString,
}

impl Tenants {
    /// Issues a key. Its secret is in the answer and nowhere else: only an HMAC is stored.
    pub async fn issue_key(
        &self,
        tenant: Uuid,
        secret: &RootSecret,
        request: KeyRequest,
    ) -> Result<IssuedKey, TenantError> {
        let within = |slugs: &Vec<String>, slug| slugs.contains(slug);
        if let (Some(projects), Some(default)) = (&request.projects, &request.default_project)
            && !within(projects, default)
        {
            return Err(TenantError::DefaultOutside(default.clone()));
        }
        let key = KeyText::generate().map_err(|_unspecified| TenantError::Crypto)?;
        let (line, hash) = secret.hash_key(key.secret());
        let scopes: Vec<String> = request
            .scopes
            .iter()
            .map(|scope| scope.name().to_owned())
            .collect();
        sqlx::query!(
            "insert into api_keys (id, tenant_id, label, secret_hash, secret_line, scopes, \
                 projects, families, default_project, expires_at) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + make_interval(secs => $10))",
            key.id().as_str(),
            tenant,
            request.label,
            hash,
            line,
            &scopes,
            request.projects.as_deref(),
            request.families.as_deref(),
            request.default_project,
            request.lifetime.map(|lifetime| lifetime.as_secs_f64()),
        )
        .execute(&self.owner)
        .await
        .map_err(query("issue a key"))?;
        Ok(IssuedKey {
            id: key.id().as_str().to_owned(),
            api_key: key.text(),
        })
    }

    /// Makes `project` what a call without `project` means, for the key of this id.
    pub async fn set_default_project(
        &self,
        key_id: &str,
        project: Option<&str>,
    ) -> Result<(), TenantError> {
        let allowed = sqlx::query_scalar!("select projects from api_keys where id = $1", key_id)
            .fetch_optional(&self.owner)
            .await
            .map_err(query("find a key"))?
            .ok_or_else(|| TenantError::Missing {
                kind: "key",
                name: key_id.to_owned(),
            })?;
        if let (Some(allowed), Some(project)) = (allowed, project)
            && !allowed.iter().any(|slug| slug == project)
        {
            return Err(TenantError::DefaultOutside(project.to_owned()));
        }
        sqlx::query!(
            "update api_keys set default_project = $2 where id = $1",
            key_id,
            project
        )
        .execute(&self.owner)
        .await
        .map_err(query("set a default project"))?;
        Ok(())
    }

    /// Revokes the key of this id; gateways refuse it once they read its record again.
    pub async fn revoke_key(&self, key_id: &str) -> Result<(), TenantError> {
        sqlx::query!(
            "update api_keys set revoked_at = now() where id = $1",
            key_id
        )
        .execute(&self.owner)
        .await
        .map_err(query("revoke a key"))?;
        Ok(())
    }

    /// The id of a key that is good now: known, not revoked or expired, its secret right under
    /// `secret`; `None` for any other text.
    pub async fn key_is_good(
        &self,
        secret: &RootSecret,
        api_key: &str,
    ) -> Result<Option<String>, TenantError> {
        let Some(key) = KeyText::parse(api_key) else {
            return Ok(None);
        };
        let row = sqlx::query!(
            r#"select secret_hash as "secret_hash!", secret_line as "secret_line!",
                      (live and (expires_at is null or expires_at > now())) as "good!"
               from find_api_key($1)"#,
            key.id().as_str()
        )
        .fetch_optional(&self.owner)
        .await
        .map_err(query("check a key"))?;
        let good = row.is_some_and(|row| {
            row.good && secret.key_matches(&row.secret_line, key.secret(), &row.secret_hash)
        });
        Ok(good.then(|| key.id().as_str().to_owned()))
    }
}
