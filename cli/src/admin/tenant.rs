//! `archway tenant`: creates, lists, changes, disables and erases tenants.

use clap::{ArgGroup, Subcommand};
use serde::Serialize;
use uuid::Uuid;

use super::connect::{Connected, Installation};
use super::print::{Answer, moment, print, table};
use super::{AdminError, confirmed};
use crate::tenants::{Tenant, TenantError, TenantsTx};

/// Arguments of `archway tenant`.
#[derive(Debug, clap::Args)]
pub struct TenantArgs {
    #[command(subcommand)]
    command: TenantCommand,
    #[command(flatten)]
    installation: Installation,
}

#[derive(Debug, Subcommand)]
enum TenantCommand {
    /// Create a tenant: a customer or team. No other tenant sees its projects or keys.
    Create {
        /// Its name in addresses, folders and settings: `[a-z0-9][a-z0-9-]{0,62}`.
        slug: String,
        /// Its name for people [default: the slug].
        #[arg(long)]
        name: Option<String>,
        /// The worker pool that serves it [default: shared].
        #[arg(long, value_name = "NAME")]
        pool: Option<String>,
    },
    /// List all tenants. `--json` includes their ids, which logs call `tenant.id`.
    List,
    /// Change a tenant's name or worker pool. Gateways apply a new pool within a second.
    #[command(group(ArgGroup::new("change").args(["name", "pool"]).multiple(true).required(true)))]
    Set {
        /// The tenant's slug.
        slug: String,
        /// Its name for people.
        #[arg(long)]
        name: Option<String>,
        /// The pool whose workers mount its repositories: `shared`, or one of its own.
        #[arg(long, value_name = "NAME")]
        pool: Option<String>,
    },
    /// Disable a tenant: its credentials are refused within a second, its data stays.
    Disable {
        /// The tenant's slug.
        slug: String,
    },
    /// Enable a disabled tenant again.
    Enable {
        /// The tenant's slug.
        slug: String,
    },
    /// Erase a disabled tenant and everything that belongs to it. This cannot be undone.
    Purge {
        /// The tenant's slug.
        slug: String,
        /// The slug again, to confirm.
        #[arg(long, value_name = "SLUG")]
        confirm: Option<String>,
    },
}

/// Runs the command.
pub async fn run(args: TenantArgs) -> Result<(), AdminError> {
    let (installation, json) = (&args.installation, args.installation.json);
    let (slug, done) = match &args.command {
        TenantCommand::List => {
            let tenants = installation
                .read(async |tx, _| Ok(tx.tenants().await?))
                .await?;
            let tenants = tenants.into_iter().map(ListedTenant::from).collect();
            return print(&TenantList { tenants }, json);
        }
        TenantCommand::Create { slug, name, pool } => {
            let hint = create(installation, slug, name.as_deref(), pool.as_deref()).await?;
            return print(&TenantChange::new(slug, "created").hinting(hint), json);
        }
        TenantCommand::Set { slug, name, pool } => {
            let hint = set(installation, slug, name.as_deref(), pool.as_deref()).await?;
            return print(&TenantChange::new(slug, "changed").hinting(hint), json);
        }
        TenantCommand::Disable { slug } => {
            let changed = set_disabled(installation, slug, true).await?;
            (
                slug,
                if changed {
                    "disabled"
                } else {
                    "disabled before"
                },
            )
        }
        TenantCommand::Enable { slug } => {
            let changed = set_disabled(installation, slug, false).await?;
            (slug, if changed { "enabled" } else { "enabled before" })
        }
        TenantCommand::Purge { slug, confirm } => {
            purge(installation, slug, confirm.as_deref()).await?;
            (slug, "erased")
        }
    };
    print(&TenantChange::new(slug, done), json)
}

/// Creates the tenant. Returns a hint if its pool has no known workers.
async fn create(
    installation: &Installation,
    slug: &str,
    name: Option<&str>,
    pool: Option<&str>,
) -> Result<Option<String>, AdminError> {
    let create = async |tx: &mut TenantsTx, _: &Connected| {
        let tenant = tx.create_tenant(slug, name).await?;
        Ok(move_to(tx, tenant, pool).await?)
    };
    installation.change(create).await
}

