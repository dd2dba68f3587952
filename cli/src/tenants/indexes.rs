//! Administration of indexes: how they stand, and that one is wanted now.
//!
//! The workers own the tables: functions of their migration answer, which only the owner may call.

use std::time::{Duration, SystemTime};

use uuid::Uuid;

use super::{TenantError, TenantsTx, error::query};

/// How the index of a project stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexState {
    /// The project's slug.
    pub project: String,
    /// Home, embedding model and form; `None` before any worker began one.
    pub made_by: Option<String>,
    /// HEAD's commit when it was last whole.
    pub commit: Option<String>,
    /// When it was last whole.
    pub indexed_at: Option<SystemTime>,
    /// Texts that are indexed,
    pub done: u64,
    /// of so many.
    pub total: u64,
    /// Chunks of all these texts.
    pub chunks: u64,
    /// A worker is at it.
    pub is_running: bool,
    /// Somebody asked for it, and no worker came yet.
    pub is_asked: bool,
    /// Why it was not made whole, when that was last tried.
    pub failure: Option<String>,
}

impl TenantsTx {
    /// How the indexes of a tenant's projects stand, by slug, the latest of a project first.
    ///
    /// # Errors
    /// If Postgres gives no answer.
    pub async fn index_states(&mut self, tenant: Uuid) -> Result<Vec<IndexState>, TenantError> {
        let rows = sqlx::query!(
            r#"select project as "project!", made_by, commit_id,
                      (extract(epoch from indexed_at) * 1000)::bigint as indexed_ms, done, total,
                      chunks, is_running as "is_running!", is_asked as "is_asked!", failure
               from index_states($1)"#,
            tenant
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("read how indexes stand"))?;
        let count = |number: Option<i64>| u64::try_from(number.unwrap_or(0)).unwrap_or(0);
        let states = rows.into_iter().map(|row| IndexState {
            project: row.project,
            made_by: row.made_by,
            commit: row.commit_id,
            indexed_at: row.indexed_ms.and_then(moment),
            done: count(row.done),
            total: count(row.total),
            chunks: count(row.chunks),
            is_running: row.is_running,
            is_asked: row.is_asked,
            failure: row.failure,
        });
        Ok(states.collect())
    }

    /// Has the workers look at a project's index now; false if none of them began one yet.
    ///
    /// # Errors
    /// If Postgres gives no answer.
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
        Ok(asked.map_err(query("ask for an index"))? > 0)
    }
}

fn moment(milliseconds: i64) -> Option<SystemTime> {
    let since = Duration::from_millis(u64::try_from(milliseconds).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since)
}
