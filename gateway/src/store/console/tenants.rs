//! Tenants, their keys, projects and limits, as the operator's page lists them: by page, in order of a name.

use super::super::{StoreError, Stores, with_timeout};

/// Rows of a page of a list.
const PAGE: i32 = 50;
/// Limits of one tenant that are listed at most.
const MOST_LIMITS: i32 = 200;
/// Rows of a tenant's calls by day, tool and outcome that are read at most.
const MOST_USAGE: i32 = 2_000;

/// A page of a list.
#[derive(Debug)]
pub(crate) struct Listed<T> {
    /// At most 50.
    pub(crate) rows: Vec<T>,
    /// All that match, on this page or not.
    pub(crate) matches: u64,
    /// Whether more follow.
    pub(crate) more: bool,
}

impl<T> Listed<T> {
    /// The first 50 of the rows, of which one more was asked for.
    fn of(mut rows: Vec<T>, matches: impl Fn(&T) -> i64) -> Self {
        let all = rows.first().map_or(0, |row| matches(row).unsigned_abs());
        let page = PAGE.unsigned_abs() as usize;
        let more = rows.len() > page;
        rows.truncate(page);
        Listed {
            rows,
            matches: all,
            more,
        }
    }
}

/// A tenant.
#[derive(Debug)]
pub(crate) struct TenantRow {
    pub(crate) tenant: String,
    pub(crate) name: String,
    pub(crate) pool: String,
    pub(crate) disabled: bool,
    pub(crate) projects: i64,
    pub(crate) live_keys: i64,
    /// Spent of this month.
    pub(crate) units: i64,
    /// The limit by the month.
    pub(crate) quota: Option<i32>,
    matches: i64,
}

/// A limit that differs from the default.
#[derive(Debug)]
pub(crate) struct TenantLimit {
    /// The key's id, if the limit is for one key.
    pub(crate) key: Option<String>,
    pub(crate) level: String,
    pub(crate) of: String,
    /// 0 for none.
    pub(crate) per_minute: i32,
}

/// A key, and what it did in the last seven days.
#[derive(Debug)]
pub(crate) struct KeyRow {
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) scopes: Vec<String>,
    /// All if it names none.
    pub(crate) projects: Option<Vec<String>>,
    pub(crate) families: Option<Vec<String>>,
    pub(crate) created_seconds: i64,
    /// Until it expires; negative once it has.
    pub(crate) expires_seconds: Option<i64>,
    pub(crate) revoked: bool,
    /// Since the beginning of the hour of its last call.
    pub(crate) used_hours: Option<i32>,
    pub(crate) calls: i64,
    /// At most five names.
    pub(crate) agents: Option<Vec<String>>,
    matches: i64,
}

/// A project.
#[derive(Debug)]
pub(crate) struct ProjectRow {
    pub(crate) project: String,
    pub(crate) name: String,
    /// Of the repository that is mirrored; without a secret.
    pub(crate) url: Option<String>,
    /// The state of the mirror, if there is one.
    pub(crate) sync: Option<String>,
    pub(crate) sync_message: Option<String>,
    pub(crate) fetched_seconds: Option<i64>,
    /// The mirror's commit.
    pub(crate) head: Option<String>,
    /// `whole`, `running`, `failed` or `waiting`.
    pub(crate) index: String,
    /// The commit that was indexed.
    pub(crate) commit_id: Option<String>,
    pub(crate) indexed_seconds: Option<i64>,
    pub(crate) done: Option<i64>,
    pub(crate) total: Option<i64>,
    pub(crate) chunks: Option<i64>,
    pub(crate) failure: Option<String>,
    /// Workers that have its folder.
    pub(crate) workers: i64,
    matches: i64,
}

/// Calls of a day with one tool and outcome.
#[derive(Debug)]
pub(crate) struct UsageRow {
    /// 0 for today, 6 for the first day.
    pub(crate) days_ago: i32,
    pub(crate) tool: String,
    pub(crate) outcome: String,
    pub(crate) calls: i64,
    pub(crate) units: i64,
    /// Of all of them.
    pub(crate) duration_ms: f64,
}

