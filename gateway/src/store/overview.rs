//! What the database says of the whole installation to who operates it: how indexes stand, and which
//! limits were set. The one place where a gateway is told of more than one tenant, in functions
//! that answer nothing else.

use serde::Serialize;
use sqlx::PgExecutor;

use super::{StoreError, Stores, in_time};

/// Projects that are not whole, and limits, that are told at most.
const MOST: i32 = 50;

/// How the indexes of all projects stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IndexOverview {
    /// Projects whose index is whole.
    pub whole: u64,
    /// Projects whose index is being made.
    pub running: u64,
    /// Projects whose index could not be made when that was last tried.
    pub failed: u64,
    /// Projects that no worker came to yet.
    pub waiting: u64,
    /// Those that are not whole, what runs first: at most 50.
    pub unfinished: Vec<UnfinishedIndex>,
}

/// A project whose index is not whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnfinishedIndex {
    /// Its tenant's slug.
    pub tenant: String,
    /// Its slug.
    pub project: String,
    /// `running`, `failed` or `waiting`.
    pub state: String,
    /// Texts that are indexed,
    pub done: u64,
    /// of so many.
    pub total: u64,
    /// Why it was not made whole, when that was last tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What may be spent other than by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LimitsOverview {
    /// How many limits are set.
    pub total: u64,
    /// The first 50 of them, by tenant.
    pub set: Vec<LimitSet>,
}

/// A limit that was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimitSet {
    /// The tenant's slug.
    pub tenant: String,
    /// The id of the key, if it is one key's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `session`, `key` or `tenant`.
    pub level: String,
    /// A tool, a method, or the total of everything.
    pub of: String,
    /// Calls or units a minute; 0 is no limit.
    pub per_minute: u32,
}

impl IndexOverview {
    /// Read with any connection whose role may.
    pub async fn read(from: impl PgExecutor<'_>) -> Result<Self, sqlx::Error> {
        let rows = sqlx::query!(
            r#"select state as "state!", projects, tenant, project, done, total, failure
               from index_overview($1)"#,
            MOST
        )
        .fetch_all(from)
        .await?;
        let mut overview = IndexOverview::default();
        for row in rows {
            let projects = row.projects.unwrap_or(0).unsigned_abs();
            match (row.tenant, row.project, row.state.as_str()) {
                (Some(tenant), Some(project), _) => overview.unfinished.push(UnfinishedIndex {
                    tenant,
                    project,
                    state: row.state,
                    done: row.done.unwrap_or(0).unsigned_abs(),
                    total: row.total.unwrap_or(0).unsigned_abs(),
                    failure: row.failure,
                }),
                (_, _, "whole") => overview.whole = projects,
                (_, _, "running") => overview.running = projects,
                (_, _, "failed") => overview.failed = projects,
                _ => overview.waiting = projects,
            }
        }
        Ok(overview)
    }
}

impl LimitsOverview {
    /// Read with any connection whose role may.
    pub async fn read(from: impl PgExecutor<'_>) -> Result<Self, sqlx::Error> {
        let rows = sqlx::query!(
            r#"select tenant as "tenant!", key, level as "level!", of as "of!",
                      per_minute as "per_minute!", all_rows as "all_rows!"
               from limits_overview($1)"#,
            MOST
        )
        .fetch_all(from)
        .await?;
        let total = rows.first().map_or(0, |row| row.all_rows.unsigned_abs());
        let set = rows.into_iter().map(|row| LimitSet {
            tenant: row.tenant,
            key: row.key,
            level: row.level,
            of: row.of,
            per_minute: row.per_minute.unsigned_abs(),
        });
        Ok(LimitsOverview {
            total,
            set: set.collect(),
        })
    }
}

impl Stores {
    /// How indexes stand.
    pub(crate) async fn index_overview(&self) -> Result<IndexOverview, StoreError> {
        in_time("how indexes stand", IndexOverview::read(&self.pool)).await
    }

    /// What limits are set.
    pub(crate) async fn limits_overview(&self) -> Result<LimitsOverview, StoreError> {
        in_time("what limits are set", LimitsOverview::read(&self.pool)).await
    }
}
