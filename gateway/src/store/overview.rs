//! The state of the whole installation for operators: indexes, and limits that differ from the
//! defaults. Only here does a gateway read about more than one tenant, through functions that
//! answer nothing else.

use serde::Serialize;
use sqlx::PgExecutor;

use super::{StoreError, Stores, with_timeout};

/// Rows listed at most: incomplete projects, and limits.
const MOST: i32 = 50;

/// The state of all projects' indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IndexOverview {
    /// Projects with a complete index.
    pub whole: u64,
    /// Projects whose index is being built.
    pub running: u64,
    /// Projects whose last attempt to build the index failed.
    pub failed: u64,
    /// Projects that no worker has started on.
    pub waiting: u64,
    /// Projects with an incomplete index, running ones first: at most 50.
    pub unfinished: Vec<UnfinishedIndex>,
}

/// A project with an incomplete index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnfinishedIndex {
    /// The tenant's slug.
    pub tenant: String,
    /// The project's slug.
    pub project: String,
    /// `running`, `failed` or `waiting`.
    pub state: String,
    /// Indexed texts.
    pub done: u64,
    /// All texts.
    pub total: u64,
    /// Why the last attempt did not complete it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Limits that differ from the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LimitsOverview {
    /// How many there are.
    pub total: u64,
    /// The first 50, by tenant.
    pub set: Vec<LimitSet>,
}

/// A limit that differs from the default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LimitSet {
    /// The tenant's slug.
    pub tenant: String,
    /// The key's id, if the limit is for one key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `session`, `key` or `tenant`.
    pub level: String,
    /// A tool, a method, or the total.
    pub of: String,
    /// Calls or units a minute; 0 means unlimited.
    pub per_minute: u32,
}

impl IndexOverview {
    /// Reads it over any connection whose role is allowed to.
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
    /// Reads it over any connection whose role is allowed to.
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
    /// The state of all indexes.
    pub(crate) async fn index_overview(&self) -> Result<IndexOverview, StoreError> {
        with_timeout("the state of indexes", IndexOverview::read(&self.pool)).await
    }

    /// The limits that differ from the defaults.
    pub(crate) async fn limits_overview(&self) -> Result<LimitsOverview, StoreError> {
        with_timeout("the limits that were set", LimitsOverview::read(&self.pool)).await
    }
}
