//! Answers of `archway project`.

use std::collections::BTreeMap;

use serde::Serialize;
use uuid::Uuid;

use crate::admin::print::{Answer, listed, moment, table, table_by_tenant};
use crate::tenants::Project;

/// What was done to a project.
#[derive(Serialize)]
pub(super) struct ProjectChange<'a> {
    tenant: &'a str,
    project: &'a str,
    done: &'static str,
}

impl<'a> ProjectChange<'a> {
    pub(super) fn new(tenant: &'a str, project: &'a str, done: &'static str) -> Self {
        ProjectChange {
            tenant,
            project,
            done,
        }
    }
}

impl Answer for ProjectChange<'_> {
    fn text(&self) -> String {
        format!("project {}/{}: {}", self.tenant, self.project, self.done)
    }
}

/// The projects of one tenant, or of all.
#[derive(Serialize)]
pub(super) struct ProjectList<'a> {
    /// Null: all tenants.
    tenant: Option<&'a str>,
    projects: Vec<ListedProject>,
}

#[derive(Serialize)]
struct ListedProject {
    tenant: String,
    slug: String,
    name: Option<String>,
    /// Null: the built-in list.
    allow: Option<Vec<String>>,
    open: Vec<String>,
    close: Vec<String>,
    created_at: String,
    removed_at: Option<String>,
    /// Workers that reported the folder within the last 90 s.
    workers: Vec<String>,
}

impl<'a> ProjectList<'a> {
    /// An empty list, of this tenant or of all.
    pub(super) fn new(tenant: Option<&'a str>) -> Self {
        let projects = Vec::new();
        ProjectList { tenant, projects }
    }

    /// Adds a tenant's projects.
    pub(super) fn add(
        &mut self,
        tenant: &str,
        projects: Vec<Project>,
        mut workers: BTreeMap<Uuid, Vec<String>>,
    ) {
        let row = |project: Project| {
            let workers = workers.remove(&project.id).unwrap_or_default();
            ListedProject::new(tenant, project, workers)
        };
        self.projects.extend(projects.into_iter().map(row));
    }
}

impl ListedProject {
    fn new(tenant: &str, project: Project, workers: Vec<String>) -> Self {
        ListedProject {
            tenant: tenant.to_owned(),
            slug: project.slug,
            name: project.settings.name,
            allow: project.settings.allow,
            open: project.settings.open,
            close: project.settings.close,
            created_at: moment(project.created_at),
            removed_at: project.removed_at.map(moment),
            workers,
        }
    }

    fn cells(&self) -> [String; 7] {
        [
            self.slug.clone(),
            self.name.clone().unwrap_or_else(|| self.slug.clone()),
            listed(Some(&self.workers), "no worker yet (they look every 5 s)"),
            listed(self.allow.as_deref(), "built-in"),
            listed(Some(&self.open), "-"),
            listed(Some(&self.close), "-"),
            self.removed_at
                .as_ref()
                .map_or_else(|| "served".to_owned(), |at| format!("removed {at}")),
        ]
    }
}

impl Answer for ProjectList<'_> {
    fn text(&self) -> String {
        let header = [
            "project", "name", "workers", "allow", "open", "close", "state",
        ];
        let rows = self.projects.iter();
        let Some(tenant) = self.tenant else {
            let rows = rows.map(|row| (row.tenant.clone(), row.cells()));
            return table_by_tenant(header, rows.collect(), "no projects");
        };
        let none = format!("tenant {tenant} has no projects");
        table(header, rows.map(ListedProject::cells).collect(), &none)
    }
}
