//! Administration of projects: add, list, change, remove, restore, erase.
//!
//! A removed project is served to no caller, and keeps its rows and its slug: what was written about
//! one repository must not appear in another. Only erasing the rows frees the slug.

use std::time::SystemTime;

use uuid::Uuid;

use super::{
    TenantError, TenantsTx,
    error::query,
    moment,
    names::{check_project_slug, check_text},
};

/// What an operator sets for a project. Default: shows its slug, built-in path rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectSettings {
    /// Its display name; `None` shows the slug.
    pub name: Option<String>,
    /// Globs that `read_repo_file` may read; `None` for the built-in list.
    pub allow: Option<Vec<String>>,
    /// Globs that allow names which the path rules block.
    pub open: Vec<String>,
    /// Globs that block further names.
    pub close: Vec<String>,
}

/// A project as administration lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its id.
    pub id: Uuid,
    /// Its slug: its folder's name below the tenant's folder.
    pub slug: String,
    /// Its settings.
    pub settings: ProjectSettings,
    /// When it was added.
    pub created_at: SystemTime,
    /// When it was removed; `None` while it is served.
    pub removed_at: Option<SystemTime>,
}

/// A row of `projects`.
pub(super) struct ProjectRow {
    pub(super) id: Uuid,
    pub(super) slug: String,
    pub(super) name: Option<String>,
    pub(super) allow_globs: Option<Vec<String>>,
    pub(super) open_globs: Vec<String>,
    pub(super) close_globs: Vec<String>,
    pub(super) created_at: i64,
    pub(super) removed_at: Option<i64>,
}

impl TenantsTx {
    /// Adds a project to a tenant. The globs must have been checked.
    pub async fn add_project(
        &mut self,
        tenant: Uuid,
        slug: &str,
        settings: &ProjectSettings,
    ) -> Result<Uuid, TenantError> {
        check_project_slug(slug)?;
        check_name(settings)?;
        let added = sqlx::query_scalar!(
            "insert into projects (tenant_id, slug, name, allow_globs, open_globs, close_globs) \
             values ($1, $2, $3, $4, $5, $6) on conflict (tenant_id, slug) do nothing returning id",
            tenant,
            slug,
            settings.name,
            settings.allow.as_deref(),
            &settings.open,
            &settings.close
        )
        .fetch_optional(&mut *self.tx)
        .await
        .map_err(query("add a project"))?;
        match added {
            Some(id) => Ok(id),
            None => Err(self.find_project(tenant, slug).await.map_or_else(
                |removed| removed,
                |_project| TenantError::Exists {
                    kind: "project",
                    slug: slug.to_owned(),
                },
            )),
        }
    }

    /// A tenant's projects by slug, removed ones included.
    pub async fn projects(&mut self, tenant: Uuid) -> Result<Vec<Project>, TenantError> {
        let rows = sqlx::query_as!(
            ProjectRow,
            r#"select id, slug, name, allow_globs, open_globs, close_globs,
                      (extract(epoch from created_at) * 1000000)::bigint as "created_at!",
                      (extract(epoch from removed_at) * 1000000)::bigint as removed_at
               from projects p where tenant_id = $1 order by slug collate "C""#,
            tenant
        )
        .fetch_all(&mut *self.tx)
        .await
        .map_err(query("list projects"))?;
        Ok(rows.into_iter().map(Project::from).collect())
    }

    /// The slugs of a tenant's projects, without removed ones.
    pub async fn project_slugs(&mut self, tenant: Uuid) -> Result<Vec<String>, TenantError> {
        let projects = self.projects(tenant).await?.into_iter();
        let projects = projects.filter(|it| it.removed_at.is_none());
        Ok(projects.map(|it| it.slug).collect())
    }

    /// A tenant's project that was not removed.
    pub async fn find_project(&mut self, tenant: Uuid, slug: &str) -> Result<Project, TenantError> {
        let project = self.find_any_project(tenant, slug).await?;
        match project.removed_at {
            None => Ok(project),
            Some(_at) => Err(TenantError::Removed(project.slug)),
        }
    }

