//! `archway index`: shows the state of project indexes, and has workers index now.
//!
//! Workers index on their own. `run` is for operators who want to watch it, or who removed the cause
//! of a failure.

mod answer;

use std::time::Duration;

use clap::Subcommand;
use tokio::time::Instant;
use uuid::Uuid;

use super::AdminError;
use super::connect::{Connected, Installation};
use super::page::ProjectSelector;
use super::print::print;
use super::progress_bar::ProgressBar;
use crate::tenants::{Project, TenantsTx};
use answer::{IndexList, ListedIndex};

/// How often a wait polls the state.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How long a wait tolerates no progress. Workers poll every 2 s, and the lease of a killed worker
/// expires after 20 s.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);

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
        selector: ProjectSelector,
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

/// The indexes of the selected projects, optionally only of those of this name.
async fn all_states(
    tx: &mut TenantsTx,
    selector: &ProjectSelector,
    project: Option<&str>,
) -> Result<IndexList, AdminError> {
    let page = selector.page(tx, project, false).await?;
    if let (Some(project), []) = (project, page.projects.as_slice()) {
        if let Some(tenant) = selector.tenant() {
            let id = tx.find_tenant(tenant).await?;
            tx.find_project(id, project).await?;
        }
        let why = format!("no tenant has a project {project}: `archway project list` shows all");
        return Err(AdminError::Refused(why));
    }
    Ok(IndexList {
        tenant: selector.tenant().map(str::to_owned),
        indexes: rows(tx, &page.projects).await?,
        next: page.next,
    })
}

/// The index of one project.
async fn states(
    tx: &mut TenantsTx,
    of: &TenantArg,
    project: &str,
) -> Result<IndexList, AdminError> {
    let (tenant, id) = of.find(tx).await?;
    let project = tx.find_project(id, project).await?;
    let indexes = rows(tx, &[(tenant.clone(), project)]).await?;
    Ok(IndexList {
        tenant: Some(tenant),
        indexes,
        next: None,
    })
}

/// The indexes of these projects `(tenant, project)`, in their order.
async fn rows(
    tx: &mut TenantsTx,
    projects: &[(String, Project)],
) -> Result<Vec<ListedIndex>, AdminError> {
    let ids: Vec<Uuid> = projects.iter().map(|(_, project)| project.id).collect();
    let mut states = tx.index_states(&ids).await?;
    let rows = projects.iter().flat_map(|(tenant, project)| {
        let states = states.remove(&project.id).unwrap_or_default().into_iter();
        states.map(|state| ListedIndex::of(tenant, &project.slug, state))
    });
    Ok(rows.collect())
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
    let bar = ProgressBar::new("texts");
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
