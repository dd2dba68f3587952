//! `archway key`: issues, lists, revokes and rotates API keys.
//!
//! Only the answer that creates a key holds its secret.

mod answer;
mod each;

use std::path::PathBuf;

use archway_proto::catalog::Scope;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Subcommand, value_parser};
use uuid::Uuid;

use super::AdminError;
use super::connect::{Installation, KeySecret};
use super::input::{KeyEnd, Length, check_families};
use super::print::print;
use super::tenant_selector::TenantSelector;
use crate::tenants::{Key, KeyRequest, TenantError, TenantsTx, generate_key};
use answer::{KeyList, NewKeyAnswer, RevokedKey, RotatedKey};

/// Arguments of `archway key`.
#[derive(Debug, clap::Args)]
pub struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
    #[command(flatten)]
    installation: Installation,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Print a new random key without storing it: for the variable that `from_env` names in the file
    /// of `archway apply`.
    Generate,
    /// Issue a key, and print its secret once.
    Issue(Box<IssueArgs>),
    /// List the keys of a tenant, or of all; never a secret.
    List {
        #[command(flatten)]
        selector: TenantSelector,
    },
    /// Revoke a key for good: it is refused within a second.
    Revoke {
        /// The key's id: the part between the first two underscores.
        #[arg(value_parser = key_id)]
        id: String,
        /// Refuse unless the key belongs to this tenant.
        #[arg(long)]
        tenant: Option<String>,
    },
    /// Issue a key's successor, with the same rights, limits and sessions. Its secret is printed
    /// once.
    Rotate(Box<RotateArgs>),
}

/// A key's id. Accepts a whole key but returns its id only, so that no answer repeats a secret.
pub(super) fn key_id(text: &str) -> Result<String, String> {
    let Some(rest) = text.strip_prefix("awy_") else {
        return Ok(text.to_owned());
    };
    let id = rest.split('_').next().unwrap_or_default();
    Ok(id.to_owned())
}

#[derive(Debug, clap::Args)]
struct IssueArgs {
    #[command(flatten)]
    of: OfTenant,
    /// A name for people, which access rules may name, too [default: none].
    #[arg(long, value_parser = label)]
    label: Option<String>,
    /// When it ends: 90d, 2027-01-31 (that day's first moment in UTC) or RFC 3339 [default: never].
    #[arg(long, value_name = "END", value_parser = value_parser!(KeyEnd))]
    expires: Option<KeyEnd>,
    /// What it may do. `admin` grants nothing on the MCP endpoint, and implies no other scope.
    #[arg(
        long,
        value_name = "SCOPES",
        value_delimiter = ',',
        default_values = ["tools:read", "memory:write"],
        value_parser = scope_parser()
    )]
    scopes: Vec<Scope>,
    /// The projects it may read, at most 200 [default: all of the tenant's, later ones included].
    #[arg(long, value_name = "SLUGS", value_delimiter = ',')]
    projects: Option<Vec<String>>,
    /// The tool families it may call [default: all, later ones included].
    #[arg(long, value_name = "FAMILIES", value_delimiter = ',')]
    families: Option<Vec<String>>,
    /// The project of calls that name none.
    #[arg(long, value_name = "SLUG")]
    default_project: Option<String>,
    /// How many agents share it.
    #[arg(long, value_name = "N", default_value = "1", value_parser = value_parser!(u32).range(1..=10_000))]
    agents: u32,
    /// The folder for the keys of --each. It gets a file for each tenant, readable by its owner only
    /// (0600), and none may exist. Keys are not printed.
    #[arg(long, value_name = "DIR", requires = "each")]
    out: Option<PathBuf>,
    #[command(flatten)]
    secret: KeySecret,
}

#[derive(Debug, clap::Args)]
struct RotateArgs {
    /// The older key's id.
    #[arg(value_parser = key_id)]
    id: String,
    /// How long the older key stays good: 24h, 7d, … or 0.
    #[arg(long, value_name = "LENGTH", default_value = "24h", value_parser = value_parser!(Length))]
    overlap: Length,
    /// When the new key ends [default: it gets the older key's lifetime].
    #[arg(long, value_name = "END", value_parser = value_parser!(KeyEnd))]
    expires: Option<KeyEnd>,
    #[command(flatten)]
    secret: KeySecret,
}

/// A tenant, by position or by option.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct OfTenant {
    /// The tenant's slug.
    #[arg(value_name = "TENANT")]
    tenant: Option<String>,
    /// The tenant's slug, as an option.
    #[arg(long = "tenant", value_name = "TENANT")]
    named: Option<String>,
    /// A file with slugs, one a line: each of these tenants gets a key. `-` for standard input.
    #[arg(long, value_name = "FILE", requires = "out")]
    each: Option<PathBuf>,
}

