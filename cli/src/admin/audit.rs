//! `archway audit`: reads, verifies and prunes the records of who called what, and of what administration changed.
//!
//! Gateways write one record per call, chained by MACs under the root secret
//! (`archway_gateway::audit`). Triggers of the database record administration (`tenants::administration`). Pruning
//! removes whole months of both.

mod changes;
mod known_ends;
mod verify;

use std::io::{self, BufWriter, Write};
use std::time::{Duration, SystemTime};

use archway_gateway::audit::chain::{Row, hex};
use clap::Subcommand;
use jiff::civil::Date;
use jiff::{Timestamp, tz::TimeZone};
use serde::Serialize;
use serde_json::value::RawValue;

use super::connect::{Installation, SecretFile};
use super::print::{Answer, moment, print};
use super::{AdminError, confirmed};
use crate::tenants::{ExportPosition, TenantsTx};
use changes::ChangesArgs;
pub use known_ends::KnownEndsError;
use verify::VerifyArgs;

/// How long after a month ended its records may still be written.
const LAST_WRITTEN: Duration = Duration::from_secs(86_400);

/// Arguments of `archway audit`.
#[derive(Debug, clap::Args)]
pub struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
    #[command(flatten)]
    installation: Installation,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Print records, one JSON object per line: of a tenant's calls in the order in which they ended, or of
    /// administration.
    Export(ExportArgs),
    /// Show what administration changed and who did, the latest change first.
    Changes(ChangesArgs),
    // `VerifyArgs` documents it: its help has several paragraphs.
    Verify(VerifyArgs),
    /// Remove the months before one, of all tenants and of administration. This cannot be undone: export them first.
    Prune(PruneArgs),
}

#[derive(Debug, clap::Args)]
struct ExportArgs {
    /// The tenant's slug.
    #[arg(
        long,
        value_name = "TENANT",
        required_unless_present = "administration"
    )]
    tenant: Option<String>,
    /// Print what administration changed, for all tenants.
    #[arg(long, conflicts_with_all = ["tenant", "since", "until"])]
    administration: bool,
    /// From this moment on: `2026-11-22T05:00:00Z`, or a day, `2026-11-22` (in UTC).
    #[arg(long, value_name = "MOMENT", value_parser = read_moment)]
    since: Option<SystemTime>,
    /// Before this moment.
    #[arg(long, value_name = "MOMENT", value_parser = read_moment)]
    until: Option<SystemTime>,
}

#[derive(Debug, clap::Args)]
struct PruneArgs {
    /// The first month to keep: `2026-10`.
    #[arg(long, value_name = "MONTH", value_parser = read_month)]
    before: (String, SystemTime),
    /// The month again, to confirm.
    #[arg(long, value_name = "MONTH")]
    confirm: Option<String>,
    #[command(flatten)]
    secret: SecretFile,
}

/// Runs the command.
pub async fn run(args: AuditArgs) -> Result<(), AdminError> {
    let (installation, json) = (&args.installation, args.installation.json);
    match &args.command {
        AuditCommand::Export(which) => {
            installation
                .read(async |tx, _| export(tx, which).await)
                .await
        }
        AuditCommand::Changes(which) => changes::run(installation, which).await,
        AuditCommand::Verify(which) => verify::run(installation, which).await,
        AuditCommand::Prune(which) => print(&prune(installation, which).await?, json),
    }
}

/// A record as exported.
#[derive(Serialize)]
struct ExportedRecord<'a> {
    tenant: &'a str,
    chain: String,
    number: i64,
    at: String,
    record: &'a RawValue,
    mac: String,
}

async fn export(tx: &mut TenantsTx, which: &ExportArgs) -> Result<(), AdminError> {
    let Some(slug) = &which.tenant else {
        return changes::export(tx).await;
    };
    let tenant = tx.find_tenant(slug).await?;
    let mut behind = ExportPosition::from(which.since.unwrap_or(SystemTime::UNIX_EPOCH));
    let until = which.until.unwrap_or_else(SystemTime::now);
    let mut out = BufWriter::new(io::stdout().lock());
    loop {
        let page = tx.audit_page(tenant, behind, until).await?;
        let Some(last) = page.last() else {
            return out.flush().map_err(unwritten);
        };
        behind = ExportPosition::behind(last);
        for row in &page {
            write(&mut out, slug, row).map_err(unwritten)?;
        }
    }
}

