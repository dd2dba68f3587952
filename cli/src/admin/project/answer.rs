//! Answers of `archway project`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Serialize;
use uuid::Uuid;

use super::state::{self, Place, ProjectState};
use crate::admin::page::{ProjectPage, with_next};
use crate::admin::print::{Answer, distinct_names, listed, moment, table, table_by_tenant};
use crate::dev::TENANT;
use crate::tenants::{Project, ReportedMount};

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
    /// The value of `--after` for the next page; null after the last one.
    next: Option<String>,
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
    /// How long ago a worker reported the folder last. Null: within the last day none did that is not
    /// stopped in an orderly way or without the folder by now.
    last_seen_seconds: Option<u64>,
    state: ProjectState,
}

impl<'a> ProjectList<'a> {
    /// Projects of this tenant or of all, with the workers that reported them. `folders` are those that
    /// the running `archway dev` remembers, `None` for any other installation. Those of `mirrored` may
    /// still wait for their mirror.
    pub(super) fn new(
        tenant: Option<&'a str>,
        page: ProjectPage,
        mut workers: BTreeMap<Uuid, Vec<ReportedMount>>,
        (folders, mirrored): (Option<BTreeMap<String, PathBuf>>, BTreeMap<Uuid, bool>),
    ) -> Self {
        let row = |(tenant, project): (String, Project)| {
            let mounts = workers.remove(&project.id).unwrap_or_default();
            let of_dev = folders.as_ref().filter(|_| tenant == TENANT);
            let folder = of_dev.map(|folders| folders.get(&project.slug));
            let place = match (mirrored.get(&project.id), folder) {
                (Some(true), _) => Place::Unmirrored,
                (Some(false), _) | (None, None) => Place::Mounted,
                (None, Some(folder)) => Place::OfDev(folder.map(PathBuf::as_path)),
            };
            ListedProject::new(&tenant, project, &mounts, place)
        };
        ProjectList {
            tenant,
            projects: page.projects.into_iter().map(row).collect(),
            next: page.next,
        }
    }
}

impl ListedProject {
    fn new(tenant: &str, project: Project, mounts: &[ReportedMount], place: Place<'_>) -> Self {
        let state = ProjectState::of(&project, mounts, place);
        let fresh = mounts.iter().filter(|mount| state::is_fresh(mount));
        let named = |mount: &ReportedMount| (mount.worker.clone(), mount.instance.clone());
        ListedProject {
            tenant: tenant.to_owned(),
            slug: project.slug,
            name: project.settings.name,
            allow: project.settings.allow,
            open: project.settings.open,
            close: project.settings.close,
            created_at: moment(project.created_at),
            removed_at: project.removed_at.map(moment),
            workers: distinct_names(&fresh.map(named).collect::<Vec<_>>()),
            last_seen_seconds: mounts.iter().map(|mount| mount.seconds_ago).min(),
            state,
        }
    }

    fn cells(&self) -> [String; 7] {
        [
            self.slug.clone(),
            self.name.clone().unwrap_or_else(|| self.slug.clone()),
            listed(
                Some(&self.workers),
                &self.state.without_workers(self.last_seen_seconds),
            ),
            listed(self.allow.as_deref(), "built-in"),
            listed(Some(&self.open), "-"),
            listed(Some(&self.close), "-"),
            self.removed_at.as_ref().map_or_else(
                || self.state.text().to_owned(),
                |at| format!("removed {at}"),
            ),
        ]
    }
}

impl ProjectList<'_> {
    fn table(&self) -> String {
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

impl Answer for ProjectList<'_> {
    fn text(&self) -> String {
        let states: BTreeSet<ProjectState> = self.projects.iter().map(|row| row.state).collect();
        let advice: Vec<&str> = states.iter().filter_map(|state| state.advice()).collect();
        let text = match advice.as_slice() {
            [] => self.table(),
            advice => format!("{}\n\n{}", self.table(), advice.join("\n")),
        };
        with_next(text, self.next.as_deref())
    }
}
