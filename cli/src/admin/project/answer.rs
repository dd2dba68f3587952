//! What `archway project` answers.

use std::collections::BTreeMap;

use archway_gateway::tenants::Project;
use serde::Serialize;
use uuid::Uuid;

use crate::admin::print::{Answer, listed, moment, table};

/// What was done to a project.
#[derive(Serialize)]
pub(super) struct Done<'a> {
    tenant: &'a str,
    project: &'a str,
    done: &'static str,
}

impl<'a> Done<'a> {
    pub(super) fn new(tenant: &'a str, project: &'a str, done: &'static str) -> Self {
        Done {
            tenant,
            project,
            done,
        }
    }
}

impl Answer for Done<'_> {
    fn text(&self) -> String {
        format!("project {}/{}: {}", self.tenant, self.project, self.done)
    }
}

/// A tenant's projects.
#[derive(Serialize)]
pub(super) struct List<'a> {
    tenant: &'a str,
    projects: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    slug: String,
    name: Option<String>,
    /// Null: the built-in list.
    allow: Option<Vec<String>>,
    open: Vec<String>,
    close: Vec<String>,
    created_at: String,
    removed_at: Option<String>,
    /// Those that reported the folder within the last 90 s.
    workers: Vec<String>,
}

impl<'a> List<'a> {
    pub(super) fn new(
        tenant: &'a str,
        projects: Vec<Project>,
        mut workers: BTreeMap<Uuid, Vec<String>>,
    ) -> Self {
        let row = |project: Project| {
            let workers = workers.remove(&project.id).unwrap_or_default();
            Row::new(project, workers)
        };
        let projects = projects.into_iter().map(row).collect();
        List { tenant, projects }
    }
}

impl Row {
    fn new(project: Project, workers: Vec<String>) -> Self {
        Row {
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
}

impl Answer for List<'_> {
    fn text(&self) -> String {
        let header = [
            "project", "name", "workers", "allow", "open", "close", "state",
        ];
        let row = |row: &Row| {
            [
                row.slug.clone(),
                row.name.clone().unwrap_or_else(|| row.slug.clone()),
                listed(Some(&row.workers), "none sees it"),
                listed(row.allow.as_deref(), "built-in"),
                listed(Some(&row.open), "-"),
                listed(Some(&row.close), "-"),
                row.removed_at
                    .as_ref()
                    .map_or_else(|| "served".to_owned(), |at| format!("removed {at}")),
            ]
        };
        let rows = self.projects.iter().map(row).collect();
        table(
            header,
            rows,
            &format!("tenant {} has no projects", self.tenant),
        )
    }
}
