//! `archway project`: which repositories a tenant has, and which paths of them are open.
//!
//! A project is the folder `<repos>/<tenant>/<slug>` that the workers mount; the database only says
//! that it is to be served, and by which path rules.

mod answer;

use std::path::{Path, PathBuf};

use crate::tenants::{ProjectSettings, TenantsTx};
use clap::{ArgGroup, Subcommand};

use super::connect::{Connected, Place};
use super::input::check_globs;
use super::print::print;
use super::whose::Whose;
use super::{AdminError, confirmed};
use crate::dev::{self, remember_folder};
use answer::{Done, List};

/// The options of `set`, of which it needs one.
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

/// What `archway project` is told.
#[derive(Debug, clap::Args)]
pub struct ProjectArgs {
    #[command(subcommand)]
    command: ProjectCommand,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Subcommand)]
enum ProjectCommand {
    /// Add a project: its workers serve the folder `<repos>/<tenant>/<slug>`.
    Add {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        settings: SettingsArgs,
        /// The folder, for `archway dev` only: it is served from its next start on.
        #[arg(long, value_name = "DIR")]
        path: Option<PathBuf>,
    },
    /// List a tenant's projects, or those of all, and which workers see them; they look every 5 s.
    List {
        #[command(flatten)]
        whose: Whose,
    },
    /// Change a project's name or path rules; workers go by them within 5 s.
    #[command(group(ArgGroup::new("change").args(CHANGES).multiple(true).required(true)))]
    Set {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        settings: SettingsArgs,
        #[command(flatten)]
        clear: ClearArgs,
    },
    /// Remove a project: it answers to nobody within 5 s, what is stored about it stays.
    Remove {
        #[command(flatten)]
        which: Which,
    },
    /// Bring a removed project back, with what is stored about it.
    Restore {
        #[command(flatten)]
        which: Which,
    },
    /// Erase what is stored about a removed project, and free its slug. There is no way back; the
    /// folder itself is not touched.
    Purge {
        #[command(flatten)]
        which: Which,
        /// The slug again, to say that this is meant.
        #[arg(long, value_name = "SLUG")]
        confirm: Option<String>,
    },
}

/// A project.
#[derive(Debug, clap::Args)]
struct Which {
    /// The tenant's slug.
    tenant: String,
    /// The project's slug: `[a-z0-9][a-z0-9-]{0,62}`.
    slug: String,
}

/// What can be decided about a project. Globs may be repeated, and are in the style of gitignore.
#[derive(Debug, clap::Args)]
struct SettingsArgs {
    /// Its name for people [default: the slug].
    #[arg(long)]
    name: Option<String>,
    /// What `read_repo_file` may read [default: paths, docs, .claude/memory, templates, examples].
    #[arg(long, value_name = "GLOB")]
    allow: Vec<String>,
    /// Opens names that are blocked everywhere, like `.env.example`.
    #[arg(long, value_name = "GLOB")]
    open: Vec<String>,
    /// Closes further names; wins over `--open`.
    #[arg(long, value_name = "GLOB")]
    close: Vec<String>,
}

/// What goes back to its default.
#[derive(Debug, clap::Args)]
struct ClearArgs {
    /// Show the slug again.
    #[arg(long, conflicts_with = "name")]
    clear_name: bool,
    /// Let `read_repo_file` read the built-in list again.
    #[arg(long, conflicts_with = "allow")]
    clear_allow: bool,
    /// Open nothing any more.
    #[arg(long, conflicts_with = "open")]
    clear_open: bool,
    /// Close nothing any more.
    #[arg(long, conflicts_with = "close")]
    clear_close: bool,
}

