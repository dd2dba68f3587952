//! `archway project`: a tenant's repositories, and which of their paths are readable.
//!
//! A project is the folder `<repos>/<tenant>/<slug>`. The database says if it is served, by which path rules.

mod add;
mod answer;
mod state;

use std::path::PathBuf;

use clap::{ArgGroup, Subcommand};
use uuid::Uuid;

use super::connect::Installation;
use super::input::check_globs;
use super::page::ProjectSelector;
use super::print::print;
use super::{AdminError, confirmed};
use crate::dev::{self, folders};
use crate::tenants::{ProjectSettings, TenantsTx};
use add::{SourceArgs, add};
use answer::{ProjectChange, ProjectList};

/// The options of `set`, which requires one of them.
const CHANGES: [&str; 8] = [
    "name",
    "allow",
    "open",
    "close",
    "clear_name",
    "clear_allow",
    "clear_open",
    "clear_close",
];

/// Arguments of `archway project`.
#[derive(Debug, clap::Args)]
pub struct ProjectArgs {
    #[command(subcommand)]
    command: ProjectCommand,
    #[command(flatten)]
    installation: Installation,
}

#[derive(Debug, Subcommand)]
enum ProjectCommand {
    /// Add a project: its workers serve the folder `<repos>/<tenant>/<slug>`. With `--git`, `archway sync`
    /// mirrors a repository there.
    Add {
        #[command(flatten)]
        which: ProjectName,
        #[command(flatten)]
        settings: ProjectSettingsArgs,
        /// The folder, for `archway dev` only, which serves it within seconds.
        #[arg(long, visible_alias = "repo", value_name = "DIR")]
        path: Option<PathBuf>,
        #[command(flatten)]
        source: SourceArgs,
    },
    /// List the projects of a tenant, or of all, and the workers that see them (they look every 5 s).
    List {
        #[command(flatten)]
        selector: ProjectSelector,
    },
    /// Change a project's name or path rules; workers apply them within 5 s.
    #[command(group(ArgGroup::new("change").args(CHANGES).multiple(true).required(true)))]
    Set {
        #[command(flatten)]
        which: ProjectName,
        #[command(flatten)]
        settings: ProjectSettingsArgs,
        #[command(flatten)]
        clear: ClearArgs,
    },
    /// Remove a project: workers stop serving it within 5 s; what is stored about it stays.
    Remove {
        #[command(flatten)]
        which: ProjectName,
    },
    /// Restore a removed project, with what is stored about it.
    Restore {
        #[command(flatten)]
        which: ProjectName,
    },
    /// Erase what is stored about a removed project, and free its slug. This cannot be undone. The
    /// folder itself is not touched.
    Purge {
        #[command(flatten)]
        which: ProjectName,
        /// The slug again, to confirm.
        #[arg(long, value_name = "SLUG")]
        confirm: Option<String>,
    },
}

/// A project.
#[derive(Debug, clap::Args)]
struct ProjectName {
    /// The tenant's slug.
    tenant: String,
    /// The project's slug: `[a-z0-9][a-z0-9-]{0,62}`.
    slug: String,
}

/// A project's settings. Globs may be repeated, and are in the style of gitignore.
#[derive(Debug, clap::Args)]
struct ProjectSettingsArgs {
    /// Its name for people [default: the slug].
    #[arg(long)]
    name: Option<String>,
    /// Globs that `read_repo_file` may read [default: paths, docs, .claude/memory, templates, examples].
    #[arg(long, value_name = "GLOB")]
    allow: Vec<String>,
    /// Globs that allow names which are blocked by default, such as `.env.example`.
    #[arg(long, value_name = "GLOB")]
    open: Vec<String>,
    /// Globs that block further names; wins over `--open`.
    #[arg(long, value_name = "GLOB")]
    close: Vec<String>,
}

/// Settings to reset to their defaults.
#[derive(Debug, clap::Args)]
struct ClearArgs {
    /// Show the slug again.
    #[arg(long, conflicts_with = "name")]
    clear_name: bool,
    /// Let `read_repo_file` read the built-in list again.
    #[arg(long, conflicts_with = "allow")]
    clear_allow: bool,
    /// Allow no further names.
    #[arg(long, conflicts_with = "open")]
    clear_open: bool,
    /// Block no further names.
    #[arg(long, conflicts_with = "close")]
    clear_close: bool,
}

