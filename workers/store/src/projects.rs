//! The tenant's projects. The gateway owns the table; workers only read it.

use uuid::Uuid;

use super::{StoreError, TenantStore, failed};

/// A project as it is stored.
pub struct ProjectRow {
    /// The project's id.
    pub id: Uuid,
    /// The name in arguments and results.
    pub slug: String,
    /// The name for people.
    pub name: Option<String>,
    /// Paths that `read_repo_file` may read; `None` means the defaults.
    pub allow_globs: Option<Vec<String>>,
    /// Paths that are open although their names are blocked.
    pub open_globs: Vec<String>,
    /// Paths that are closed.
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
