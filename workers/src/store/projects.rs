//! The tenant's projects. The gateway owns the table; a worker only reads it.

use uuid::Uuid;

use super::{StoreError, TenantStore, failed};

/// A project as it is stored.
pub(crate) struct ProjectRow {
    pub(crate) id: Uuid,
    pub(crate) slug: String,
    pub(crate) name: Option<String>,
    pub(crate) allow_globs: Option<Vec<String>>,
    pub(crate) open_globs: Vec<String>,
    pub(crate) close_globs: Vec<String>,
}

impl TenantStore<'_> {
    /// All projects of the tenant, by slug.
    pub(crate) async fn projects(&self) -> Result<Vec<ProjectRow>, StoreError> {
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
