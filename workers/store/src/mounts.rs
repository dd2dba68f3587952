//! What a worker reports about itself: which projects' folders it sees.

use super::{StoreError, Stores, failed};

impl Stores {
    /// Replaces what the worker `name` at `instance`, of `pool`, reported before: the folders `tenant/project` it
    /// sees now. Those that are no project are passed over.
    pub async fn report_mounts(
        &self,
        name: &str,
        instance: &str,
        pool: &str,
        folders: &[(String, String)],
    ) -> Result<(), StoreError> {
        let (tenants, projects): (Vec<String>, Vec<String>) = folders.iter().cloned().unzip();
        sqlx::query!(
            "select report_mounts($1, $2, $3, $4, $5)",
            name,
            instance,
            pool,
            &tenants,
            &projects
        )
        .execute(&self.pool)
        .await
        .map(|_done| ())
        .map_err(failed("reporting which projects are mounted"))
    }
}
