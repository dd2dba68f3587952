//! Refusals of the last 15 minutes by reason, summed over the queried gateways.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::admin::print::table;

/// The refusals of one reason.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct RefusalRow {
    /// As the gateway names it.
    reason: String,
    /// The limit, the circuit, or the credentials' defect.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    count: u64,
}

/// Sums the refusals of several gateways, the most frequent first.
pub(super) fn sums(reported: impl Iterator<Item = Vec<RefusalRow>>) -> Vec<RefusalRow> {
    let mut sums = BTreeMap::<(String, Option<String>), u64>::new();
    for row in reported.flatten() {
        let sum = sums.entry((row.reason, row.detail)).or_default();
        *sum = sum.saturating_add(row.count);
    }
    let rows = sums.into_iter();
    let rows = rows.map(|((reason, detail), count)| RefusalRow {
        reason,
        detail,
        count,
    });
    let mut rows: Vec<RefusalRow> = rows.collect();
    rows.sort_by_key(|row| Reverse(row.count));
    rows
}

/// A table for people.
pub(super) fn shown(rows: &[RefusalRow]) -> Option<String> {
    let cells = rows.iter().map(|row| {
        let detail = row.detail.clone().unwrap_or_else(|| "-".to_owned());
        [row.reason.clone(), detail, row.count.to_string()]
    });
    let header = ["refused", "of what", "times"];
    (!rows.is_empty()).then(|| {
        let table = table(header, cells.collect(), "");
        format!("refused in the last 15 minutes\n{table}")
    })
}