fn unwritten(error: io::Error) -> AdminError {
    AdminError::Output(error.into())
}

fn write(out: &mut impl Write, tenant: &str, row: &Row) -> io::Result<()> {
    let record = RawValue::from_string(row.record.clone())?;
    let at = exact(row.at);
    let exported = ExportedRecord {
        tenant,
        chain: row.chain.to_string(),
        number: row.number,
        at,
        record: &record,
        mac: hex(&row.mac),
    };
    serde_json::to_writer(&mut *out, &exported)?;
    out.write_all(b"\n")
}

/// Microseconds since 1970 as RFC 3339.
fn exact(micros: i64) -> String {
    Timestamp::from_microsecond(micros).map_or_else(|_| String::new(), |at| at.to_string())
}

#[derive(Serialize)]
struct PrunedMonths<'a> {
    before: &'a str,
    months: u32,
    /// Records of administration.
    changes: u64,
}

impl Answer for PrunedMonths<'_> {
    fn text(&self) -> String {
        let (before, changes) = (self.before, self.changes);
        let months = match self.months {
            0 => format!("no month before {before} has audit records"),
            months => format!("{months} months of audit records before {before} removed"),
        };
        match changes {
            0 => months,
            changes => format!("{months}; {changes} records of administration removed"),
        }
    }
}

async fn prune<'a>(
    installation: &Installation,
    which: &'a PruneArgs,
) -> Result<PrunedMonths<'a>, AdminError> {
    let (month, before) = &which.before;
    if *before + LAST_WRITTEN > SystemTime::now() {
        let now = moment(SystemTime::now());
        return Err(AdminError::Refused(format!(
            "a month can be pruned a day after it ended (it is {now}): name an earlier one"
        )));
    }
    let stakes = format!("the audit records of all tenants and of administration before {month}");
    confirmed(which.confirm.as_deref(), month, &stakes)?;
    let secret = installation.secret(&which.secret)?;
    // Verification takes longest. Doing it before the change keeps calls and other commands from waiting.
    let verified =
        installation.read(async |tx, _| Ok(tx.verify_audit_cuts(*before, &secret).await?));
    let verified = verified.await?;
    let pruned =
        installation.change(async |tx, _| Ok(tx.prune_audit(*before, &verified, &secret).await?));
    let (months, changes) = pruned.await?;
    Ok(PrunedMonths {
        before: month,
        months,
        changes,
    })
}

/// A moment in RFC 3339, or the beginning of a day in UTC.
pub(super) fn read_moment(text: &str) -> Result<SystemTime, String> {
    let day = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok();
    let moment = text.parse::<Timestamp>().ok();
    let moment = moment.or_else(|| Some(day()?.timestamp()));
    moment
        .map(SystemTime::from)
        .ok_or_else(|| "expected 2026-11-22T05:00:00Z, or a day as 2026-11-22".to_owned())
}

/// A month and its beginning in UTC.
fn read_month(text: &str) -> Result<(String, SystemTime), String> {
    let first = format!("{text}-01");
    let is_month = text.len() == 7;
    let moment = read_moment(&first).ok().filter(|_| is_month);
    moment
        .map(|moment| (text.to_owned(), moment))
        .ok_or_else(|| "expected a month as 2026-10".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_such_or_as_days_in_utc() {
        let day = read_moment("2026-11-22").unwrap();
        assert_eq!(day, read_moment("2026-11-22T00:00:00Z").unwrap());
        assert_eq!(day, read_moment("2026-11-22T01:00:00+01:00").unwrap());
        for bad in ["", "yesterday", "2026-11", "22.11.2026"] {
            assert!(read_moment(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn months_are_read_and_days_are_refused() {
        let (name, begins) = read_month("2026-10").unwrap();
        assert_eq!(
            (name.as_str(), moment(begins)),
            ("2026-10", "2026-10-01T00:00:00Z".to_owned())
        );
        for bad in ["2026-10-01", "2026-13", "10-2026", ""] {
            assert!(read_month(bad).is_err(), "{bad}");
        }
    }
}
