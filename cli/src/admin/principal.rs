//! `archway principal`: callers with tokens of OIDC issuers. Issuers create them, not Archway.
//!
//! A command can revoke the tokens they have. Whether they get new ones is up to their issuer.

use clap::Subcommand;
use serde::Serialize;

use super::AdminError;
use super::connect::Installation;
use super::print::{Answer, harmless, moment, print, table};
use crate::tenants::RevokedPrincipal;

/// Arguments of `archway principal`.
#[derive(Debug, clap::Args)]
pub struct PrincipalArgs {
    #[command(subcommand)]
    command: PrincipalCommand,
    #[command(flatten)]
    installation: Installation,
}

#[derive(Debug, Subcommand)]
enum PrincipalCommand {
    /// Refuse a principal's tokens that were issued before now, within a second and in every tenant.
    /// The issuer's clock may be ahead, so tokens issued within its `leeway` (60 s) from now are
    /// refused as well. Later ones are good: lock the account at the issuer first.
    Revoke(RevokeArgs),
    /// List principals whose tokens were revoked within the last two hours. Older tokens have expired.
    List,
}

#[derive(Debug, clap::Args)]
struct RevokeArgs {
    /// The issuer's URL, exactly as its tokens have it in `iss`.
    #[arg(long, value_name = "URL", value_parser = issuer)]
    issuer: String,
    /// The subject: what its tokens have in `sub`, or in the claim that `subject_claim` names.
    #[arg(long, value_name = "SUBJECT")]
    subject: String,
}

/// An issuer is named by its URL; a revocation of any other name would have no effect.
fn issuer(text: &str) -> Result<String, String> {
    let rest = text
        .strip_prefix("https://")
        .or(text.strip_prefix("http://"));
    let is_url = rest
        .is_some_and(|rest| !rest.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()));
    is_url
        .then(|| text.to_owned())
        .ok_or_else(|| "expected the issuer's URL: https://…".to_owned())
}

#[derive(Serialize)]
struct RevokedTokens {
    issuer: String,
    subject: String,
    issued_before: String,
}

#[derive(Serialize)]
struct RevokedTokensList {
    revoked: Vec<RevokedTokens>,
}

impl From<RevokedPrincipal> for RevokedTokens {
    fn from(principal: RevokedPrincipal) -> Self {
        RevokedTokens {
            issuer: principal.issuer,
            subject: principal.subject,
            issued_before: moment(principal.before),
        }
    }
}

impl Answer for RevokedTokens {
    fn text(&self) -> String {
        let (issuer, subject) = (harmless(&self.issuer), harmless(&self.subject));
        format!(
            "principal {subject} of {issuer}: tokens issued before {}, or within the issuer's \
             leeway after, are refused",
            self.issued_before
        )
    }
}

impl Answer for RevokedTokensList {
    fn text(&self) -> String {
        let rows = self.revoked.iter().map(|revoked| {
            let RevokedTokens {
                issuer,
                subject,
                issued_before,
            } = revoked;
            [issuer, subject, issued_before].map(Clone::clone)
        });
        table(
            ["issuer", "subject", "issued before"],
            rows.collect(),
            "no principal's tokens were revoked within the last two hours",
        )
    }
}

/// Runs the command.
pub async fn run(args: PrincipalArgs) -> Result<(), AdminError> {
    let (installation, json) = (&args.installation, args.installation.json);
    match &args.command {
        PrincipalCommand::Revoke(RevokeArgs { issuer, subject }) => {
            let revoked =
                installation.change(async |tx, _| Ok(tx.revoke_principal(issuer, subject).await?));
            print(&RevokedTokens::from(revoked.await?), json)
        }
        PrincipalCommand::List => {
            let revoked = installation.read(async |tx, _| Ok(tx.revoked_principals().await?));
            let revoked = revoked
                .await?
                .into_iter()
                .map(RevokedTokens::from)
                .collect();
            print(&RevokedTokensList { revoked }, json)
        }
    }
}
