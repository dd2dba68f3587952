//! Administration of indexes: their state, and requests to index now.
//!
//! The workers own these tables. Functions of their migration do the work, and only the owner may call
//! them.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use uuid::Uuid;

use super::{TenantError, TenantsTx, error::query};

/// The state of a project's index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexState {
    /// Vector store, embedding model and index format; `None` before any worker began.
    pub made_by: Option<String>,
    /// HEAD's commit when the index was last complete.
    pub commit: Option<String>,
    /// When the index was last complete.
    pub indexed_at: Option<SystemTime>,
    /// Texts that are indexed.
    pub done: u64,
    /// Texts in all.
    pub total: u64,
    /// Files that are left out, since they exceed the workers' memory for indexes.
    pub left_out: u64,
    /// Chunks of all texts.
    pub chunks: u64,
    /// Whether a worker is indexing it.
    pub is_running: bool,
    /// Whether indexing was requested and no worker has picked it up yet.
    pub is_asked: bool,
    /// Why the last attempt did not complete.
    pub failure: Option<String>,
}

impl TenantsTx {
    /// The state of the indexes of these projects, the latest of a project first.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn index_states(
        &mut self,
        projects: &[Uuid],
    ) -> Result<HashMap<Uuid, Vec<IndexState>>, TenantError> {
        let rows = sqlx::query!(
            r#"select project_id as "project_id!", made_by, commit_id,
                      (extract(epoch from indexed_at) * 1000)::bigint as indexed_ms, done, total,
                      left_out, chunks, is_running as "is_running!", is_asked as "is_asked!", failure
               from states_of_indexes($1)"#,
            projects
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("read the state of indexes"))?;
        let count = |number: Option<i64>| u64::try_from(number.unwrap_or(0)).unwrap_or(0);
        let mut states: HashMap<Uuid, Vec<IndexState>> = HashMap::new();
        for row in rows {
            states.entry(row.project_id).or_default().push(IndexState {
                made_by: row.made_by,
                commit: row.commit_id,
                indexed_at: row.indexed_ms.and_then(moment),
                done: count(row.done),
                total: count(row.total),
                left_out: count(row.left_out),
                chunks: count(row.chunks),
                is_running: row.is_running,
                is_asked: row.is_asked,
                failure: row.failure,
            });
        }
        Ok(states)
    }

    /// Requests that workers index a project now. Returns false if no worker has begun an index yet.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn ask_for_index(
        &mut self,
        tenant: Uuid,
        project: Uuid,
    ) -> Result<bool, TenantError> {
        let asked = sqlx::query_scalar!(
            r#"select ask_for_index($1, $2) as "asked!""#,
            tenant,
            project
        );
        let asked = asked.fetch_one(&mut *self.tx).await;
        Ok(asked.map_err(query("request an index"))? > 0)
    }
}

fn moment(milliseconds: i64) -> Option<SystemTime> {
    let since = Duration::from_millis(u64::try_from(milliseconds).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since)
}
