//! `archway limits`: sets and shows what tenants, keys and sessions may spend.
//!
//! The gateways' own code decides which limits apply ([`Terms`]), and the workers' registry which tools
//! exist. This file knows no default.

mod answer;
mod set_args;

use archway_gateway::terms::{Level, Terms};
use clap::Subcommand;

use super::AdminError;
use super::connect::Installation;
use super::key::{key_id, of_tenant};
use super::limit_targets;
use super::print::print;
use crate::tenants::{Key, KeyState, LimitOwner, TenantError, TenantsTx};
use answer::{EffectiveLimits, LimitChange, LimitChanges};
use set_args::{RequestedLimits, SetArgs};

/// Arguments of `archway limits`.
#[derive(Debug, clap::Args)]
pub struct LimitsArgs {
    #[command(subcommand)]
    command: LimitsCommand,
    #[command(flatten)]
    installation: Installation,
}

#[derive(Debug, Subcommand)]
enum LimitsCommand {
    // Its arguments document it: the help has several paragraphs.
    Set(Box<SetArgs>),
    /// Unset limits at a level: the less specific ones apply again, within a second.
    Unset {
        #[command(flatten)]
        of: LimitNames,
        #[command(flatten)]
        scope: LimitScope,
    },
    /// Show the limits that apply, level by level, and where each was set: for one key, or for any
    /// key of a tenant that one agent uses and that has no limits of its own.
    Show {
        #[command(flatten)]
        of: LimitNames,
        /// For this key, with its own limits and its number of agents.
        #[arg(long, value_name = "ID", value_parser = key_id)]
        key: Option<String>,
    },
}

/// A tenant, and names that limits are set for.
#[derive(Debug, clap::Args)]
struct LimitNames {
    /// The tenant's slug, then tools, `prompts/get`, `total` or `month`.
    #[arg(value_name = "TENANT|NAME", required_unless_present = "tenant")]
    words: Vec<String>,
    /// The tenant, by name.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,
}

impl LimitNames {
    /// The tenant's slug, and the names.
    fn read(&self) -> (&str, &[String]) {
        match (&self.tenant, self.words.split_first()) {
            (Some(tenant), _) => (tenant, &self.words),
            (None, Some((tenant, names))) => (tenant, names),
            // Unreachable: clap requires one of them.
            (None, None) => ("", &[]),
        }
    }
}

/// Whose limit, and at which level.
#[derive(Debug, clap::Args)]
struct LimitScope {
    /// For this key alone, and its successors by rotation [default: for all keys of the tenant].
    #[arg(long, value_name = "ID", value_parser = key_id)]
    key: Option<String>,
    /// What the limit bounds: each session, each key, or the tenant [default: key with --key, else
    /// tenant].
    #[arg(long, value_enum, value_name = "LEVEL")]
    level: Option<Level>,
}

impl LimitScope {
    /// The given level, or its default.
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
    let (installation, json) = (&args.installation, args.installation.json);
    match &args.command {
        LimitsCommand::Set(args) => print(&set(installation, args.requested()).await?, json),
        LimitsCommand::Unset { of, scope } => print(&unset(installation, of, scope).await?, json),
        LimitsCommand::Show { of, key } => {
            print(&show(installation, of, key.as_deref()).await?, json)
        }
    }
}

async fn set<'a>(
    installation: &Installation,
    given: &'a RequestedLimits,
) -> Result<LimitChanges<'a>, AdminError> {
    if !given.force {
        limit_targets::check_names(given.limits.iter().map(|(name, _)| name.as_str()))?;
    }
    let level = given.scope.level();
    let set = installation.change(async |tx, _| {
        let key = given.scope.key.as_deref();
        let (owner, key) = spender(tx, &given.tenant, key).await?;
        if let Some(key) = key.filter(|key| key.state != KeyState::Live) {
            return Err(not_good(&given.tenant, &key));
        }
        let mut changes = Vec::with_capacity(given.limits.len());
        for (name, per_minute) in &given.limits {
            changes.push(LimitChange {
                name,
                per_minute: Some(*per_minute),
                changed: tx.set_limit(owner, level, name, *per_minute).await?,
            });
        }
        Ok(changes)
    });
    Ok(LimitChanges {
        tenant: &given.tenant,
        key: given.scope.key.as_deref(),
        level,
        limits: set.await?,
    })
}

async fn unset<'a>(
    installation: &Installation,
    of: &'a LimitNames,
    scope: &'a LimitScope,
) -> Result<LimitChanges<'a>, AdminError> {
    let level = scope.level();
    let (tenant, names) = of.read();
    if names.is_empty() {
        return Err(AdminError::Refused(
            "name the limits to unset: tools, prompts/get or total".to_owned(),
        ));
    }
    let unset = installation.change(async |tx, _| {
        let (owner, _) = spender(tx, tenant, scope.key.as_deref()).await?;
        let mut changes = Vec::with_capacity(names.len());
        for name in names {
            let changed = tx.unset_limit(owner, level, name).await?;
            if !changed {
                limit_targets::check_names([name.as_str()])?;
            }
            changes.push(LimitChange {
                name,
                per_minute: None,
                changed,
            });
        }
        Ok(changes)
    });
    Ok(LimitChanges {
        tenant,
        key: scope.key.as_deref(),
        level,
        limits: unset.await?,
    })
}

async fn show<'a>(
    installation: &Installation,
    of: &'a LimitNames,
    key: Option<&'a str>,
) -> Result<EffectiveLimits<'a>, AdminError> {
    let (tenant, names) = of.read();
    let found = installation.read(async |tx, _| {
        let (owner, key) = spender(tx, tenant, key).await?;
        Ok((owner, key, tx.limits(owner.tenant).await?))
    });
    let (owner, found, limits) = found.await?;
    let overrides = limits.applicable(owner.lineage);
    // A limit may be set with --force for a tool that this build doesn't have.
    let is_set = |name: &&str| overrides.iter().any(|set| set.of == **name);
    let asked = names.iter().map(String::as_str);
    limit_targets::check_names(asked.filter(|name| !is_set(name)))?;
    let agents = found.map_or(1, |key| key.terms.agents);
    let terms = Terms::new(agents, overrides.clone());
    let mut shown = EffectiveLimits::new(tenant, key, agents);
    shown.add(&limit_targets::all()?, &overrides, &terms);
    shown.only(names);
    Ok(shown)
}

/// The owner of limits: a tenant, or the lineage of one of its keys.
async fn spender(
    tx: &mut TenantsTx,
    slug: &str,
    key: Option<&str>,
) -> Result<(LimitOwner, Option<Key>), TenantError> {
    let key = match key {
        Some(id) => Some(of_tenant(tx, id, slug).await?),
        None => None,
    };
    let owner = LimitOwner {
        tenant: tx.find_tenant(slug).await?,
        lineage: key.as_ref().map(|key| key.lineage),
    };
    Ok((owner, key))
}

fn not_good(tenant: &str, key: &Key) -> AdminError {
    AdminError::Refused(format!(
        "key {} is {}; name a live one (`archway key list {tenant}`): a limit applies to the key's \
         whole lineage",
        key.id,
        match key.state {
            KeyState::Live => "live",
            KeyState::Expired => "expired",
            KeyState::Revoked => "revoked",
        }
    ))
}