/// Runs the command.
pub async fn run(args: ProjectArgs) -> Result<(), AdminError> {
    let (target, json) = (&args.installation, args.installation.json);
    let change = match &args.command {
        ProjectCommand::List { selector } => return list(target, selector).await,
        ProjectCommand::Add {
            which,
            settings,
            path,
            source,
        } => {
            let path = path.as_deref();
            target
                .change(async |tx, to| add(tx, which, (settings, source), (to, path)).await)
                .await
        }
        ProjectCommand::Set {
            which,
            settings,
            clear,
        } => {
            target
                .change(async |tx, _| set(tx, which, settings, clear).await)
                .await
        }
        ProjectCommand::Remove { which } => {
            target.change(async |tx, _| remove(tx, which).await).await
        }
        ProjectCommand::Restore { which } => {
            target.change(async |tx, _| restore(tx, which).await).await
        }
        ProjectCommand::Purge { which, confirm } => {
            target
                .change(async |tx, _| purge(tx, which, confirm.as_deref()).await)
                .await
        }
    };
    print(&change?, json)
}

async fn list(installation: &Installation, selector: &ProjectSelector) -> Result<(), AdminError> {
    let list = installation.read(async |tx, to| {
        let folders = to.dev.as_deref().map(folders).transpose()?;
        let page = selector.page(tx, None, true).await?;
        let projects = page.projects.iter();
        let ids: Vec<Uuid> = projects.map(|(_, project)| project.id).collect();
        let workers = tx.workers_by_project(&ids).await?;
        let places = (folders, tx.mirrored_projects(&ids).await?);
        Ok(ProjectList::new(selector.tenant(), page, workers, places))
    });
    print(&list.await?, installation.json)
}

async fn set<'a>(
    tx: &mut TenantsTx,
    which: &'a ProjectName,
    settings: &ProjectSettingsArgs,
    clear: &ClearArgs,
) -> Result<ProjectChange<'a>, AdminError> {
    settings.check()?;
    let tenant = tx.find_tenant(&which.tenant).await?;
    let project = tx.find_project(tenant, &which.slug).await?;
    let changed = settings.over(clear.from(project.settings.clone()));
    if changed == project.settings {
        return Ok(which.done("unchanged"));
    }
    tx.set_project(project.id, &changed).await?;
    Ok(which.done("changed"))
}

async fn remove<'a>(
    tx: &mut TenantsTx,
    which: &'a ProjectName,
) -> Result<ProjectChange<'a>, AdminError> {
    let tenant = tx.find_tenant(&which.tenant).await?;
    tx.remove_project(tenant, &which.slug).await?;
    Ok(which.done("removed"))
}

async fn restore<'a>(
    tx: &mut TenantsTx,
    which: &'a ProjectName,
) -> Result<ProjectChange<'a>, AdminError> {
    let tenant = tx.find_tenant(&which.tenant).await?;
    let changed = tx.restore_project(tenant, &which.slug).await?;
    Ok(which.done(if changed { "restored" } else { "in use before" }))
}

async fn purge<'a>(
    tx: &mut TenantsTx,
    which: &'a ProjectName,
    confirm: Option<&str>,
) -> Result<ProjectChange<'a>, AdminError> {
    let tenant = tx.find_tenant(&which.tenant).await?;
    let stakes = format!("everything stored about {}/{}", which.tenant, which.slug);
    confirmed(confirm, &which.slug, &stakes)?;
    tx.purge_project(tenant, &which.slug).await?;
    Ok(which.done("erased"))
}

impl ProjectName {
    fn done(&self, done: &'static str) -> ProjectChange<'_> {
        ProjectChange::new(&self.tenant, &self.slug, done)
    }

    fn has_no_path(&self) -> AdminError {
        AdminError::Refused(format!(
            "--path (or --repo) names a folder, which only `archway dev` serves (tenant {}): elsewhere a project \
             is the folder <repos>/{}/{} that the workers mount, or mirrored from the URL that --git names",
            dev::TENANT,
            self.tenant,
            self.slug
        ))
    }
}

impl ProjectSettingsArgs {
    fn check(&self) -> Result<(), AdminError> {
        check_globs(true, &self.open)?;
        check_globs(false, self.allow.iter().chain(&self.close))
    }

    /// `settings`, replaced by those that were given.
    fn over(&self, settings: ProjectSettings) -> ProjectSettings {
        let or = |named: &Vec<String>, there: Vec<String>| match named.as_slice() {
            [] => there,
            named => named.to_vec(),
        };
        ProjectSettings {
            name: self.name.clone().or(settings.name),
            allow: Some(self.allow.clone())
                .filter(|allow| !allow.is_empty())
                .or(settings.allow),
            open: or(&self.open, settings.open),
            close: or(&self.close, settings.close),
        }
    }
}

impl ClearArgs {
    /// `settings` without those to clear.
    fn from(&self, settings: ProjectSettings) -> ProjectSettings {
        let kept = |clear: bool, list| if clear { Vec::new() } else { list };
        ProjectSettings {
            name: settings.name.filter(|_| !self.clear_name),
            allow: settings.allow.filter(|_| !self.clear_allow),
            open: kept(self.clear_open, settings.open),
            close: kept(self.clear_close, settings.close),
        }
    }
}
