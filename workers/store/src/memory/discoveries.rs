//! Discoveries: findings of an agent about a project, recorded for later agents.

use uuid::Uuid;

use super::{Author, WriteError, commit, not_written};
use crate::TenantStore;

/// A validated discovery.
#[derive(Debug)]
pub struct NewDiscovery {
    /// The project.
    pub project: Uuid,
    /// `pattern`, `rule`, `decision` or `issue`.
    pub kind: &'static str,
    /// The text.
    pub content: String,
    /// The module concerned.
    pub module: Option<String>,
    /// The files concerned.
    pub paths: Vec<String>,
    /// The discovery of the same project that it replaces.
    pub supersedes: Option<Uuid>,
}

/// A recorded discovery.
#[derive(Debug)]
pub struct RecordedDiscovery {
    /// The discovery's id.
    pub id: Uuid,
    /// Microseconds since 1970.
    pub created_at: i64,
}

impl TenantStore<'_> {
    /// Records a discovery, once per idempotency key.
    pub async fn record_discovery(
        &self,
        author: Author<'_>,
        discovery: &NewDiscovery,
    ) -> Result<RecordedDiscovery, WriteError> {
        let what = "recording a discovery";
        let mut tx = self.begin().await.map_err(WriteError::NotWritten)?;
        let row = sqlx::query!(
            r#"select outcome as "outcome!", id,
                      (extract(epoch from created_at) * 1000000)::bigint as created_at
               from record_discovery($1, $2, $3, $4, $5, $6, $7, $8)"#,
            discovery.project,
            author.principal,
            author.key.0,
            discovery.kind,
            discovery.content,
            discovery.module.as_deref(),
            &discovery.paths,
            discovery.supersedes
        )
        .fetch_one(&mut *tx)
        .await
        .map_err(not_written(what))?;
        WriteError::check_outcome(&row.outcome)?;
        commit(tx).await?;
        let (id, created_at) = row
            .id
            .zip(row.created_at)
            .ok_or_else(|| not_written(what)(sqlx::Error::RowNotFound))?;
        Ok(RecordedDiscovery { id, created_at })
    }
}
