//! The calls of a tenant, a key or a project in the last seven days.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::{
    charts::{self, ClassCounts},
    table::{Cell, millis, section, table, thousands, unknown},
};
use crate::store::console::UsageRow;

/// Days of the chart.
const DAYS: usize = 7;

/// One tool's week.
#[derive(Default)]
struct ToolWeek {
    counts: ClassCounts,
    units: i64,
    duration_ms: f64,
}

/// Bars by day, and a table by tool.
pub(super) fn week(rows: Option<&[UsageRow]>) -> Markup {
    let title = "Calls of the last 7 days";
    let Some(rows) = rows else {
        return section(title, &unknown());
    };
    let (days, tools) = sums(rows);
    let name = |place: usize| match DAYS - 1 - place {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        ago => format!("{ago} days ago"),
    };
    let header = [
        "tool",
        ">calls",
        ">denied",
        ">failed",
        ">units",
        ">average (ms)",
    ];
    section(
        title,
        &html! {
            @if !tools.is_empty() {
                (charts::legend())
                (charts::bars(&days, name))
                p class="axis" { span { "6 days ago" } span { "days in UTC" } span { "today" } }
            }
            (table(&header, tools.iter().map(row).collect(), "No calls."))
        },
    )
}

/// By day, the first one first, and by tool, the one with the most calls first.
fn sums(rows: &[UsageRow]) -> (Vec<ClassCounts>, Vec<(&str, ToolWeek)>) {
    let mut days = vec![ClassCounts::default(); DAYS];
    let mut tools: BTreeMap<&str, ToolWeek> = BTreeMap::new();
    for row in rows {
        let ago = usize::try_from(row.days_ago).ok();
        let place = ago.and_then(|ago| (DAYS - 1).checked_sub(ago));
        if let Some(day) = place.and_then(|place| days.get_mut(place)) {
            day.add(&row.outcome, row.calls);
        }
        let tool = tools.entry(&row.tool).or_default();
        tool.counts.add(&row.outcome, row.calls);
        tool.units += row.units;
        tool.duration_ms += row.duration_ms;
    }
    let mut tools: Vec<_> = tools.into_iter().collect();
    tools.sort_by_key(|(_, tool)| -tool.counts.all());
    (days, tools)
}

fn row((name, tool): &(&str, ToolWeek)) -> Vec<Cell> {
    let all = tool.counts.all();
    vec![
        Cell::text(name),
        Cell::number(thousands(all)),
        Cell::number(thousands(tool.counts.denied)),
        Cell::number(thousands(tool.counts.failed)),
        Cell::number(thousands(tool.units)),
        Cell::number(millis(tool.duration_ms / all.max(1) as f64)),
    ]
}
