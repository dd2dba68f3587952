//! What gateways refused within the last quarter of an hour, by reason, over all that were asked.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::admin::print::table;

/// One reason.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct RefusalRow {
    /// As the gateway calls it.
    reason: String,
    /// Of what: a limit, a circuit, what is wrong with credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    count: u64,
}

/// Adds up what several gateways say, the most frequent first.
pub(super) fn sums(told: impl Iterator<Item = Vec<RefusalRow>>) -> Vec<RefusalRow> {
    let mut sums = BTreeMap::<(String, Option<String>), u64>::new();
    for row in told.flatten() {
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

/// For people.
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
