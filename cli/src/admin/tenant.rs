//! `archway tenant`: makes tenants, lists and changes them, puts them out of use, erases them.

use crate::tenants::{Tenant, TenantError, TenantsTx};
use clap::{ArgGroup, Subcommand};
use serde::Serialize;
use uuid::Uuid;

use super::connect::{Connected, Place};
use super::print::{Answer, moment, print, table};
use super::{AdminError, confirmed};

/// What `archway tenant` is told.
#[derive(Debug, clap::Args)]
pub struct TenantArgs {
    #[command(subcommand)]
    command: TenantCommand,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Subcommand)]
enum TenantCommand {
    /// Make a tenant: a customer or team, whose projects and keys no other tenant meets.
    Create {
        /// Its name in addresses, folders and settings: `[a-z0-9][a-z0-9-]{0,62}`.
        slug: String,
        /// Its name for people [default: the slug].
        #[arg(long)]
        name: Option<String>,
        /// The pool of workers that serves it [default: shared].
        #[arg(long, value_name = "NAME")]
        pool: Option<String>,
    },
    /// List all tenants.
    List,
    /// Change a tenant's name, or the pool of workers that serves it: gateways go by it within a
    /// second.
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
    /// Put a tenant out of use: its credentials are refused within a second, its data stays.
    Disable {
        /// The tenant's slug.
        slug: String,
    },
    /// Put a disabled tenant into use again.
    Enable {
        /// The tenant's slug.
        slug: String,
    },
    /// Erase a disabled tenant and everything that is its own. There is no way back.
    Purge {
        /// The tenant's slug.
        slug: String,
        /// The slug again, to say that this is meant.
        #[arg(long, value_name = "SLUG")]
        confirm: Option<String>,
    },
}

/// Runs the command.
pub async fn run(args: TenantArgs) -> Result<(), AdminError> {
    let (place, json) = (&args.place, args.place.json);
    let (slug, done) = match &args.command {
        TenantCommand::List => {
            let tenants = place.read(async |tx, _| Ok(tx.tenants().await?)).await?;
            let tenants = tenants.into_iter().map(Row::from).collect();
            return print(&List { tenants }, json);
        }
        TenantCommand::Create { slug, name, pool } => {
            let hint = create(place, slug, name.as_deref(), pool.as_deref()).await?;
            return print(&Done::new(slug, "created").hinting(hint), json);
        }
        TenantCommand::Set { slug, name, pool } => {
            let hint = set(place, slug, name.as_deref(), pool.as_deref()).await?;
            return print(&Done::new(slug, "changed").hinting(hint), json);
        }
        TenantCommand::Disable { slug } => {
            let changed = set_disabled(place, slug, true).await?;
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
            let changed = set_disabled(place, slug, false).await?;
            (slug, if changed { "enabled" } else { "enabled before" })
        }
        TenantCommand::Purge { slug, confirm } => {
            purge(place, slug, confirm.as_deref()).await?;
            (slug, "erased")
        }
    };
    print(&Done::new(slug, done), json)
}

/// Answers with a hint, if there is one.
async fn create(
    place: &Place,
    slug: &str,
    name: Option<&str>,
    pool: Option<&str>,
) -> Result<Option<String>, AdminError> {
    let create = async |tx: &mut TenantsTx, _: &Connected| {
        let tenant = tx.create_tenant(slug, name).await?;
        Ok(move_to(tx, tenant, pool).await?)
    };
    place.change(create).await
}

async fn set(
    place: &Place,
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
    place.change(set).await
}

/// Gives a tenant the pool, if one is named; a hint if nobody is known to work there.
async fn move_to(
    tx: &mut TenantsTx,
    tenant: Uuid,
    pool: Option<&str>,
) -> Result<Option<String>, TenantError> {
    let Some(pool) = pool else { return Ok(None) };
    tx.set_pool(tenant, pool).await?;
    let is_there = tx
        .workers_seen()
        .await?
        .iter()
        .any(|worker| worker.pool == pool);
    Ok((!is_there).then(|| {
        format!(
            "no worker of pool {pool} has reported a project within the last 90 s: until one \
             serves the tenant (archway worker --pool {pool}), and gateways know it (archway gateway \
             --worker {pool}=URL), its calls are answered unavailable"
        )
    }))
}

async fn set_disabled(place: &Place, slug: &str, disabled: bool) -> Result<bool, AdminError> {
    let set = async |tx: &mut TenantsTx, _: &Connected| {
        let tenant = tx.find_tenant(slug).await?;
        Ok(tx.set_disabled(tenant, disabled).await?)
    };
    place.change(set).await
}

async fn purge(place: &Place, slug: &str, confirm: Option<&str>) -> Result<(), AdminError> {
    let purge = async |tx: &mut TenantsTx, _: &Connected| {
        let tenant = tx.find_tenant(slug).await?;
        let (projects, keys) = (tx.projects(tenant).await?, tx.keys(tenant).await?);
        let (projects, keys) = (projects.len(), keys.len());
        let stakes = format!("tenant {slug}, its projects ({projects}) and keys ({keys})");
        confirmed(confirm, slug, &stakes)?;
        Ok(tx.purge_tenant(slug).await?)
    };
    place.change(purge).await
}

/// What was done to a tenant.
#[derive(Serialize)]
struct Done<'a> {
    tenant: &'a str,
    done: &'static str,
    /// What to look at, though it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl<'a> Done<'a> {
    fn new(tenant: &'a str, done: &'static str) -> Self {
        Done {
            tenant,
            done,
            hint: None,
        }
    }

    fn hinting(self, hint: Option<String>) -> Self {
        Done { hint, ..self }
    }
}

impl Answer for Done<'_> {
    fn text(&self) -> String {
        let text = format!("tenant {}: {}", self.tenant, self.done);
        match &self.hint {
            Some(hint) => format!("{text}\n{hint}"),
            None => text,
        }
    }
}

#[derive(Serialize)]
struct List {
    tenants: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    slug: String,
    name: String,
    pool: String,
    projects: u64,
    live_keys: u64,
    created_at: String,
    disabled_at: Option<String>,
}

impl From<Tenant> for Row {
    fn from(tenant: Tenant) -> Self {
        Row {
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

impl Answer for List {
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
        let row = |row: &Row| {
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
