//! `archway sync status` and `archway sync run`: how the mirrors are, and a run now.

mod answer;

use std::time::{Duration, SystemTime};

use clap::Subcommand;
use tokio::time::Instant;
use uuid::Uuid;

use super::AdminError;
use super::connect::{Connected, Installation};
use super::print::print;
use crate::tenants::{MirrorRow, TenantsTx};
use answer::{ListedMirror, MirrorList};

/// How often a wait polls the state.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How long a wait tolerates that no run begins.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);

/// The subcommands of `archway sync`.
#[derive(Debug, Subcommand)]
pub(crate) enum SyncCommand {
    /// Show the mirrors of a tenant, or of all.
    Status {
        /// The tenant's slug [default: all].
        tenant: Option<String>,
        #[command(flatten)]
        installation: Installation,
    },
    /// Have mirrors fetched now: each at most once in 10 s.
    Run {
        /// The tenant's slug.
        tenant: String,
        /// The project [default: all].
        project: Option<String>,
        /// Wait until all of them have been fetched; exits with 1 if one fails.
        #[arg(long)]
        wait: bool,
        #[command(flatten)]
        installation: Installation,
    },
}

/// Runs the command.
pub(crate) async fn run(command: SyncCommand) -> Result<(), AdminError> {
    match &command {
        SyncCommand::Status {
            tenant,
            installation,
        } => {
            let list = installation.read(async |tx, _| list(tx, tenant.as_deref(), None).await);
            print(&list.await?, installation.json)
        }
        SyncCommand::Run {
            tenant,
            project,
            wait,
            installation,
        } => {
            let connected = installation.connect().await?;
            let which = (tenant.as_str(), project.as_deref());
            let done = request_and_wait(&connected, which, *wait).await;
            connected.close().await;
            print(&done?, installation.json)
        }
    }
}

async fn list(
    tx: &mut TenantsTx,
    tenant: Option<&str>,
    project: Option<&str>,
) -> Result<MirrorList, AdminError> {
    let tenants: Vec<(String, Uuid)> = match tenant {
        Some(slug) => vec![(slug.to_owned(), tx.find_tenant(slug).await?)],
        None => {
            let all = tx.tenants().await?.into_iter();
            all.map(|tenant| (tenant.slug, tenant.id)).collect()
        }
    };
    let mut mirrors = Vec::new();
    for (slug, id) in tenants {
        let rows = tx.mirrors(id).await?.into_iter();
        let chosen = rows.filter(|row| project.is_none_or(|project| project == row.project));
        mirrors.extend(chosen.map(|row| ListedMirror::of(&slug, row)));
    }
    Ok(MirrorList {
        tenant: tenant.map(str::to_owned),
        mirrors,
    })
}

async fn request_and_wait(
    connected: &Connected,
    (tenant, project): (&str, Option<&str>),
    wait: bool,
) -> Result<MirrorList, AdminError> {
    let asked = connected.change_unless(false, async |tx, _| {
        let id = tx.find_tenant(tenant).await?;
        if let Some(project) = project {
            tx.find_project(id, project).await?;
        }
        tx.request_sync(id, project).await?;
        Ok(SystemTime::now())
    });
    let asked = asked.await?;
    let mut since = Instant::now();
    let mut done = 0;
    loop {
        let rows = connected.read(async |tx, _| {
            let id = tx.find_tenant(tenant).await?;
            let rows = tx.mirrors(id).await?.into_iter();
            Ok(rows
                .filter(|row| project.is_none_or(|project| project == row.project))
                .collect())
        });
        let rows: Vec<MirrorRow> = rows.await?;
        if !wait || rows.iter().all(|row| has_run(row, asked)) {
            let failed = rows.iter().any(|row| row.message.is_some());
            let list = connected
                .read(async |tx, _| list(tx, Some(tenant), project).await)
                .await?;
            return match wait && failed {
                true => Err(AdminError::NotReady(list.failures())),
                false => Ok(list),
            };
        }
        let ended = rows.iter().filter(|row| has_run(row, asked)).count();
        if ended != done || rows.iter().any(|row| row.is_running) {
            (done, since) = (ended, Instant::now());
        }
        if since.elapsed() > STALL_TIMEOUT {
            let why = "no process of `archway sync` begins the run: start one, and read its log";
            return Err(AdminError::NotReady(why.to_owned()));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Whether a run that began after the request has ended, or one shortly before it.
fn has_run(row: &MirrorRow, asked: SystemTime) -> bool {
    let recent = asked.checked_sub(Duration::from_secs(10)).unwrap_or(asked);
    !row.is_running && row.tried_at.is_some_and(|tried| tried >= recent)
}
