//! The tenant's projects. The gateway owns the table; a worker only reads it.

use uuid::Uuid;

use super::{StoreError, TenantStore, failed};

/// A project as it is stored.
pub struct ProjectRow {
    pub id: Uuid,
    pub slug: String,
    pub name: Option<String>,
    pub allow_globs: Option<Vec<String>>,
    pub open_globs: Vec<String>,
    pub close_globs: Vec<String>,
}

impl TenantStore<'_> {
    /// All projects of the tenant, by slug.
    pub async fn projects(&self) -> Result<Vec<ProjectRow>, StoreError> {
        let mut tx = self.begin().await?;
        sqlx::query_as!(
            ProjectRow,
            "select id, slug, name, allow_globs, open_globs, close_globs from projects \
             where tenant_id = $1 and removed_at is null \
             order by slug collate \"C\"",
            self.tenant
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(failed("reading projects"))
    }
}
