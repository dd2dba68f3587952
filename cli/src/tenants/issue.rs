//! Making API keys: issued, rotated, or taken over from a text that was made before.
//!
//! A key's secret exists in the answer and nowhere else: what is stored is an HMAC of it, and which
//! line of the root secret keyed it.

use std::time::{Duration, SystemTime};

use archway_gateway::{KeyText, secrets::RootSecret};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use super::{
    Key, KeyRequest, KeyState, TenantError, TenantsTx, error::query, keys::scope_names, micros,
};

/// A key at the one moment its secret is known. `Debug` doesn't show it.
#[derive(Debug)]
pub struct IssuedKey {
    /// The public part.
    pub id: String,
    /// The whole key: what a client sends.
    pub api_key: SecretString,
}

/// A key as it is stored.
struct NewKey<'a> {
    text: &'a SecretString,
    /// Whose successor it is; `None`: nobody's.
    lineage: Option<Uuid>,
    terms: &'a KeyRequest,
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
        let new = NewKey {
            text: &key.api_key,
            lineage: None,
            terms: &terms,
        };
        self.store_key(tenant, secret, new).await?;
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
        let terms = self.checked(tenant, terms).await?;
        let lineage = self.lineage_of(tenant, &terms.label).await?;
        let new = NewKey {
            text,
            lineage,
            terms: &terms,
        };
        self.store_key(tenant, secret, new).await
    }

    /// Issues a key with the lineage and the rights of an older one, which is good for `overlap`
    /// yet (0: no longer). The new one lives until `expires_at`, else for as long as the last of
    /// the lineage was given. Rights are passed on as they are, also to a project that was removed
    /// since.
    ///
    /// # Errors
    /// [`TenantError::KeyRevoked`] for an older key that was, [`TenantError::Rotated`] for one
    /// whose successor is good.
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
        let given = self.given(&older).await?;
        let terms = KeyRequest {
            expires_at: expires_at.or_else(|| SystemTime::now().checked_add(given?)),
            ..older.terms
        };
        let key = generate_key()?;
        let new = NewKey {
            text: &key.api_key,
            lineage: Some(older.lineage),
            terms: &terms,
        };
        self.store_key(older.tenant, secret, new).await?;
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

    /// The lineage that a key of this label continues: of the last that was not revoked.
    async fn lineage_of(&mut self, tenant: Uuid, label: &str) -> Result<Option<Uuid>, TenantError> {
        sqlx::query_scalar!(
            r#"select lineage from api_keys
               where tenant_id = $1 and label = $2 and label <> '' and revoked_at is null
               order by created_at desc, id collate "C" desc limit 1"#,
            tenant,
            label
        )
        .fetch_optional(&mut *self.tx)
        .await
        .map_err(query("find a key's lineage"))
    }

    /// For how long a key's lineage is given, if not for ever. Its last key says so: the end of
    /// any other came from being rotated.
    async fn given(&mut self, older: &Key) -> Result<Option<Duration>, TenantError> {
        let keys = self.keys(older.tenant).await?.into_iter();
        let successors = keys
            .skip_while(|key| key.id != older.id)
            .filter(|key| key.lineage == older.lineage && key.id != older.id);
        let mut last = older.clone();
        for successor in successors {
            if successor.state == KeyState::Live {
                return Err(TenantError::Rotated {
                    id: older.id.clone(),
                    successor: successor.id,
                });
            }
            last = successor;
        }
        let end = last.terms.expires_at;
        Ok(end.and_then(|end| end.duration_since(last.created_at).ok()))
    }

    async fn store_key(
        &mut self,
        tenant: Uuid,
        secret: &RootSecret,
        new: NewKey<'_>,
    ) -> Result<(), TenantError> {
        let NewKey {
            text,
            lineage,
            terms,
        } = new;
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
