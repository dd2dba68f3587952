//! `archway principal`: callers by tokens of OIDC issuers, whom no command makes.
//!
//! What can be done here is to take back what tokens they have. Whether they get others is their
//! issuer's to say.

use crate::tenants::RevokedPrincipal;
use clap::Subcommand;
use serde::Serialize;

use super::AdminError;
use super::connect::Place;
use super::print::{Answer, harmless, moment, print, table};

/// What `archway principal` is told.
#[derive(Debug, clap::Args)]
pub struct PrincipalArgs {
    #[command(subcommand)]
    command: PrincipalCommand,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Subcommand)]
enum PrincipalCommand {
    /// Refuse the tokens that were issued to somebody before now, within a second and in every
    /// tenant; and, since the issuer's clock may be ahead, those that it makes within its `leeway`
    /// (60 s) from now. Later ones are good: lock the account there first.
    Revoke(RevokeArgs),
    /// List whose tokens were taken back of late: for two hours, by when all of them have ended.
    List,
}

#[derive(Debug, clap::Args)]
struct RevokeArgs {
    /// The issuer's URL, letter by letter as its tokens say it in `iss`.
    #[arg(long, value_name = "URL", value_parser = issuer)]
    issuer: String,
    /// Who: what its tokens say in `sub`, or in the claim that `subject_claim` names.
    #[arg(long, value_name = "SUBJECT")]
    subject: String,
}

/// An issuer's name is a URL: anything else is no issuer's, and would be refused in vain.
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
struct Revoked {
    issuer: String,
    subject: String,
    issued_before: String,
}

#[derive(Serialize)]
struct List {
    revoked: Vec<Revoked>,
}

impl From<RevokedPrincipal> for Revoked {
    fn from(principal: RevokedPrincipal) -> Self {
        Revoked {
            issuer: principal.issuer,
            subject: principal.subject,
            issued_before: moment(principal.before),
        }
    }
}

impl Answer for Revoked {
    fn text(&self) -> String {
        let (issuer, subject) = (harmless(&self.issuer), harmless(&self.subject));
        format!(
            "principal {subject} of {issuer}: tokens issued before {}, or within the issuer's \
             leeway after, are refused",
            self.issued_before
        )
    }
}

impl Answer for List {
    fn text(&self) -> String {
        let rows = self.revoked.iter().map(|revoked| {
            let Revoked {
                issuer,
                subject,
                issued_before,
            } = revoked;
            [issuer, subject, issued_before].map(Clone::clone)
        });
        table(
            ["issuer", "subject", "issued before"],
            rows.collect(),
            "no principal's tokens were taken back of late",
        )
    }
}

/// Runs the command.
pub async fn run(args: PrincipalArgs) -> Result<(), AdminError> {
    let (place, json) = (&args.place, args.place.json);
    match &args.command {
        PrincipalCommand::Revoke(RevokeArgs { issuer, subject }) => {
            let revoked =
                place.change(async |tx, _| Ok(tx.revoke_principal(issuer, subject).await?));
            print(&Revoked::from(revoked.await?), json)
        }
        PrincipalCommand::List => {
            let revoked = place.read(async |tx, _| Ok(tx.revoked_principals().await?));
            let revoked = revoked.await?.into_iter().map(Revoked::from).collect();
            print(&List { revoked }, json)
        }
    }
}