/// Runs the command.
pub async fn run(args: ProjectArgs) -> Result<(), AdminError> {
    let (place, json) = (&args.place, args.place.json);
    let change = match &args.command {
        ProjectCommand::List { whose } => return list(place, whose).await,
        ProjectCommand::Add {
            which,
            settings,
            path,
        } => {
            let path = path.as_deref();
            place
                .change(async |tx, to| add(tx, which, settings, path.map(|path| (to, path))).await)
                .await
        }
        ProjectCommand::Set {
            which,
            settings,
            clear,
        } => {
            place
                .change(async |tx, _| set(tx, which, settings, clear).await)
                .await
        }
        ProjectCommand::Remove { which } => {
            place.change(async |tx, _| remove(tx, which).await).await
        }
        ProjectCommand::Restore { which } => {
            place.change(async |tx, _| restore(tx, which).await).await
        }
        ProjectCommand::Purge { which, confirm } => {
            place
                .change(async |tx, _| purge(tx, which, confirm.as_deref()).await)
                .await
        }
    };
    print(&change?, json)
}

async fn list(place: &Place, whose: &Whose) -> Result<(), AdminError> {
    let list = place.read(async |tx, _| {
        let mut list = List::new(whose.one());
        for (tenant, id) in whose.find(tx).await? {
            let workers = tx.workers_by_project(id).await?;
            list.add(&tenant, tx.projects(id).await?, workers);
        }
        Ok(list)
    });
    print(&list.await?, place.json)
}

async fn add<'a>(
    tx: &mut TenantsTx,
    which: &'a Which,
    settings: &SettingsArgs,
    path: Option<(&Connected, &Path)>,
) -> Result<Done<'a>, AdminError> {
    settings.check()?;
    let tenant = tx.find_tenant(&which.tenant).await?;
    let settings = settings.over(ProjectSettings::default());
    tx.add_project(tenant, &which.slug, &settings).await?;
    let Some((to, path)) = path else {
        return Ok(which.done("added"));
    };
    let dev = to.dev.as_deref().filter(|_| which.tenant == dev::TENANT);
    remember_folder(dev.ok_or_else(|| which.has_no_path())?, &which.slug, path)?;
    Ok(which.done("added; served from the next start of `archway dev`"))
}

async fn set<'a>(
    tx: &mut TenantsTx,
    which: &'a Which,
    settings: &SettingsArgs,
    clear: &ClearArgs,
) -> Result<Done<'a>, AdminError> {
    settings.check()?;
    let tenant = tx.find_tenant(&which.tenant).await?;
    let project = tx.find_project(tenant, &which.slug).await?;
    let wanted = settings.over(clear.from(project.settings.clone()));
    if wanted == project.settings {
        return Ok(which.done("unchanged"));
    }
    tx.set_project(project.id, &wanted).await?;
    Ok(which.done("changed"))
}

async fn remove<'a>(tx: &mut TenantsTx, which: &'a Which) -> Result<Done<'a>, AdminError> {
    let tenant = tx.find_tenant(&which.tenant).await?;
    tx.remove_project(tenant, &which.slug).await?;
    Ok(which.done("removed"))
}

async fn restore<'a>(tx: &mut TenantsTx, which: &'a Which) -> Result<Done<'a>, AdminError> {
    let tenant = tx.find_tenant(&which.tenant).await?;
    let changed = tx.restore_project(tenant, &which.slug).await?;
    Ok(which.done(if changed { "restored" } else { "in use before" }))
}

async fn purge<'a>(
    tx: &mut TenantsTx,
    which: &'a Which,
    confirm: Option<&str>,
) -> Result<Done<'a>, AdminError> {
    let tenant = tx.find_tenant(&which.tenant).await?;
    let stakes = format!("everything stored about {}/{}", which.tenant, which.slug);
    confirmed(confirm, &which.slug, &stakes)?;
    tx.purge_project(tenant, &which.slug).await?;
    Ok(which.done("erased"))
}

impl Which {
    fn done(&self, done: &'static str) -> Done<'_> {
        Done::new(&self.tenant, &self.slug, done)
    }

    fn has_no_path(&self) -> AdminError {
        AdminError::Refused(format!(
            "--path is for the projects of `archway dev` (tenant {}): elsewhere a project is the \
             folder <repos>/{}/{} that the workers mount",
            dev::TENANT,
            self.tenant,
            self.slug
        ))
    }
}

impl SettingsArgs {
    fn check(&self) -> Result<(), AdminError> {
        check_globs(true, &self.open)?;
        check_globs(false, self.allow.iter().chain(&self.close))
    }

    /// `settings` with what was named in place of what was there.
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
    /// `settings` without what is cleared.
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
