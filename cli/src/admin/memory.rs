//! `archway memory`: erases what agents wrote and must not remain.
//!
//! Memory is append-only, and so is this: a tombstone replaces what is erased, and the table
//! `memory_erasures` records who erased it and why.

use clap::Subcommand;
use serde::Serialize;

use super::connect::Installation;
use super::print::{Answer, print};
use super::{AdminError, confirmed};
use crate::tenants::MemoryItem;

/// Arguments of `archway memory`.
#[derive(Debug, clap::Args)]
pub struct MemoryArgs {
    #[command(subcommand)]
    command: MemoryCommand,
    #[command(flatten)]
    installation: Installation,
}

#[derive(Debug, Subcommand)]
enum MemoryCommand {
    /// Erase an entry or a discovery, such as one that holds a secret. This cannot be undone. Numbers
    /// and counts stay; who erased it and why is recorded.
    Erase(EraseArgs),
}

#[derive(Debug, clap::Args)]
struct EraseArgs {
    /// The tenant's slug.
    tenant: String,
    /// The project's slug.
    project: String,
    /// An entry by its number, as `progress_log.jsonl/7` or `decisions.jsonl/7`, or a discovery by
    /// its id, as `discoveries/ID`.
    what: MemoryItem,
    /// Why, for later readers: 1 to 500 characters.
    #[arg(long)]
    reason: String,
    /// The item's name again, to confirm.
    #[arg(long, value_name = "WHAT")]
    confirm: Option<String>,
}

#[derive(Serialize)]
struct ErasedItem<'a> {
    tenant: &'a str,
    project: &'a str,
    erased: String,
}

impl Answer for ErasedItem<'_> {
    fn text(&self) -> String {
        format!(
            "project {}/{}: {} erased",
            self.tenant, self.project, self.erased
        )
    }
}

/// Runs the command.
pub async fn run(args: MemoryArgs) -> Result<(), AdminError> {
    let MemoryCommand::Erase(which) = &args.command;
    let erased = args.installation.change(async |tx, _| {
        let tenant = tx.find_tenant(&which.tenant).await?;
        let project = tx.find_project(tenant, &which.project).await?;
        let what = which.what.to_string();
        let stakes = format!("{what} of {}/{}", which.tenant, which.project);
        confirmed(which.confirm.as_deref(), &what, &stakes)?;
        tx.erase_memory(tenant, project.id, &which.what, &which.reason)
            .await?;
        Ok(ErasedItem {
            tenant: &which.tenant,
            project: &which.project,
            erased: what,
        })
    });
    print(&erased.await?, args.installation.json)
}
