//! Which projects are mirrored from a remote, for `archway dev` and for lists of projects.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::error::query;
use super::{TenantError, TenantsTx};

/// A project that is mirrored from a remote.
#[derive(Clone, Debug)]
pub struct MirroredProject {
    /// The project.
    pub project: Uuid,
    /// Its slug.
    pub slug: String,
    /// The URL of the remote.
    pub url: String,
    /// The name of a file in the folder of credentials.
    pub credential: Option<String>,
    /// A name of `SyncState`.
    pub state: String,
    /// Whether a run ever succeeded.
    pub was_fetched: bool,
    /// Whether the project was removed.
    pub is_removed: bool,
}

impl TenantsTx {
    /// The mirrored projects of a tenant by slug, removed ones included.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn project_sources(
        &mut self,
        tenant: Uuid,
    ) -> Result<Vec<MirroredProject>, TenantError> {
        sqlx::query_as!(
            MirroredProject,
            r#"select p.id as project, p.slug, s.url, s.credential,
                      coalesce(m.state, 'new') as "state!", m.fetched_at is not null as "was_fetched!",
                      p.removed_at is not null as "is_removed!"
               from sources s join projects p on p.id = s.project_id
               left join lateral (
                   select * from (select state, fetched_at from mirrors
                                  where project_id = s.project_id) of_project
                   order by fetched_at desc nulls last limit 1
               ) m on true
               where s.tenant_id = $1 order by p.slug collate "C""#,
            tenant
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list sources"))
    }

    /// Names another credential of a mirrored project.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn set_credential(
        &mut self,
        project: Uuid,
        credential: &str,
    ) -> Result<(), TenantError> {
        sqlx::query!(
            "update sources set credential = $2 where project_id = $1",
            project,
            credential
        )
        .execute(&mut *self.tx)
        .await
        .map(drop)
        .map_err(query("change the credential of a source"))
    }

    /// Those of these projects that are mirrored, and whether each still waits for its mirror, or has it only
    /// since a moment ago.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn mirrored_projects(
        &mut self,
        projects: &[Uuid],
    ) -> Result<BTreeMap<Uuid, bool>, TenantError> {
        let rows = sqlx::query!(
            r#"select s.project_id, not exists (
                   select from mirrors m where m.project_id = s.project_id and m.fetched_at is not null
                   and m.changed_at < now() - interval '15 seconds'
               ) as "is_waiting!"
               from sources s where s.project_id = any($1)"#,
            projects
        );
        let rows = rows.fetch_all(&mut *self.tx).await;
        let rows = rows.map_err(query("find mirrored projects"))?;
        Ok(rows
            .into_iter()
            .map(|row| (row.project_id, row.is_waiting))
            .collect())
    }
}
