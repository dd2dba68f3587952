//! Outcomes of tool calls, summed over the queried gateways, each since its start.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::admin::print::{harmless, table};

/// The sums of one tool.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct ToolRow {
    /// Calls, whatever their outcome.
    invocations: u64,
    /// Calls that ended with an error, except refusals by limits.
    failures: u64,
    /// Failures by timeout.
    timeouts: u64,
    /// The total duration of all calls.
    total_ms: u64,
}

/// Sums the counts of several gateways, by tool.
pub(super) fn sums(
    reported: impl Iterator<Item = BTreeMap<String, ToolRow>>,
) -> BTreeMap<String, ToolRow> {
    let mut sums = BTreeMap::<String, ToolRow>::new();
    for (name, row) in reported.flatten() {
        let sum = sums.entry(name).or_default();
        sum.invocations = sum.invocations.saturating_add(row.invocations);
        sum.failures = sum.failures.saturating_add(row.failures);
        sum.timeouts = sum.timeouts.saturating_add(row.timeouts);
        sum.total_ms = sum.total_ms.saturating_add(row.total_ms);
    }
    sums
}

/// A table for people of tools that were called, with the average duration of a call.
pub(super) fn shown(sums: &BTreeMap<String, ToolRow>) -> Option<String> {
    let rows = sums.iter().map(|(name, row)| {
        let average = row.total_ms.checked_div(row.invocations).unwrap_or(0);
        [
            harmless(name),
            row.invocations.to_string(),
            row.failures.to_string(),
            row.timeouts.to_string(),
            format!("{average} ms"),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let header = ["tool", "calls", "failures", "timeouts", "on average"];
    (!rows.is_empty()).then(|| {
        let table = table(header, rows, "");
        format!("tools, since the gateways started\n{table}")
    })
}
