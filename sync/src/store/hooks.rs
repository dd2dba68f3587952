//! What webhooks need of the database.

use uuid::Uuid;

use super::{SyncStore, SyncStoreError, failed};
use crate::hooks::HookHost;

impl SyncStore {
    /// The connection that a webhook names: its id, and which host it has. A list of URLs has none.
    pub(crate) async fn hook_connection(
        &self,
        tenant: &str,
        name: &str,
    ) -> Result<Option<(Uuid, HookHost)>, SyncStoreError> {
        // The settings stay there: they may be long, and anybody can ask.
        let row = sqlx::query!(
            r#"select connection_id as "connection_id!", settings ? 'github' as "is_github!",
                      settings ? 'gitlab' as "is_gitlab!", settings ? 'gitea' as "is_gitea!"
               from find_hook_connection($1, $2)"#,
            tenant,
            name
        )
        .fetch_optional(&self.pool)
        .await
        .map_err(failed("reading a connection"))?;
        Ok(row.and_then(|row| {
            let host = match (row.is_github, row.is_gitlab, row.is_gitea) {
                (true, ..) => HookHost::GitHub,
                (_, true, _) => HookHost::GitLab,
                (.., true) => HookHost::Gitea,
                _ => return None,
            };
            Some((row.connection_id, host))
        }))
    }

    /// Makes the mirrors of one repository due, by the host's id or else by its path.
    pub(crate) async fn request_mirrors(
        &self,
        connection: Uuid,
        host_id: Option<&str>,
        host_path: Option<&str>,
    ) -> Result<(), SyncStoreError> {
        let call = sqlx::query!(
            "select request_mirrors($1, $2, $3)",
            connection,
            host_id,
            host_path
        );
        self.execute(call, "making mirrors due").await
    }

    /// Makes a listing due.
    pub(crate) async fn request_listing(&self, connection: Uuid) -> Result<(), SyncStoreError> {
        let call = sqlx::query!("select request_listing($1)", connection);
        self.execute(call, "making a listing due").await
    }
}
