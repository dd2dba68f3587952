//! Principals of OIDC issuers: their tenant and revocations.

use sqlx::types::Json;
use uuid::Uuid;

use super::{StoreError, Stores, with_timeout};
use crate::terms::Override;

/// The row that `find_principal` returns.
pub(crate) struct PrincipalRow {
    pub(crate) tenant_id: Uuid,
    pub(crate) pool: String,
    /// Limits of the tenant that differ from the defaults.
    pub(crate) limits: Json<Vec<Override>>,
    /// False while the tenant is disabled.
    pub(crate) live: bool,
    /// Tokens issued before this are refused. Seconds since 1970.
    pub(crate) revoked_before: Option<f64>,
}

impl Stores {
    /// The record of a principal in the tenant with this slug. `None` for an unknown slug.
    pub(crate) async fn find_principal(
        &self,
        tenant: &str,
        id: &str,
    ) -> Result<Option<PrincipalRow>, StoreError> {
        let found = sqlx::query_as!(
            PrincipalRow,
            r#"select tenant_id as "tenant_id!", pool as "pool!",
                      limits as "limits!: Json<Vec<Override>>", live as "live!",
                      extract(epoch from revoked_before)::float8 as revoked_before
               from find_principal($1, $2)"#,
            tenant,
            id,
        )
        .fetch_optional(&self.pool);
        with_timeout("a principal", found).await
    }

    /// Deletes revocations whose tokens have all expired.
    pub(crate) async fn forget_old_revocations(&self) -> Result<(), StoreError> {
        let forgotten = sqlx::query!("select forget_old_revocations()").fetch_one(&self.pool);
        with_timeout("old revocations", forgotten)
            .await
            .map(|_nothing| ())
    }
}
