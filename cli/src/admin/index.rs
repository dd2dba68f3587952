//! `archway index`: how far the index of each project is, and having the workers make it now.
//!
//! Workers index by themselves; nobody has to ask. `run` is for who wants to see it done, or has
//! mended what was in its way.

mod bar;

use std::time::Duration;

use crate::tenants::{IndexState, TenantsTx};
use clap::Subcommand;
use serde::Serialize;
use tokio::time::Instant;
use uuid::Uuid;

use super::AdminError;
use super::connect::{Connected, Place};
use super::print::{Answer, moment, print, table, table_by_tenant};
use super::whose::Whose;
use bar::Bar;

/// How often a wait looks how far it is.
const LOOK: Duration = Duration::from_millis(250);
/// How long nothing may happen while a run is waited for. Workers look every 2 s; a lease that a
/// killed one left runs for 20 s.
const PATIENCE: Duration = Duration::from_secs(60);
/// Characters of a commit's id that are shown to people.
const SHORT: usize = 12;

/// What `archway index` is told.
#[derive(Debug, clap::Args)]
pub struct IndexArgs {
    #[command(subcommand)]
    command: IndexCommand,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Subcommand)]
enum IndexCommand {
    /// Show how far the indexes of projects are.
    Status {
        #[command(flatten)]
        whose: Whose,
        /// Only this project.
        #[arg(long, value_name = "SLUG")]
        project: Option<String>,
    },
    /// Have the workers look at a project now, and wait until its index is whole.
    Run {
        #[command(flatten)]
        of: Of,
        /// The project.
        #[arg(long, value_name = "SLUG")]
        project: String,
        /// Don't wait for it.
        #[arg(long)]
        no_wait: bool,
    },
}

/// Whose projects.
#[derive(Debug, clap::Args)]
struct Of {
    /// The tenant's slug [default: the only tenant].
    tenant: Option<String>,
}

/// Runs the command.
pub async fn run(args: IndexArgs) -> Result<(), AdminError> {
    let (place, json) = (&args.place, args.place.json);
    match &args.command {
        IndexCommand::Status { whose, project } => {
            let states = place.read(async |tx, _| all_states(tx, whose, project.as_deref()).await);
            print(&states.await?, json)
        }
        IndexCommand::Run {
            of,
            project,
            no_wait,
        } => {
            // One connection for all of it.
            let connected = place.connect().await?;
            let states = async {
                ask(&connected, of, project).await?;
                if !no_wait {
                    wait(&connected, of, project).await?;
                }
                let states = connected.read(async |tx, _| states(tx, of, project).await);
                states.await
            };
            let states = states.await;
            connected.close().await;
            print(&states?, json)
        }
    }
}

/// The indexes of one tenant's projects, or of all tenants', or those of projects of this name.
async fn all_states(
    tx: &mut TenantsTx,
    whose: &Whose,
    project: Option<&str>,
) -> Result<States, AdminError> {
    let mut indexes = Vec::new();
    for (tenant, id) in whose.find(tx).await? {
        if let (Some(project), Some(_)) = (project, whose.one()) {
            tx.find_project(id, project).await?;
        }
        indexes.extend(rows(tx, (&tenant, id), project).await?);
    }
    if let (Some(project), []) = (project, indexes.as_slice()) {
        let why = format!("no tenant has a project {project}: `archway project list` shows all");
        return Err(AdminError::Refused(why));
    }
    let tenant = whose.one().map(str::to_owned);
    Ok(States { tenant, indexes })
}

/// The index of a tenant's project.
async fn states(tx: &mut TenantsTx, of: &Of, project: &str) -> Result<States, AdminError> {
    let (tenant, id) = of.find(tx).await?;
    tx.find_project(id, project).await?;
    let indexes = rows(tx, (&tenant, id), Some(project)).await?;
    Ok(States {
        tenant: Some(tenant),
        indexes,
    })
}

async fn rows(
    tx: &mut TenantsTx,
    (tenant, id): (&str, Uuid),
    project: Option<&str>,
) -> Result<Vec<Row>, AdminError> {
    let states = tx.index_states(id).await?.into_iter();
    let states = states.filter(|state| project.is_none_or(|slug| state.project == slug));
    Ok(states.map(|state| Row::of(tenant, state)).collect())
}

