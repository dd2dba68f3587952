//! Lists of projects, of one tenant or of all, and the workers that reported them.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::projects::ProjectRow;
use super::{Project, TenantError, TenantsTx, error::query};

/// A project's folder, as a worker reported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedMount {
    /// The worker's name.
    pub worker: String,
    /// The host and port where it runs; empty if unknown.
    pub instance: String,
    /// Seconds since it reported the folder, by the database's clock. A running worker reports at
    /// least every 30 s.
    pub seconds_ago: u64,
}

/// Which projects to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProjectQuery<'a> {
    /// Only of this tenant.
    pub tenant: Option<Uuid>,
    /// Only with this slug.
    pub slug: Option<&'a str>,
    /// Only after this tenant's slug and project's slug.
    pub after: Option<(&'a str, &'a str)>,
    /// At most this many.
    pub limit: Option<i64>,
    /// Whether removed ones are included.
    pub with_removed: bool,
}

impl TenantsTx {
    /// The selected projects, with the slugs of their tenants, by tenant and slug.
    ///
    /// # Errors
    /// If Postgres does not answer.
    pub async fn query_projects(
        &mut self,
        of: &ProjectQuery<'_>,
    ) -> Result<Vec<(String, Project)>, TenantError> {
        let rows = sqlx::query!(
            r#"select t.slug as tenant, p.id, p.slug, p.name, allow_globs, open_globs, close_globs,
                      (extract(epoch from p.created_at) * 1000000)::bigint as "created_at!",
                      (extract(epoch from removed_at) * 1000000)::bigint as removed_at
               from projects p join tenants t on t.id = p.tenant_id
               where ($1::uuid is null or t.id = $1) and ($2::text is null or p.slug = $2)
                 and ($3::text is null
                      or (t.slug collate "C", p.slug collate "C") > ($3 collate "C", $4 collate "C"))
                 and ($5 or removed_at is null)
               order by t.slug collate "C", p.slug collate "C" limit $6"#,
            of.tenant,
            of.slug,
            of.after.map(|(tenant, _)| tenant),
            of.after.map(|(_, project)| project),
            of.with_removed,
            of.limit
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list projects"))?;
        let rows = rows.into_iter().map(|row| {
            let project = ProjectRow {
                id: row.id,
                slug: row.slug,
                name: row.name,
                allow_globs: row.allow_globs,
                open_globs: row.open_globs,
                close_globs: row.close_globs,
                created_at: row.created_at,
                removed_at: row.removed_at,
            };
            (row.tenant, Project::from(project))
        });
        Ok(rows.collect())
    }

    /// By project, the workers that reported its folder within the last day, by name. A worker that
    /// stopped, or no longer has the folder, is not among them.
    pub async fn workers_by_project(
        &mut self,
        projects: &[Uuid],
    ) -> Result<BTreeMap<Uuid, Vec<ReportedMount>>, TenantError> {
        let rows = sqlx::query!(
            r#"select project_id as "project_id!", worker as "worker!", instance as "instance!",
                      extract(epoch from now() - seen_at)::bigint as "seconds_ago!"
               from mounted_folders
               where project_id = any($1) and seen_at > now() - interval '1 day'
               order by worker collate "C", instance collate "C""#,
            projects
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list the workers of projects"))?;
        let mut workers: BTreeMap<Uuid, Vec<ReportedMount>> = BTreeMap::new();
        for row in rows {
            workers
                .entry(row.project_id)
                .or_default()
                .push(ReportedMount {
                    worker: row.worker,
                    instance: row.instance,
                    // A worker that reports while this is read may be ahead of it.
                    seconds_ago: row.seconds_ago.max(0).unsigned_abs(),
                });
        }
        Ok(workers)
    }
}
