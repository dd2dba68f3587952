//! `archway audit changes`: what administration changed, and who did.
//!
//! The database's triggers write a record for each changed row. What a reader would get wrong: PostgreSQL knows the role
//! for certain. The user and host are what the command said about itself, and a client such as `psql` says nothing.

use std::io::{self, BufWriter, Write};
use std::time::SystemTime;

use archway_gateway::audit::chain::hex;
use archway_gateway::store::moment as moment_of;
use archway_gateway::terms::{MEMORY, MONTH};
use archway_proto::misleading::visible_json;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::super::AdminError;
use super::super::connect::Installation;
use super::super::print::{Answer, moment, print, table};
use super::super::tenant_selector::TenantSelector;
use super::super::usage::read_since;
use super::{exact, unwritten};
use crate::tenants::{AdministrationQuery, AdministrationRecord, TenantError, TenantsTx};

/// Columns that say little to people, as ids of 32 digits do. `--json` has them.
const SELDOM_SHOWN: [&str; 4] = ["tenant_id", "project_id", "created_at", "secret_line"];

/// Arguments of `archway audit changes`.
#[derive(Debug, clap::Args)]
pub(super) struct ChangesArgs {
    #[command(flatten)]
    tenants: TenantSelector,
    /// From when on: days or hours ago (`7d`, `12h`), a moment, or a day (`2026-11-22`, in UTC).
    #[arg(long, value_name = "AGE|MOMENT", default_value = "30d", value_parser = read_since)]
    since: SystemTime,
    /// How many changes to show at most.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
    /// Show what came before the change with this number: `next` of the answer before.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i64).range(1..))]
    before: Option<i64>,
}

/// The changes, the latest first. Its JSON is an interface: members are added, never renamed.
#[derive(Serialize)]
struct Changes {
    changes: Vec<ExportedChange>,
    /// For `--before`, if there are more.
    next: Option<i64>,
}

/// A record as exported.
#[derive(Serialize)]
struct ExportedChange {
    number: i64,
    at: String,
    record: Box<RawValue>,
    /// Hexadecimal.
    hash: String,
    /// `at` in microseconds since 1970.
    #[serde(skip)]
    micros: i64,
}

/// The members of a record that are shown.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Change {
    role: String,
    os_user: Option<String>,
    host: Option<String>,
    tenant: Option<String>,
    project: Option<String>,
    what: String,
    action: String,
    of: Map<String, Value>,
    before: Map<String, Value>,
    after: Map<String, Value>,
}

/// Runs the command.
pub(super) async fn run(
    installation: &Installation,
    which: &ChangesArgs,
) -> Result<(), AdminError> {
    let rows = installation.read(async |tx, _| {
        // One more says whether there are more.
        let query = AdministrationQuery {
            tenant: which.tenants.slug(),
            since: which.since,
            before: which.before,
            limit: i64::from(which.limit) + 1,
        };
        let rows = tx.administration(&query).await?;
        if let (Some(slug), true) = (query.tenant, rows.is_empty()) {
            was_ever(tx, slug).await?;
        }
        Ok(rows)
    });
    let mut rows = rows.await?;
    let limit = which.limit as usize;
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(|row| row.number);
    let changes: Result<_, io::Error> = rows.into_iter().map(ExportedChange::new).collect();
    let changes = changes.map_err(unwritten)?;
    print(&Changes { changes, next }, installation.json)
}

/// Refuses the slug of a tenant that neither exists nor has records.
async fn was_ever(tx: &mut TenantsTx, slug: &str) -> Result<(), AdminError> {
    let any = AdministrationQuery {
        tenant: Some(slug),
        since: SystemTime::UNIX_EPOCH,
        before: None,
        limit: 1,
    };
    match tx.find_tenant(slug).await {
        Err(TenantError::Missing { .. }) if tx.administration(&any).await?.is_empty() => {
            Err(AdminError::Refused(format!(
                "there is no tenant {slug:?}, and no record of one; `archway tenant list` lists what exists, \
                 `archway audit changes` what was changed"
            )))
        }
        Err(TenantError::Missing { .. }) => Ok(()),
        found => Ok(found.map(drop)?),
    }
}