impl Stores {
    /// A tenant, if there is one of this slug.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub(crate) async fn console_tenant(
        &self,
        tenant: &str,
    ) -> Result<Option<TenantRow>, StoreError> {
        let mut listed = self.listed_tenants(Some(tenant), "", "").await?;
        Ok(listed.rows.pop())
    }

    /// Tenants whose slug or name has the text, after a slug.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub(crate) async fn console_tenants(
        &self,
        search: &str,
        after: &str,
    ) -> Result<Listed<TenantRow>, StoreError> {
        self.listed_tenants(None, search, after).await
    }

    async fn listed_tenants(
        &self,
        tenant: Option<&str>,
        search: &str,
        after: &str,
    ) -> Result<Listed<TenantRow>, StoreError> {
        let rows = sqlx::query_as!(
            TenantRow,
            r#"select tenant as "tenant!", name as "name!", pool as "pool!", disabled as "disabled!",
                      projects as "projects!", live_keys as "live_keys!", units as "units!", quota,
                      matches as "matches!"
               from console_tenants($1, $2, $3, $4)"#,
            tenant,
            search,
            after,
            PAGE + 1
        )
        .fetch_all(&self.pool);
        let rows = with_timeout("a list of tenants", rows).await?;
        Ok(Listed::of(rows, |row| row.matches))
    }

    /// The limits of a tenant and its keys that differ from the defaults: at most 200.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub(crate) async fn console_limits(
        &self,
        tenant: &str,
    ) -> Result<Vec<TenantLimit>, StoreError> {
        let rows = sqlx::query_as!(
            TenantLimit,
            r#"select key, level as "level!", of as "of!", per_minute as "per_minute!"
               from console_limits($1, $2)"#,
            tenant,
            MOST_LIMITS
        )
        .fetch_all(&self.pool);
        with_timeout("the limits of a tenant", rows).await
    }

    /// The keys of a tenant after a label and id, or one of them.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub(crate) async fn console_keys(
        &self,
        tenant: &str,
        key: Option<&str>,
        (label, id): (&str, &str),
    ) -> Result<Listed<KeyRow>, StoreError> {
        let rows = sqlx::query_as!(
            KeyRow,
            r#"select id as "id!", label as "label!", scopes as "scopes!", projects, families,
                      created_seconds as "created_seconds!", expires_seconds, revoked as "revoked!", used_hours,
                      calls as "calls!", agents, matches as "matches!"
               from console_keys($1, $2, $3, $4, $5)"#,
            tenant,
            key,
            label,
            id,
            PAGE + 1
        )
        .fetch_all(&self.pool);
        let rows = with_timeout("the keys of a tenant", rows).await?;
        Ok(Listed::of(rows, |row| row.matches))
    }

    /// The projects of a tenant whose slug has the text, after a slug, or one of them.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub(crate) async fn console_projects(
        &self,
        tenant: &str,
        project: Option<&str>,
        (search, after): (&str, &str),
    ) -> Result<Listed<ProjectRow>, StoreError> {
        let rows = sqlx::query_as!(
            ProjectRow,
            r#"select project as "project!", name as "name!", url, sync, sync_message, fetched_seconds, head,
                      index as "index!", commit_id, indexed_seconds, done, total, chunks, failure,
                      workers as "workers!", matches as "matches!"
               from console_projects($1, $2, $3, $4, $5)"#,
            tenant,
            project,
            search,
            after,
            PAGE + 1
        )
        .fetch_all(&self.pool);
        let rows = with_timeout("the projects of a tenant", rows).await?;
        Ok(Listed::of(rows, |row| row.matches))
    }

    /// The calls of a tenant, one of its keys or projects in the last seven days.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub(crate) async fn console_usage(
        &self,
        tenant: &str,
        key: Option<&str>,
        project: Option<&str>,
    ) -> Result<Vec<UsageRow>, StoreError> {
        let rows = sqlx::query_as!(
            UsageRow,
            r#"select days_ago as "days_ago!", tool as "tool!", outcome as "outcome!", calls as "calls!",
                      units as "units!", duration_ms as "duration_ms!"
               from console_usage($1, $2, $3, $4)"#,
            tenant,
            key,
            project,
            MOST_USAGE
        )
        .fetch_all(&self.pool);
        with_timeout("the calls of a tenant", rows).await
    }
}
