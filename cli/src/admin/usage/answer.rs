//! The answer of `archway usage`: a table with bars, JSON, or CSV.

use std::time::SystemTime;

use serde::Serialize;

use super::super::print::{Answer, moment, table, table_by_tenant};
use crate::tenants::UsageRow;

/// Characters of the longest bar.
const LONGEST_BAR: i64 = 20;

/// The rows, and what they are about. Its JSON is an interface: members are added, never renamed.
#[derive(Serialize)]
pub(super) struct Usage<'a> {
    by: &'static str,
    /// In UTC: from the full hour that contains it.
    since: String,
    tenant: Option<&'a str>,
    /// Calls of all rows.
    calls: i64,
    /// Calls without an audit record, which are in no row.
    missing: i64,
    rows: Vec<ListedUsage>,
}

#[derive(Serialize)]
struct ListedUsage {
    /// Of keys and projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    /// Empty where calls have none.
    of: String,
    /// Of a key that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    calls: i64,
    /// Calls that succeeded.
    ok: i64,
    units: i64,
    bytes_out: i64,
    /// Estimated: four bytes are one.
    tokens: i64,
    /// In all, to the microsecond.
    duration_ms: f64,
}

impl<'a> Usage<'a> {
    /// What was read, by what each row is.
    pub(super) fn new(
        by: &'static str,
        since: SystemTime,
        tenant: Option<&'a str>,
        rows: Vec<UsageRow>,
    ) -> Self {
        let (calls, missing) = (
            rows.iter().map(|row| row.calls).sum(),
            rows.iter().map(|row| row.missing).sum(),
        );
        let rows = rows.into_iter().filter(|row| row.calls > 0);
        Usage {
            by,
            since: moment(since),
            tenant,
            calls,
            missing,
            rows: rows.map(ListedUsage::from).collect(),
        }
    }

    /// The rows as CSV, under a header.
    pub(super) fn csv(&self) -> String {
        let counts = "calls,ok,units,bytes_out,tokens,duration_ms";
        let mut lines = vec![format!("tenant,{},label,{counts}", self.by)];
        for row in &self.rows {
            let tenant = row.tenant.as_deref().or(self.tenant);
            let names = [tenant, Some(&row.of), row.label.as_deref()];
            let names = names.map(|name| quoted(name.unwrap_or_default()));
            let counts = [row.calls, row.ok, row.units, row.bytes_out, row.tokens];
            let counts = counts.map(|count| count.to_string());
            let took = row.duration_ms;
            lines.push(format!(
                "{},{},{took:.3}",
                names.join(","),
                counts.join(",")
            ));
        }
        lines.join("\n")
    }
}