/// Prints all records, one JSON object per line.
pub(super) async fn export(tx: &mut TenantsTx) -> Result<(), AdminError> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut behind = 0;
    loop {
        let page = tx.administration_page(behind).await?;
        let Some(last) = page.last() else {
            return out.flush().map_err(unwritten);
        };
        behind = last.number;
        for row in page {
            let row = ExportedChange::new(row).map_err(unwritten)?;
            let line = serde_json::to_string(&row).map_err(|error| unwritten(error.into()))?;
            // What administrators wrote, unlike records of calls, is stored as it is.
            writeln!(out, "{}", visible_json(&line)).map_err(unwritten)?;
        }
    }
}

impl ExportedChange {
    fn new(row: AdministrationRecord) -> Result<Self, io::Error> {
        Ok(ExportedChange {
            number: row.number,
            at: exact(row.at),
            hash: hex(&row.hash),
            micros: row.at,
            record: RawValue::from_string(row.record)?,
        })
    }

    fn cells(&self) -> [String; 5] {
        let change: Change = serde_json::from_str(self.record.get()).unwrap_or_default();
        change.cells(self.micros)
    }
}

impl Change {
    fn cells(self, at: i64) -> [String; 5] {
        let who = match (&self.os_user, &self.host) {
            (Some(user), Some(host)) => format!("{user}@{host} ({})", self.role),
            _ => self.role.clone(),
        };
        [
            moment(moment_of(at)),
            who,
            self.tenant.clone().unwrap_or_else(|| "-".to_owned()),
            self.what(),
            self.values(),
        ]
    }

    /// The row: its table, and its project or the columns that name it.
    fn what(&self) -> String {
        let named = self.project.clone();
        let named = named.unwrap_or_else(|| self.pairs(&self.of));
        format!("{} {named}", self.what).trim_end().to_owned()
    }

    /// What became of it: `changed: name=Site → name=Shop`.
    fn values(&self) -> String {
        let (before, after) = (self.pairs(&self.before), self.pairs(&self.after));
        let values = match self.action.as_str() {
            "changed" => format!("{before} → {after}"),
            _ => format!("{before}{after}"),
        };
        format!("{}: {values}", self.action)
    }

    /// `name=Site, pool=shared`, without what is null or seldom shown.
    fn pairs(&self, columns: &Map<String, Value>) -> String {
        let columns = columns
            .iter()
            .filter(|(name, value)| !value.is_null() && !SELDOM_SHOWN.contains(&name.as_str()))
            .filter(|(name, value)| *name != "id" || !is_uuid(value));
        let columns = columns.map(|(name, value)| (self.shown(name), value));
        let columns: Vec<String> = columns
            .map(|(name, value)| match value {
                Value::String(text) => format!("{name}={text}"),
                other => format!("{name}={other}"),
            })
            .collect();
        columns.join(", ")
    }

    /// A column's name. The month and memory have no minute, though their column is called so.
    fn shown<'a>(&'a self, column: &'a str) -> &'a str {
        let mut rows = [&self.of, &self.before, &self.after].into_iter();
        match (column, rows.find_map(|row| row.get("of")?.as_str())) {
            ("per_minute", Some(of @ (MONTH | MEMORY))) => of,
            _ => column,
        }
    }
}

fn is_uuid(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| Uuid::parse_str(text).is_ok())
}

impl Answer for Changes {
    fn text(&self) -> String {
        let rows = self.changes.iter().map(ExportedChange::cells);
        let header = ["at", "who", "tenant", "what", "change"];
        let text = table(header, rows.collect(), "no changes");
        match self.next {
            Some(next) => format!("{text}\n\nthere are more: add `--before {next}`"),
            None => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_who_made_it_and_what_was_before() {
        let record = r#"{"role": "archway", "os_user": "ada", "host": "box", "tenant": "acme", "what": "limits",
            "action": "changed", "of": {"level": "key", "of": "total"}, "before": {"per_minute": 60},
            "after": {"per_minute": 120}, "transaction": "7"}"#;
        let change: Change = serde_json::from_str(record).unwrap();
        let [at, who, tenant, what, change] = change.cells(0);
        assert_eq!(
            (at.as_str(), who.as_str()),
            ("1970-01-01T00:00:00Z", "ada@box (archway)")
        );
        assert_eq!(
            (tenant.as_str(), what.as_str()),
            ("acme", "limits level=key, of=total")
        );
        assert_eq!(change, "changed: per_minute=60 → per_minute=120");
        let month = record.replace("total", "month");
        let change: Change = serde_json::from_str(&month).unwrap();
        assert_eq!(change.values(), "changed: month=60 → month=120");
    }
}