async fn set(
    installation: &Installation,
    slug: &str,
    name: Option<&str>,
    pool: Option<&str>,
) -> Result<Option<String>, AdminError> {
    let set = async |tx: &mut TenantsTx, _: &Connected| {
        let tenant = tx.find_tenant(slug).await?;
        if let Some(name) = name {
            tx.rename_tenant(tenant, name).await?;
        }
        Ok(move_to(tx, tenant, pool).await?)
    };
    installation.change(set).await
}

/// Moves a tenant to `pool`, if given. Returns a hint if the pool has no known workers.
async fn move_to(
    tx: &mut TenantsTx,
    tenant: Uuid,
    pool: Option<&str>,
) -> Result<Option<String>, TenantError> {
    let Some(pool) = pool else { return Ok(None) };
    tx.set_pool(tenant, pool).await?;
    let is_there = tx
        .reported_workers()
        .await?
        .iter()
        .any(|worker| worker.pool == pool);
    Ok((!is_there).then(|| {
        format!(
            "no worker of pool {pool} has reported a project within the last 90 s: calls are answered \
             unavailable until a worker serves the tenant (archway worker --pool {pool}) and gateways \
             know it (archway gateway --worker {pool}=URL)"
        )
    }))
}

async fn set_disabled(
    installation: &Installation,
    slug: &str,
    disabled: bool,
) -> Result<bool, AdminError> {
    let set = async |tx: &mut TenantsTx, _: &Connected| {
        let tenant = tx.find_tenant(slug).await?;
        Ok(tx.set_disabled(tenant, disabled).await?)
    };
    installation.change(set).await
}

async fn purge(
    installation: &Installation,
    slug: &str,
    confirm: Option<&str>,
) -> Result<(), AdminError> {
    let purge = async |tx: &mut TenantsTx, _: &Connected| {
        let tenant = tx.find_tenant(slug).await?;
        let (projects, keys) = (tx.projects(tenant).await?, tx.keys(tenant).await?);
        let (projects, keys) = (projects.len(), keys.len());
        let stakes = format!("tenant {slug}, its projects ({projects}) and keys ({keys})");
        confirmed(confirm, slug, &stakes)?;
        Ok(tx.purge_tenant(slug).await?)
    };
    installation.change(purge).await
}

/// What was done to a tenant.
#[derive(Serialize)]
struct TenantChange<'a> {
    tenant: &'a str,
    done: &'static str,
    /// Advice, although the change succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl<'a> TenantChange<'a> {
    fn new(tenant: &'a str, done: &'static str) -> Self {
        TenantChange {
            tenant,
            done,
            hint: None,
        }
    }

    fn hinting(self, hint: Option<String>) -> Self {
        TenantChange { hint, ..self }
    }
}

impl Answer for TenantChange<'_> {
    fn text(&self) -> String {
        let text = format!("tenant {}: {}", self.tenant, self.done);
        match &self.hint {
            Some(hint) => format!("{text}\n{hint}"),
            None => text,
        }
    }
}

#[derive(Serialize)]
struct TenantList {
    tenants: Vec<ListedTenant>,
}

#[derive(Serialize)]
struct ListedTenant {
    id: Uuid,
    slug: String,
    name: String,
    pool: String,
    projects: u64,
    live_keys: u64,
    created_at: String,
    disabled_at: Option<String>,
}

impl From<Tenant> for ListedTenant {
    fn from(tenant: Tenant) -> Self {
        ListedTenant {
            id: tenant.id,
            slug: tenant.slug,
            name: tenant.name,
            pool: tenant.pool,
            projects: tenant.projects,
            live_keys: tenant.live_keys,
            created_at: moment(tenant.created_at),
            disabled_at: tenant.disabled_at.map(moment),
        }
    }
}

impl Answer for TenantList {
    fn text(&self) -> String {
        let header = [
            "tenant",
            "name",
            "pool",
            "projects",
            "live keys",
            "created",
            "state",
        ];
        let row = |row: &ListedTenant| {
            [
                row.slug.clone(),
                row.name.clone(),
                row.pool.clone(),
                row.projects.to_string(),
                row.live_keys.to_string(),
                row.created_at.clone(),
                row.disabled_at
                    .as_ref()
                    .map_or_else(|| "in use".to_owned(), |at| format!("disabled {at}")),
            ]
        };
        table(
            header,
            self.tenants.iter().map(row).collect(),
            "there are no tenants",
        )
    }
}
