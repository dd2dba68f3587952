//! What became of tool calls, over all gateways that were asked: since each of them started.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::admin::print::{harmless, table};

/// The sums of one tool.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct ToolRow {
    /// Calls, however they ended.
    invocations: u64,
    /// Those that ended with an error, but for limits.
    failures: u64,
    /// Those of them whose time was up.
    timeouts: u64,
    /// How long all took together.
    total_ms: u64,
}

/// Adds up what several gateways say, by tool.
pub(super) fn sums(
    told: impl Iterator<Item = BTreeMap<String, ToolRow>>,
) -> BTreeMap<String, ToolRow> {
    let mut sums = BTreeMap::<String, ToolRow>::new();
    for (name, row) in told.flatten() {
        let sum = sums.entry(name).or_default();
        sum.invocations = sum.invocations.saturating_add(row.invocations);
        sum.failures = sum.failures.saturating_add(row.failures);
        sum.timeouts = sum.timeouts.saturating_add(row.timeouts);
        sum.total_ms = sum.total_ms.saturating_add(row.total_ms);
    }
    sums
}

/// For people: tools that were called, and how long a call took on average.
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
