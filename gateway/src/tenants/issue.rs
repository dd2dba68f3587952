//! Making API keys: issued, rotated, or taken over from a text that was made before.
//!
//! A key's secret exists in the answer and nowhere else: what is stored is an HMAC of it, and which
//! line of the root secret keyed it.

use std::time::{Duration, SystemTime};

use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use super::{
    KeyRequest, KeyState, TenantError, Tenants, TenantsTx, error::query, keys::scope_names, micros,
};
use crate::{auth::key::KeyText, secrets::RootSecret};

/// A key at the one moment its secret is known. `Debug` doesn't show it.
#[derive(Debug)]
pub struct IssuedKey {
    /// The public part.
    pub id: String,
    /// The whole key: what a client sends.
    pub api_key: SecretString,
}

/// A random key that is stored nowhere: good once a tenant takes it, see [`TenantsTx::take_key`].
pub fn generate_key() -> Result<IssuedKey, TenantError> {
    let key = KeyText::generate().map_err(|_unspecified| TenantError::Crypto)?;
    Ok(IssuedKey {
        id: key.id().as_str().to_owned(),
        api_key: key.text(),
    })
}

/// The public part of a key's text; `None` if it is malformed.
pub fn key_id(text: &SecretString) -> Option<String> {
    Some(
        KeyText::parse(text.expose_secret())?
            .id()
            .as_str()
            .to_owned(),
    )
}

impl TenantsTx {
    /// Issues a key with a lineage of its own. Its secret is in the answer and nowhere else.
    pub async fn issue_key(
        &mut self,
        tenant: Uuid,
        secret: &RootSecret,
        terms: &KeyRequest,
    ) -> Result<IssuedKey, TenantError> {
        let key = generate_key()?;
        let terms = self.checked(tenant, terms).await?;
        self.store_key(tenant, secret, &key.api_key, (None, &terms))
            .await?;
        Ok(key)
    }

    /// Makes a key that was generated before one of the tenant's. If it has another of the same
    /// label that was not revoked, this one is its successor and continues its lineage.
    pub async fn take_key(
        &mut self,
        tenant: Uuid,
        secret: &RootSecret,
        text: &SecretString,
        terms: &KeyRequest,
    ) -> Result<(), TenantError> {
        let older = self.keys(tenant).await?.into_iter().rev();
        let lineage = older
            .filter(|key| key.state != KeyState::Revoked && !key.terms.label.is_empty())
            .find(|key| key.terms.label == terms.label)
            .map(|key| key.lineage);
        let terms = self.checked(tenant, terms).await?;
        self.store_key(tenant, secret, text, (lineage, &terms))
            .await
    }

    /// Issues a key with the lineage and the rights of an older one, which is good for `overlap`
    /// yet (0: no longer). The new one lives until `expires_at`, else for as long as the older one
    /// was given. Rights are passed on as they are, also to a project that was removed since.
    ///
    /// # Errors
    /// [`TenantError::KeyRevoked`] for an older key that was.
    pub async fn rotate_key(
        &mut self,
        id: &str,
        secret: &RootSecret,
        overlap: Duration,
        expires_at: Option<SystemTime>,
    ) -> Result<IssuedKey, TenantError> {
        let older = self.find_key(id).await?;
        if older.state == KeyState::Revoked {
            return Err(TenantError::KeyRevoked(id.to_owned()));
        }
        let given = older.terms.expires_at;
        let given = given.and_then(|end| end.duration_since(older.created_at).ok());
        let terms = KeyRequest {
            expires_at: expires_at.or_else(|| SystemTime::now().checked_add(given?)),
            ..older.terms
        };
        let key = generate_key()?;
        let lineage = Some(older.lineage);
        self.store_key(older.tenant, secret, &key.api_key, (lineage, &terms))
            .await?;
        sqlx::query!(
            "update api_keys set expires_at = \
                 least(expires_at, now() + make_interval(secs => $2)) where id = $1",
            id,
            overlap.as_secs_f64()
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("end the older key"))?;
        Ok(key)
    }

    /// Whether what is stored under this key's id is this key. Where the line of the root secret
    /// that hashed it is gone, so that no gateway could tell, the key is hashed anew.
    ///
    /// # Errors
    /// [`TenantError::KeyTaken`] if the secret is another, [`TenantError::KeyRevoked`].
    pub async fn confirm_key(
        &mut self,
        secret: &RootSecret,
        text: &SecretString,
    ) -> Result<bool, TenantError> {
        let key = KeyText::parse(text.expose_secret()).ok_or(TenantError::NoKey)?;
        let id = key.id().as_str();
        if self.find_key(id).await?.state == KeyState::Revoked {
            return Err(TenantError::KeyRevoked(id.to_owned()));
        }
        let stored = sqlx::query!(
            "select secret_hash, secret_line from api_keys where id = $1",
            id
        )
        .fetch_one(&mut *self.tx)
        .await
        .map_err(query("check a key"))?;
        if secret.key_matches(&stored.secret_line, key.secret(), &stored.secret_hash) {
            return Ok(false);
        }
        if secret.has_line(&stored.secret_line) {
            return Err(TenantError::KeyTaken(id.to_owned()));
        }
        let (line, hash) = secret.hash_key(key.secret());
        sqlx::query!(
            "update api_keys set secret_line = $2, secret_hash = $3 where id = $1",
            id,
            line,
            hash
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("hash a key anew"))?;
        Ok(true)
    }

    async fn store_key(
        &mut self,
        tenant: Uuid,
        secret: &RootSecret,
        text: &SecretString,
        (lineage, terms): (Option<Uuid>, &KeyRequest),
    ) -> Result<(), TenantError> {
        let key = KeyText::parse(text.expose_secret()).ok_or(TenantError::NoKey)?;
        let (line, hash) = secret.hash_key(key.secret());
        let stored = sqlx::query!(
            "insert into api_keys (id, tenant_id, lineage, label, secret_hash, secret_line, \
                 scopes, projects, families, default_project, agents, expires_at) \
             values ($1, $2, coalesce($3, gen_random_uuid()), $4, $5, $6, $7, $8, $9, $10, $11, \
                 timestamptz 'epoch' + $12::bigint * interval '1 microsecond') \
             on conflict (id) do nothing",
            key.id().as_str(),
            tenant,
            lineage,
            terms.label,
            hash,
            line,
            &scope_names(&terms.scopes),
            terms.projects.as_deref(),
            terms.families.as_deref(),
            terms.default_project,
            i32::try_from(terms.agents).unwrap_or(i32::MAX),
            terms.expires_at.map(micros)
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("store a key"))?;
        if stored.rows_affected() == 0 {
            return Err(TenantError::KeyTaken(key.id().as_str().to_owned()));
        }
        Ok(())
    }
}

impl Tenants {
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
