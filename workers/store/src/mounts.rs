//! A worker's report of the project folders it can see.

use super::{StoreError, Stores, failed};

impl Stores {
    /// Records that the worker `name` at `instance` is there and sees what it last reported. Returns
    /// whether it has to report again: a project was added since, or it never reported.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn worker_lives(&self, name: &str, instance: &str) -> Result<bool, StoreError> {
        sqlx::query_scalar!(
            r#"select worker_lives($1, $2) as "report!""#,
            name,
            instance
        )
        .fetch_one(&self.pool)
        .await
        .map_err(failed("reporting that the worker lives"))
    }

    /// Replaces the last report of the worker `name` at `instance` in `pool` with the folders
    /// `(tenant, project)` it sees now. Folders that are not projects are ignored.
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
