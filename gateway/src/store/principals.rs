//! What Postgres knows of the principals of OIDC issuers: their tenant, and what was taken back.

use sqlx::types::Json;
use uuid::Uuid;

use super::{StoreError, Stores, in_time};
use crate::terms::Override;

/// What `find_principal` returns.
pub(crate) struct PrincipalRow {
    pub(crate) tenant_id: Uuid,
    pub(crate) pool: String,
    /// What is set otherwise than by default for the tenant.
    pub(crate) limits: Json<Vec<Override>>,
    /// False while the tenant is disabled.
    pub(crate) live: bool,
    /// Tokens issued before are refused. Seconds since 1970.
    pub(crate) revoked_before: Option<f64>,
}

impl Stores {
    /// What holds for a principal in the tenant of this slug, or `None` for a slug nobody has.
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
        in_time("a principal", found).await
    }

    /// Removes what was taken back so long ago that its tokens have ended by themselves.
    pub(crate) async fn forget_old_revocations(&self) -> Result<(), StoreError> {
        let forgotten = sqlx::query!("select forget_old_revocations()").fetch_one(&self.pool);
        in_time("old revocations", forgotten)
            .await
            .map(|_nothing| ())
    }
}
