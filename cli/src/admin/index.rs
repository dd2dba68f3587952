//! `archway index`: shows the state of project indexes, and has workers index now.
//!
//! Workers index on their own. `run` is for operators who want to watch it, or who removed the cause
//! of a failure.

mod progress_bar;

use std::time::Duration;

use clap::Subcommand;
use serde::Serialize;
use tokio::time::Instant;
use uuid::Uuid;

use super::AdminError;
use super::connect::{Connected, Installation};
use super::print::{Answer, moment, print, table, table_by_tenant};
use super::tenant_selector::TenantSelector;
use crate::tenants::{IndexState, TenantsTx};
use progress_bar::ProgressBar;

/// How often a wait polls the state.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How long a wait tolerates no progress. Workers poll every 2 s, and the lease of a killed worker
/// expires after 20 s.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Characters of a commit id that people are shown.
const SHORT_COMMIT: usize = 12;

/// Arguments of `archway index`.
#[derive(Debug, clap::Args)]
pub struct IndexArgs {
    #[command(subcommand)]
    command: IndexCommand,
    #[command(flatten)]
    installation: Installation,
}

#[derive(Debug, Subcommand)]
enum IndexCommand {
    /// Show the state of project indexes.
    Status {
        #[command(flatten)]
        selector: TenantSelector,
        /// Only this project.
        #[arg(long, value_name = "SLUG")]
        project: Option<String>,
    },
    /// Have the workers index a project now, and wait until its index is complete.
    Run {
        #[command(flatten)]
        of: TenantArg,
        /// The project.
        #[arg(long, value_name = "SLUG")]
        project: String,
        /// Don't wait for completion.
        #[arg(long)]
        no_wait: bool,
    },
}

/// The tenant of a project.
#[derive(Debug, clap::Args)]
struct TenantArg {
    /// The tenant's slug [default: the only tenant].
    tenant: Option<String>,
}

/// Runs the command.
pub async fn run(args: IndexArgs) -> Result<(), AdminError> {
    let (installation, json) = (&args.installation, args.installation.json);
    match &args.command {
        IndexCommand::Status { selector, project } => {
            let states =
                installation.read(async |tx, _| all_states(tx, selector, project.as_deref()).await);
            print(&states.await?, json)
        }
        IndexCommand::Run {
            of,
            project,
            no_wait,
        } => {
            // One connection for the request and the polls.
            let connected = installation.connect().await?;
            let states = async {
                request(&connected, of, project).await?;
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

/// The indexes of one tenant's projects, or of all tenants', optionally only projects of this name.
async fn all_states(
    tx: &mut TenantsTx,
    selector: &TenantSelector,
    project: Option<&str>,
) -> Result<IndexList, AdminError> {
    let mut indexes = Vec::new();
    for (tenant, id) in selector.resolve(tx).await? {
        if let (Some(project), Some(_)) = (project, selector.slug()) {
            tx.find_project(id, project).await?;
        }
        indexes.extend(rows(tx, (&tenant, id), project).await?);
    }
    if let (Some(project), []) = (project, indexes.as_slice()) {
        let why = format!("no tenant has a project {project}: `archway project list` shows all");
        return Err(AdminError::Refused(why));
    }
    let tenant = selector.slug().map(str::to_owned);
    Ok(IndexList { tenant, indexes })
}

/// The index of one project.
async fn states(
    tx: &mut TenantsTx,
    of: &TenantArg,
    project: &str,
) -> Result<IndexList, AdminError> {
    let (tenant, id) = of.find(tx).await?;
    tx.find_project(id, project).await?;
    let indexes = rows(tx, (&tenant, id), Some(project)).await?;
    Ok(IndexList {
        tenant: Some(tenant),
        indexes,
    })
}

async fn rows(
    tx: &mut TenantsTx,
    (tenant, id): (&str, Uuid),
    project: Option<&str>,
) -> Result<Vec<ListedIndex>, AdminError> {
    let states = tx.index_states(id).await?.into_iter();
    let states = states.filter(|state| project.is_none_or(|slug| state.project == slug));
    Ok(states.map(|state| ListedIndex::of(tenant, state)).collect())
}

async fn request(connected: &Connected, of: &TenantArg, project: &str) -> Result<(), AdminError> {
    connected
        .change_unless(false, async |tx, _| {
            let (_, tenant) = of.find(tx).await?;
            let project = tx.find_project(tenant, project).await?;
            // If there is no index yet, the first worker that sees the project begins one anyway.
            tx.ask_for_index(tenant, project.id).await?;
            Ok(())
        })
        .await
}

/// Waits until the project's index is complete, and shows progress.
async fn wait(connected: &Connected, of: &TenantArg, project: &str) -> Result<(), AdminError> {
    let bar = ProgressBar::new();
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
        if since.elapsed() > STALL_TIMEOUT {
            let why = "no worker that sees the project indexes it: `archway project list` shows \
                which workers see it, and --indexing must not be off there";
            return Err(AdminError::NotReady(why.to_owned()));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

impl TenantArg {
    /// The tenant's slug and id.
    async fn find(&self, tx: &mut TenantsTx) -> Result<(String, Uuid), AdminError> {
        if let Some(slug) = &self.tenant {
            return Ok((slug.clone(), tx.find_tenant(slug).await?));
        }
        match <[_; 1]>::try_from(tx.tenants().await?) {
            Ok([only]) => Ok((only.slug.clone(), only.id)),
            Err(_none_or_several) => Err(AdminError::Refused(
                "name the tenant: there is not exactly one; `archway tenant list` shows them"
                    .to_owned(),
            )),
        }
    }
}

/// The indexes of one tenant, or of all.
#[derive(Serialize)]
struct IndexList {
    /// Null: all tenants.
    tenant: Option<String>,
    indexes: Vec<ListedIndex>,
}

#[derive(Serialize)]
struct ListedIndex {
    tenant: String,
    project: String,
    /// `whole`, `running`, `waiting` or `failed`.
    state: &'static str,
    /// Null without git, or before the first index.
    commit: Option<String>,
    indexed_at: Option<String>,
    /// Texts that are indexed.
    done: u64,
    /// Texts in all.
    total: u64,
    chunks: u64,
    /// Vector store, embedding model and index format.
    made_by: Option<String>,
    failure: Option<String>,
    #[serde(skip)]
    is_running: bool,
    #[serde(skip)]
    is_asked: bool,
}

impl ListedIndex {
    fn of(tenant: &str, state: IndexState) -> ListedIndex {
        ListedIndex {
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

impl Answer for IndexList {
    fn text(&self) -> String {
        let rows = self.indexes.iter();
        let header = ["project", "state", "texts", "chunks", "commit", "indexed"];
        match self.tenant {
            Some(_) => table(
                header,
                rows.map(ListedIndex::cells).collect(),
                "no projects",
            ),
            None => {
                let rows = rows.map(|row| (row.tenant.clone(), row.cells()));
                table_by_tenant(header, rows.collect(), "no projects")
            }
        }
    }
}

impl ListedIndex {
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
            commit.chars().take(SHORT_COMMIT).collect(),
            self.indexed_at
                .clone()
                .unwrap_or_else(|| "never".to_owned()),
        ]
    }
}
