//! `archway limits`: how much tenants, keys and sessions may spend, other than by default.
//!
//! What is in force is said by the code that gateways go by ([`Terms`]); which tools there are, by
//! the workers' registry. Nothing here knows a number.

mod answer;
mod words;

use crate::tenants::{Key, KeyState, Spender, TenantError, TenantsTx};
use archway_gateway::terms::{Level, Terms};
use clap::Subcommand;

use super::AdminError;
use super::connect::Place;
use super::key::{key_id, of_tenant};
use super::print::print;
use super::spending;
use answer::{Changed, Changes, Shown};
use words::{Given, SetArgs};

/// What `archway limits` is told.
#[derive(Debug, clap::Args)]
pub struct LimitsArgs {
    #[command(subcommand)]
    command: LimitsCommand,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Subcommand)]
enum LimitsCommand {
    // Its own documentation is longer than a line.
    Set(Box<SetArgs>),
    /// Take back what was set at a level: what is less specific is in force again, within a
    /// second.
    Unset {
        #[command(flatten)]
        of: Of,
        #[command(flatten)]
        at: At,
    },
    /// Show what is in force, level by level, and where it comes from: for any key of a tenant
    /// that one agent uses, or for one key.
    Show {
        #[command(flatten)]
        of: Of,
        /// For this key, with what was set for it and its number of agents.
        #[arg(long, value_name = "ID", value_parser = key_id)]
        key: Option<String>,
    },
}

/// A tenant, and names of what has a limit.
#[derive(Debug, clap::Args)]
struct Of {
    /// The tenant's slug, then tools, `prompts/get` or `total`.
    #[arg(value_name = "TENANT|NAME", required_unless_present = "tenant")]
    words: Vec<String>,
    /// The tenant, by name.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
}

impl Of {
    /// The tenant's slug, and the names.
    fn read(&self) -> (&str, &[String]) {
        match (&self.tenant, self.words.split_first()) {
            (Some(tenant), _) => (tenant, &self.words),
            (None, Some((tenant, names))) => (tenant, names),
            // clap lets nobody come here without either.
            (None, None) => ("", &[]),
        }
    }
}

/// Whose limit, and at which level.
#[derive(Debug, clap::Args)]
struct At {
    /// For this key alone, and for what it is rotated to [default: for all keys of the tenant].
    #[arg(long, value_name = "ID", value_parser = key_id)]
    key: Option<String>,
    /// What is bounded: each session, each key, or the tenant [default: key with --key, else
    /// tenant].
    #[arg(long, value_enum, value_name = "LEVEL")]
    level: Option<Level>,
}

impl At {
    /// The level of what is named.
    fn level(&self) -> Level {
        let named = match self.key {
            Some(_) => Level::Key,
            None => Level::Tenant,
        };
        self.level.unwrap_or(named)
    }
}

/// Runs the command.
pub async fn run(args: LimitsArgs) -> Result<(), AdminError> {
    let (place, json) = (&args.place, args.place.json);
    match &args.command {
        LimitsCommand::Set(args) => print(&set(place, args.given()).await?, json),
        LimitsCommand::Unset { of, at } => print(&unset(place, of, at).await?, json),
        LimitsCommand::Show { of, key } => print(&show(place, of, key.as_deref()).await?, json),
    }
}

async fn set<'a>(place: &Place, given: &'a Given) -> Result<Changes<'a>, AdminError> {
    if !given.force {
        spending::check_names(given.limits.iter().map(|(name, _)| name.as_str()))?;
    }
    let level = given.at.level();
    let set = place.change(async |tx, _| {
        let key = given.at.key.as_deref();
        let (whose, key) = spender(tx, &given.tenant, key).await?;
        if let Some(key) = key.filter(|key| key.state != KeyState::Live) {
            return Err(not_good(&given.tenant, &key));
        }
        let mut changes = Vec::with_capacity(given.limits.len());
        for (name, per_minute) in &given.limits {
            changes.push(Changed {
                name,
                per_minute: Some(*per_minute),
                changed: tx.set_limit(whose, level, name, *per_minute).await?,
            });
        }
        Ok(changes)
    });
    Ok(Changes {
        tenant: &given.tenant,
        key: given.at.key.as_deref(),
        level,
        limits: set.await?,
    })
}

async fn unset<'a>(place: &Place, of: &'a Of, at: &'a At) -> Result<Changes<'a>, AdminError> {
    let level = at.level();
    let (tenant, names) = of.read();
    if names.is_empty() {
        return Err(AdminError::Refused(
            "name what shall have its default again: tools, prompts/get or total".to_owned(),
        ));
    }
    let unset = place.change(async |tx, _| {
        let (whose, _) = spender(tx, tenant, at.key.as_deref()).await?;
        let mut changes = Vec::with_capacity(names.len());
        for name in names {
            let changed = tx.unset_limit(whose, level, name).await?;
            if !changed {
                spending::check_names([name.as_str()])?;
            }
            changes.push(Changed {
                name,
                per_minute: None,
                changed,
            });
        }
        Ok(changes)
    });
    Ok(Changes {
        tenant,
        key: at.key.as_deref(),
        level,
        limits: unset.await?,
    })
}

async fn show<'a>(
    place: &Place,
    of: &'a Of,
    key: Option<&'a str>,
) -> Result<Shown<'a>, AdminError> {
    let (tenant, names) = of.read();
    let found = place.read(async |tx, _| {
        let (whose, key) = spender(tx, tenant, key).await?;
        Ok((whose, key, tx.limits(whose.tenant).await?))
    });
    let (whose, found, limits) = found.await?;
    let overrides = limits.in_force(whose.lineage);
    // What was set with --force for a tool that this build doesn't know is in force, too.
    let is_set = |name: &&str| overrides.iter().any(|set| set.of == **name);
    let asked = names.iter().map(String::as_str);
    spending::check_names(asked.filter(|name| !is_set(name)))?;
    let agents = found.map_or(1, |key| key.terms.agents);
    let terms = Terms::new(agents, overrides.clone());
    let mut shown = Shown::new(tenant, key, agents);
    shown.add(&spending::all()?, &overrides, &terms);
    shown.only(names);
    Ok(shown)
}

/// A tenant, or the lineage of one of its keys.
async fn spender(
    tx: &mut TenantsTx,
    slug: &str,
    key: Option<&str>,
) -> Result<(Spender, Option<Key>), TenantError> {
    let key = match key {
        Some(id) => Some(of_tenant(tx, id, slug).await?),
        None => None,
    };
    let whose = Spender {
        tenant: tx.find_tenant(slug).await?,
        lineage: key.as_ref().map(|key| key.lineage),
    };
    Ok((whose, key))
}

fn not_good(tenant: &str, key: &Key) -> AdminError {
    AdminError::Refused(format!(
        "key {} is {}; name one that is good (`archway key list {tenant}`): a limit of its lineage \
         goes for all of them",
        key.id,
        match key.state {
            KeyState::Live => "good",
            KeyState::Expired => "expired",
            KeyState::Revoked => "revoked",
        }
    ))
}