    /// Replaces a project's settings. The globs must have been checked. Workers apply them within
    /// 5 s.
    pub async fn set_project(
        &mut self,
        project: Uuid,
        settings: &ProjectSettings,
    ) -> Result<(), TenantError> {
        check_name(settings)?;
        sqlx::query!(
            "update projects set name = $2, allow_globs = $3, open_globs = $4, close_globs = $5 \
             where id = $1",
            project,
            settings.name,
            settings.allow.as_deref(),
            &settings.open,
            &settings.close
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("change a project"))?;
        Ok(())
    }

    /// Removes a project. Workers stop serving it within 5 s; its rows stay.
    pub async fn remove_project(&mut self, tenant: Uuid, slug: &str) -> Result<(), TenantError> {
        let project = self.find_project(tenant, slug).await?;
        sqlx::query!(
            "update projects set removed_at = now() where id = $1",
            project.id
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("remove a project"))?;
        Ok(())
    }

    /// Restores a removed project with all its rows. Returns whether it was removed.
    pub async fn restore_project(&mut self, tenant: Uuid, slug: &str) -> Result<bool, TenantError> {
        let project = self.find_any_project(tenant, slug).await?;
        let changed = sqlx::query!(
            "update projects set removed_at = null where id = $1 and removed_at is not null",
            project.id
        )
        .execute(&mut *self.tx)
        .await
        .map_err(query("restore a project"))?;
        Ok(changed.rows_affected() > 0)
    }

    /// Erases a removed project: every row about it, in every table. This frees its slug.
    ///
    /// # Errors
    /// [`TenantError::InUse`] unless it was removed, [`TenantError::Listed`] if the next listing would bring it back.
    pub async fn purge_project(&mut self, tenant: Uuid, slug: &str) -> Result<(), TenantError> {
        let project = self.find_any_project(tenant, slug).await?;
        if project.removed_at.is_none() {
            return Err(TenantError::InUse {
                kind: "project",
                slug: slug.to_owned(),
                first: "remove",
            });
        }
        let listed_by = sqlx::query_scalar!(
            "select c.name from sources s join connections c on c.id = s.connection_id and c.removed_at is null \
             where s.project_id = $1 and s.out_of_use is null",
            project.id
        );
        let listed_by = listed_by.fetch_optional(&mut *self.tx).await;
        if let Some(connection) = listed_by.map_err(query("find a project's connection"))? {
            return Err(TenantError::Listed {
                slug: slug.to_owned(),
                connection,
            });
        }
        // Foreign keys delete the rows about it.
        sqlx::query!("delete from projects where id = $1", project.id)
            .execute(&mut *self.tx)
            .await
            .map_err(query("erase a project"))?;
        Ok(())
    }

    async fn find_any_project(&mut self, tenant: Uuid, slug: &str) -> Result<Project, TenantError> {
        let row = sqlx::query_as!(
            ProjectRow,
            r#"select id, slug, name, allow_globs, open_globs, close_globs,
                      (extract(epoch from created_at) * 1000000)::bigint as "created_at!",
                      (extract(epoch from removed_at) * 1000000)::bigint as removed_at
               from projects where tenant_id = $1 and slug = $2"#,
            tenant,
            slug
        )
        .fetch_optional(&mut *self.tx)
        .await
        .map_err(query("find a project"))?;
        row.map(Project::from)
            .ok_or_else(|| self.missing("project", slug))
    }
}

impl From<ProjectRow> for Project {
    fn from(row: ProjectRow) -> Project {
        Project {
            id: row.id,
            slug: row.slug,
            settings: ProjectSettings {
                name: row.name,
                allow: row.allow_globs,
                open: row.open_globs,
                close: row.close_globs,
            },
            created_at: moment(row.created_at),
            removed_at: row.removed_at.map(moment),
        }
    }
}

fn check_name(settings: &ProjectSettings) -> Result<(), TenantError> {
    settings
        .name
        .as_deref()
        .map_or(Ok(()), |name| check_text("name", name))
}
