//! Whether stored keys were made under a root secret.
//!
//! What a reader would get wrong: a wrong root secret looks like any other, and only the stored keys
//! reveal it. No gateway accepts a key that was made or rehashed under a wrong secret.

use archway_gateway::{KeyText, secrets::RootSecret};
use secrecy::{ExposeSecret, SecretString};

use super::{KeyState, TenantError, Tenants, TenantsTx, error::query};

impl TenantsTx {
    /// Checks that this can be the gateways' root secret: if there are live keys, one of its lines
    /// made one of them.
    ///
    /// # Errors
    /// [`TenantError::OtherSecret`] if no live key was made under it.
    pub async fn check_secret(&mut self, secret: &RootSecret) -> Result<(), TenantError> {
        let lines = sqlx::query!(
            r#"select secret_line, count(*) as "keys!" from api_keys
               where revoked_at is null and (expires_at is null or expires_at > now())
               group by secret_line"#
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("check the root secret"))?;
        if lines.is_empty() || lines.iter().any(|line| secret.has_line(&line.secret_line)) {
            return Ok(());
        }
        let keys = lines.iter().map(|line| line.keys.unsigned_abs()).sum();
        Err(TenantError::OtherSecret(keys))
    }

    /// Checks that the key stored under this id is this key. If the line of the root secret that
    /// hashed it is gone, so that no gateway can verify it, the key is rehashed. Returns whether
    /// it was.
    ///
    /// # Errors
    /// [`TenantError::KeyTaken`] if the stored secret differs, [`TenantError::KeyRevoked`].
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
        .map_err(query("rehash a key"))?;
        Ok(true)
    }
}

impl Tenants {
    /// The id of a live key whose secret is right under `secret`; `None` for any other text.
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