async fn ask(connected: &Connected, of: &Of, project: &str) -> Result<(), AdminError> {
    connected
        .change_unless(false, async |tx, _| {
            let (_, tenant) = of.find(tx).await?;
            let project = tx.find_project(tenant, project).await?;
            // Without any, the first worker that sees the project begins one unasked.
            tx.ask_for_index(tenant, project.id).await?;
            Ok(())
        })
        .await
}

/// Waits until no index of the project is asked for any longer, showing how far it is.
async fn wait(connected: &Connected, of: &Of, project: &str) -> Result<(), AdminError> {
    let bar = Bar::new();
    let (mut seen, mut since) = (None, Instant::now());
    loop {
        let states = connected.read(async |tx, _| states(tx, of, project).await);
        let states = states.await?;
        let Some(state) = states.indexes.into_iter().next() else {
            return Ok(());
        };
        if !state.is_asked && !state.is_running && state.indexed_at.is_some() {
            bar.end(state.done, state.total);
            return Ok(());
        }
        if let (Some(failure), false) = (&state.failure, state.is_running) {
            return Err(AdminError::NotReady(failure.clone()));
        }
        bar.show(state.done, state.total);
        let now = (state.done, state.is_running);
        if seen != Some(now) {
            (seen, since) = (Some(now), Instant::now());
        }
        if since.elapsed() > PATIENCE {
            let why = "no worker that sees the project indexes it: `archway project list` says \
                which see it, and --indexing must not be off there";
            return Err(AdminError::NotReady(why.to_owned()));
        }
        tokio::time::sleep(LOOK).await;
    }
}

impl Of {
    /// The tenant's slug and id.
    async fn find(&self, tx: &mut TenantsTx) -> Result<(String, Uuid), AdminError> {
        if let Some(slug) = &self.tenant {
            return Ok((slug.clone(), tx.find_tenant(slug).await?));
        }
        match <[_; 1]>::try_from(tx.tenants().await?) {
            Ok([only]) => Ok((only.slug.clone(), only.id)),
            Err(_none_or_several) => Err(AdminError::Refused(
                "name the tenant: there is not just one; `archway tenant list` shows them"
                    .to_owned(),
            )),
        }
    }
}

/// The indexes of a tenant, or of all.
#[derive(Serialize)]
struct States {
    /// Null: all tenants.
    tenant: Option<String>,
    indexes: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    tenant: String,
    project: String,
    /// `whole`, `running`, `waiting` or `failed`.
    state: &'static str,
    /// Null without git, or before the first.
    commit: Option<String>,
    indexed_at: Option<String>,
    /// Texts that are indexed,
    done: u64,
    /// of so many.
    total: u64,
    chunks: u64,
    /// Home, embedding model and form.
    made_by: Option<String>,
    failure: Option<String>,
    #[serde(skip)]
    is_running: bool,
    #[serde(skip)]
    is_asked: bool,
}

impl Row {
    fn of(tenant: &str, state: IndexState) -> Row {
        Row {
            tenant: tenant.to_owned(),
            state: match (&state.failure, state.indexed_at) {
                _ if state.is_running => "running",
                (Some(_), _) => "failed",
                (None, Some(_)) if !state.is_asked => "whole",
                (None, _) => "waiting",
            },
            indexed_at: state.indexed_at.map(moment),
            project: state.project,
            commit: state.commit,
            done: state.done,
            total: state.total,
            chunks: state.chunks,
            made_by: state.made_by,
            failure: state.failure,
            is_running: state.is_running,
            is_asked: state.is_asked,
        }
    }
}

impl Answer for States {
    fn text(&self) -> String {
        let rows = self.indexes.iter();
        let header = ["project", "state", "texts", "chunks", "commit", "indexed"];
        match self.tenant {
            Some(_) => table(header, rows.map(Row::cells).collect(), "no projects"),
            None => {
                let rows = rows.map(|row| (row.tenant.clone(), row.cells()));
                table_by_tenant(header, rows.collect(), "no projects")
            }
        }
    }
}

impl Row {
    fn cells(&self) -> [String; 6] {
        let commit = self.commit.as_deref().unwrap_or("-");
        let state = match &self.failure {
            Some(failure) if self.state == "failed" => format!("failed: {failure}"),
            _ => self.state.to_owned(),
        };
        [
            self.project.clone(),
            state,
            format!("{}/{}", self.done, self.total),
            self.chunks.to_string(),
            commit.chars().take(SHORT).collect(),
            self.indexed_at
                .clone()
                .unwrap_or_else(|| "never".to_owned()),
        ]
    }
}
