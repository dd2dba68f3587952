//! `archway memory`: what agents wrote down that must not stand there.
//!
//! Memory is append-only, and so is this: of what is erased a tombstone stays in its place, and who
//! erased it and why is kept in the table `memory_erasures`.

use crate::tenants::Remembered;
use clap::Subcommand;
use serde::Serialize;

use super::connect::Place;
use super::print::{Answer, print};
use super::{AdminError, confirmed};

/// What `archway memory` is told.
#[derive(Debug, clap::Args)]
pub struct MemoryArgs {
    #[command(subcommand)]
    command: MemoryCommand,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Subcommand)]
enum MemoryCommand {
    /// Erase an entry or a discovery, as one that holds a secret. There is no way back. Numbers and
    /// counts stay; who erased it and why is kept.
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
    what: Remembered,
    /// Why, for whoever asks later: 1 to 500 characters.
    #[arg(long)]
    reason: String,
    /// What is erased again, to say that this is meant.
    #[arg(long, value_name = "WHAT")]
    confirm: Option<String>,
}

#[derive(Serialize)]
struct Erased<'a> {
    tenant: &'a str,
    project: &'a str,
    erased: String,
}

impl Answer for Erased<'_> {
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
    let erased = args.place.change(async |tx, _| {
        let tenant = tx.find_tenant(&which.tenant).await?;
        let project = tx.find_project(tenant, &which.project).await?;
        let what = which.what.to_string();
        let stakes = format!("{what} of {}/{}", which.tenant, which.project);
        confirmed(which.confirm.as_deref(), &what, &stakes)?;
        tx.erase_memory(tenant, project.id, &which.what, &which.reason)
            .await?;
        Ok(Erased {
            tenant: &which.tenant,
            project: &which.project,
            erased: what,
        })
    });
    print(&erased.await?, args.place.json)
}