/// A field of CSV, in quotes if it needs them.
fn quoted(field: &str) -> String {
    match field.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

impl From<UsageRow> for ListedUsage {
    fn from(row: UsageRow) -> Self {
        ListedUsage {
            tenant: row.tenant,
            of: row.of,
            label: row.label.filter(|label| !label.is_empty()),
            calls: row.calls,
            ok: row.ok,
            units: row.units,
            bytes_out: row.bytes_out,
            tokens: row.tokens,
            duration_ms: (row.duration_ms * 1000.0).round() / 1000.0,
        }
    }
}

impl ListedUsage {
    /// The cells of its row, with a bar in proportion to the row with the most calls.
    fn cells(&self, most: i64) -> [String; 8] {
        let of = match (self.of.as_str(), &self.label) {
            ("", _) => "-".to_owned(),
            (of, Some(label)) => format!("{of} ({label})"),
            (of, None) => of.to_owned(),
        };
        // Rounded up: any call is seen.
        let bar = (self.calls * LONGEST_BAR + most - 1) / most.max(1);
        #[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
        let mean = self.duration_ms / self.calls.max(1) as f64;
        [
            of,
            self.calls.to_string(),
            "█".repeat(usize::try_from(bar).unwrap_or(0)),
            format!("{} %", self.ok * 100 / self.calls.max(1)),
            self.units.to_string(),
            (self.bytes_out / 1000).to_string(),
            self.tokens.to_string(),
            format!("{mean:.1}"),
        ]
    }
}

impl Answer for Usage<'_> {
    fn text(&self) -> String {
        let most = self.rows.iter().map(|row| row.calls).max().unwrap_or(1);
        let header = [
            self.by, "calls", "", "ok", "units", "kB out", "tokens", "mean ms",
        ];
        let none = format!("no calls since {}", self.since);
        let rows = self.rows.iter().map(|row| row.cells(most));
        let tenants: Option<Vec<String>> = self.rows.iter().map(|row| row.tenant.clone()).collect();
        let mut text = match tenants {
            Some(tenants) if self.tenant.is_none() => {
                table_by_tenant(header, tenants.into_iter().zip(rows).collect(), &none)
            }
            _ => table(header, rows.collect(), &none),
        };
        if self.missing > 0 {
            text += &format!(
                "\n\n{} calls have no audit record, and are not counted here",
                self.missing
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(tenant: Option<&str>, of: &str, calls: u32) -> UsageRow {
        let count = i64::from(calls);
        UsageRow {
            tenant: tenant.map(str::to_owned),
            of: of.to_owned(),
            label: None,
            calls: count,
            ok: count / 2,
            units: count * 5,
            bytes_out: count * 1000,
            tokens: count * 250,
            duration_ms: 1.5 * f64::from(calls),
            missing: 0,
        }
    }

    fn usage(by: &'static str, rows: Vec<UsageRow>) -> Usage<'static> {
        Usage::new(by, SystemTime::UNIX_EPOCH, None, rows)
    }

    #[test]
    fn the_longest_bar_is_that_of_the_most_calls() {
        let shown = usage("tool", vec![row(None, "hello", 200), row(None, "", 1)]).text();
        let bars = |line: &str| line.matches('█').count();
        let bars: Vec<usize> = shown.lines().map(bars).collect();
        assert_eq!(bars, [0, 20, 1], "{shown}");
        let words = |line: &str| -> Vec<String> {
            let words = line.split_whitespace().filter(|word| !word.contains('█'));
            words.map(str::to_owned).collect()
        };
        let lines: Vec<_> = shown.lines().map(words).collect();
        let hello = ["hello", "200", "50", "%", "1000", "200", "50000", "1.5"];
        assert_eq!(lines[1], hello, "{shown}");
        assert_eq!(
            lines[2],
            ["-", "1", "0", "%", "5", "1", "250", "1.5"],
            "{shown}"
        );
    }

    #[test]
    fn keys_and_projects_of_all_tenants_are_shown_with_their_tenant() {
        let mut key = row(Some("acme"), "a1b2", 2);
        key.label = Some("ci".to_owned());
        let shown = usage("key", vec![key]).text();
        assert!(shown.starts_with("tenant  key        calls"), "{shown}");
        assert!(shown.contains("acme    a1b2 (ci)  2"), "{shown}");
    }

    #[test]
    fn calls_without_a_record_are_named_and_make_no_row() {
        let gap = UsageRow {
            missing: 7,
            ..row(None, "", 0)
        };
        let usage = usage("tool", vec![row(None, "hello", 1), gap]);
        let named = "\n\n7 calls have no audit record, and are not counted here";
        assert!(usage.text().ends_with(named));
        assert_eq!((usage.rows.len(), usage.calls, usage.missing), (1, 1, 7));
    }

    #[test]
    fn csv_has_a_header_and_quotes_what_needs_it() {
        let text = usage("key", vec![row(Some("acme"), "jwt:x:a,\"b\"", 2)]).csv();
        let expected = "tenant,key,label,calls,ok,units,bytes_out,tokens,duration_ms\n\
                        acme,\"jwt:x:a,\"\"b\"\"\",,2,1,10,2000,500,3.000";
        assert_eq!(text, expected);
    }
}
