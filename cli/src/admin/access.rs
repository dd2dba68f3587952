//! `archway access`: who may use which projects and tool families of a tenant.
//!
//! The code that decides by rules is that of gateways and workers.

mod answer;
mod explain;
mod explained;

use archway_proto::access::Caller;
use archway_proto::host_account::HostAccount;
use clap::Subcommand;

use super::AdminError;
use super::connect::Installation;
use super::input::check_families;
use super::print::print;
use super::source_text::refused;
use crate::tenants::AccessTerms;
use answer::{AccessChange, RuleList};

pub(super) use explained::age_text;

/// Arguments of `archway access`.
#[derive(Debug, clap::Args)]
pub struct AccessArgs {
    #[command(subcommand)]
    command: AccessCommand,
    #[command(flatten)]
    installation: Installation,
}

#[derive(Debug, Subcommand)]
enum AccessCommand {
    /// Add a rule that gives projects. With the first rule of a tenant, everyone has only what rules give.
    Allow {
        /// The tenant's slug.
        tenant: String,
        #[command(flatten)]
        rule: RuleArgs,
    },
    /// Add a rule that denies projects, whatever other rules give.
    Deny {
        /// The tenant's slug.
        tenant: String,
        #[command(flatten)]
        rule: RuleArgs,
    },
    /// Remove a rule. Without any, everyone has all of the tenant's projects.
    Remove {
        /// The tenant's slug.
        tenant: String,
        /// The rule's number.
        rule: i64,
    },
    /// List the rules of a tenant.
    List {
        /// The tenant's slug.
        tenant: String,
    },
    /// Show which projects a principal may use, and by which rules.
    Explain {
        /// The tenant's slug.
        tenant: String,
        #[command(flatten)]
        who: CallerArgs,
        /// This project alone.
        #[arg(long, value_name = "SLUG")]
        project: Option<String>,
    },
}

/// What a rule says.
#[derive(Debug, clap::Args)]
struct RuleArgs {
    /// Whom it is about: `everyone`, `group:NAME`, `subject:ISSUER#SUBJECT` or `key:LABEL`; several times for several.
    #[arg(long, required = true, value_name = "WHO")]
    who: Vec<String>,
    /// The projects: a slug, a glob of slugs, or `topic:NAME`; several times for several.
    #[arg(long, required = true, value_name = "PROJECT")]
    project: Vec<String>,
    /// The families of tools; several times for several [default: all].
    #[arg(long, value_name = "FAMILY")]
    family: Vec<String>,
}

/// A principal.
#[derive(Debug, clap::Args)]
struct CallerArgs {
    /// The holder of an API key with this label.
    #[arg(long, value_name = "LABEL", required_unless_present_any = ["subject", "issuer"])]
    key: Option<String>,
    /// The subject of a token.
    #[arg(
        long,
        value_name = "SUBJECT",
        requires = "issuer",
        conflicts_with = "key"
    )]
    subject: Option<String>,
    /// The issuer's URL, exactly as its tokens have it in `iss`.
    #[arg(long, value_name = "URL", requires = "subject", conflicts_with = "key")]
    issuer: Option<String>,
    /// A group that the token names; several times for several.
    #[arg(long, value_name = "GROUP", conflicts_with = "key")]
    group: Vec<String>,
    /// An account at the host of a connection with `permissions: host`, as the token names it: `CONNECTION:login:NAME`,
    /// `CONNECTION:id:NUMBER` or `CONNECTION:email:ADDRESS`; several times for several.
    #[arg(long, value_name = "ACCOUNT", conflicts_with = "key", value_parser = account)]
    account: Vec<HostAccount>,
}

fn account(text: &str) -> Result<HostAccount, &'static str> {
    HostAccount::parse(text)
        .ok_or("write CONNECTION:login:NAME, CONNECTION:id:NUMBER or CONNECTION:email:ADDRESS")
}

impl CallerArgs {
    fn caller(&self) -> Caller<'_> {
        match (&self.key, &self.issuer, &self.subject) {
            (Some(label), ..) => Caller::Key { label },
            (None, issuer, subject) => Caller::Token {
                issuer: issuer.as_deref().unwrap_or_default(),
                subject: subject.as_deref().unwrap_or_default(),
                groups: &self.group,
            },
        }
    }

    /// As answers name it.
    fn name(&self) -> String {
        match (&self.key, &self.subject) {
            (Some(label), _) => format!("key {label}"),
            (None, subject) => format!("subject {}", subject.as_deref().unwrap_or_default()),
        }
    }
}

impl RuleArgs {
    fn terms(&self, deny: bool) -> Result<AccessTerms, AdminError> {
        let families = (!self.family.is_empty()).then_some(self.family.as_slice());
        check_families(families)?;
        AccessTerms::read(&self.who, &self.project, families, deny).map_err(refused)
    }
}

/// Runs the command.
pub async fn run(args: AccessArgs) -> Result<(), AdminError> {
    let (installation, json) = (&args.installation, args.installation.json);
    match &args.command {
        AccessCommand::Allow { tenant, rule } => {
            let added = add(installation, tenant, rule.terms(false)?).await?;
            print(&added, json)
        }
        AccessCommand::Deny { tenant, rule } => {
            let added = add(installation, tenant, rule.terms(true)?).await?;
            print(&added, json)
        }
        AccessCommand::Remove { tenant, rule } => {
            let removed = installation.change(async |tx, _| {
                let id = tx.find_tenant(tenant).await?;
                tx.remove_access_rule(id, *rule).await?;
                Ok(tx.access_rules(id).await?)
            });
            print(&AccessChange::removed(tenant, *rule, &removed.await?), json)
        }
        AccessCommand::List { tenant } => {
            let rules = installation.read(async |tx, _| {
                let id = tx.find_tenant(tenant).await?;
                Ok(tx.access_rules(id).await?)
            });
            print(&RuleList::of(tenant, &rules.await?), json)
        }
        AccessCommand::Explain {
            tenant,
            who,
            project,
        } => {
            let only = project.as_deref();
            let explained = explain::explain(installation, tenant, who, only).await?;
            print(&explained, json)
        }
    }
}

async fn add(
    installation: &Installation,
    tenant: &str,
    terms: AccessTerms,
) -> Result<AccessChange, AdminError> {
    let added = installation.change(async |tx, _| {
        let id = tx.find_tenant(tenant).await?;
        let rule = tx.add_access_rule(id, &terms).await?;
        let names = (tx.live_labels(id).await?, tx.project_slugs(id).await?);
        Ok((rule, tx.access_rules(id).await?, names))
    });
    let (rule, rules, (labels, slugs)) = added.await?;
    Ok(AccessChange::added(tenant, rule, &rules).naming(&terms, &labels, &slugs))
}
