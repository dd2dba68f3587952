//! Creating API keys: issued, rotated, or taken from a text that was generated earlier.
//!
//! A key's secret exists only in the answer. The database stores its HMAC, and which line of the
//! root secret keyed it.

use std::time::{Duration, SystemTime};

use archway_gateway::{KeyText, secrets::RootSecret};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use super::{
    Key, KeyRequest, KeyState, TenantError, TenantsTx, error::query, keys::scope_names, micros,
};

/// A new key with its secret, which is known only now. `Debug` doesn't show it.
#[derive(Debug)]
pub struct IssuedKey {
    /// The public part.
    pub id: String,
    /// The whole key: what a client sends.
    pub api_key: SecretString,
}

/// A key to store.
struct NewKey<'a> {
    text: &'a SecretString,
    /// The lineage of the key it succeeds; `None` for a new lineage.
    lineage: Option<Uuid>,
    terms: &'a KeyRequest,
}

/// A random key that is stored nowhere. It is good once [`TenantsTx::take_key`] stores it.
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
    /// Issues a key with a lineage of its own. Only the answer holds its secret.
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

    /// Stores a key that was generated earlier. If the tenant has an unrevoked key with the same
    /// label, the new key is its successor and continues its lineage.
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

    /// Issues a key with the lineage and the rights of an older one, which stays good for `overlap`
    /// (0: it ends now). The new key ends at `expires_at`; without it, it lives as long as the
    /// lineage's last key was issued for. Rights are copied unchecked, also those to a project that
    /// was removed since.
    ///
    /// # Errors
    /// [`TenantError::KeyRevoked`] if the older key was revoked, [`TenantError::Rotated`] if its
    /// successor is live.
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

    /// The lineage that a key with this label continues: that of the newest unrevoked one.
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

    /// The lifetime that a key's lineage was issued for; `None` if it never ends. The lineage's last
    /// key decides: rotation set the end of all others.
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