/// Runs the command.
pub async fn run(args: KeyArgs) -> Result<(), AdminError> {
    let (installation, json) = (&args.installation, args.installation.json);
    match &args.command {
        KeyCommand::Generate => print(&NewKeyAnswer::unstored(&generate_key()?), json),
        KeyCommand::Issue(issue) => {
            check_families(issue.families.as_deref())?;
            if let (Some(list), Some(folder)) = (&issue.of.each, &issue.out) {
                let issued = each::issue_each(installation, issue, list, folder).await?;
                return print(&issued, json);
            }
            let secret = installation.secret(&issue.secret.file)?;
            let key = installation.change(async |tx, _| {
                issue.secret.check(tx, &secret).await?;
                let tenant = tx.find_tenant(issue.of.slug()).await?;
                let key = tx.issue_key(tenant, &secret, &issue.terms()).await?;
                Ok((key, warning(tx, tenant, issue.of.slug()).await?))
            });
            let (key, warning) = key.await?;
            print(&NewKeyAnswer::stored(&key, warning), json)
        }
        KeyCommand::List { selector } => {
            let list = installation.read(async |tx, _| {
                let mut list = KeyList::new(selector.slug());
                for (tenant, id) in selector.resolve(tx).await? {
                    list.add(&tenant, tx.keys(id).await?);
                }
                Ok(list)
            });
            print(&list.await?, json)
        }
        KeyCommand::Revoke { id, tenant } => {
            let revoked =
                installation.change(async |tx, _| Ok(revoke(tx, id, tenant.as_deref()).await?));
            print(&RevokedKey::new(id, revoked.await?), json)
        }
        KeyCommand::Rotate(rotate) => {
            let secret = installation.secret(&rotate.secret.file)?;
            let rotated = installation.change(async |tx, _| {
                rotate.secret.check(tx, &secret).await?;
                let end = rotate.expires.map(|end| end.0);
                let overlap = rotate.overlap.0;
                let key = tx.rotate_key(&rotate.id, &secret, overlap, end).await?;
                Ok((key, tx.find_key(&rotate.id).await?))
            });
            let (key, older) = rotated.await?;
            print(&RotatedKey::new(&key, &older), json)
        }
    }
}

/// What to say of a new key that is refused at once.
async fn warning(
    tx: &mut TenantsTx,
    tenant: Uuid,
    slug: &str,
) -> Result<Option<String>, TenantError> {
    let is_disabled = tx.tenant_state(tenant).await?.is_disabled;
    Ok(is_disabled.then(|| {
        format!(
            "tenant {slug} is disabled: its keys are refused until `archway tenant enable {slug}`"
        )
    }))
}

/// A key of this tenant. Another tenant's key is reported like an unknown one.
pub(super) async fn of_tenant(
    tx: &mut TenantsTx,
    id: &str,
    slug: &str,
) -> Result<Key, TenantError> {
    let tenant = tx.find_tenant(slug).await?;
    let key = tx.find_key(id).await?;
    if key.tenant != tenant {
        return Err(tx.missing("key", format!("{id} of tenant {slug}")));
    }
    Ok(key)
}

async fn revoke(tx: &mut TenantsTx, id: &str, tenant: Option<&str>) -> Result<bool, TenantError> {
    if let Some(slug) = tenant {
        of_tenant(tx, id, slug).await?;
    }
    tx.revoke_key(id).await
}

fn label(text: &str) -> Result<String, &'static str> {
    let text = Some(text.to_owned()).filter(|text| !text.trim().is_empty());
    text.ok_or("a label is not empty, since access rules name keys by it; leave --label out for a key without one")
}

fn scope_parser() -> impl TypedValueParser<Value = Scope> {
    PossibleValuesParser::new(Scope::ALL.map(Scope::name)).try_map(|name| {
        let unknown = || format!("there is no scope {name}");
        Scope::parse(&name).ok_or_else(unknown)
    })
}

impl OfTenant {
    fn slug(&self) -> &str {
        let slug = self.tenant.as_deref().or(self.named.as_deref());
        // Unreachable: the group is required, so clap demands one of them.
        slug.unwrap_or_default()
    }
}

impl IssueArgs {
    fn terms(&self) -> KeyRequest {
        KeyRequest {
            label: self.label.clone().unwrap_or_default(),
            scopes: self.scopes.clone(),
            projects: self.projects.clone(),
            families: self.families.clone(),
            default_project: self.default_project.clone(),
            agents: self.agents,
            expires_at: self.expires.map(|end| end.0),
        }
    }
}
