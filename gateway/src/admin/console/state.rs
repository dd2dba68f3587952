//! The state of this gateway and of the indexes, as tables: workers, circuits, refusals, tools, limits.

use std::{collections::BTreeMap, sync::Arc};

use maud::{Markup, html};

use super::table::{Cell, Color, section, table, thousands, unknown};
use crate::{
    admin::{Admin, status::WorkerRow},
    breaker::{BreakerReport, CircuitRow},
    metrics::ToolSums,
    recent::{MINUTES, RefusalRow},
    store::{IndexOverview, LimitsOverview, UnfinishedIndex},
    terms::{Level, MEMORY, MONTH, Terms},
};

pub(super) fn workers(workers: &[WorkerRow]) -> Markup {
    let row = |worker: &WorkerRow| {
        let color = match worker.state {
            "ready" => Color::Good,
            "away" => Color::Bad,
            _ => Color::Warn,
        };
        vec![
            Cell::text(&worker.pool),
            Cell::mono(&worker.address),
            Cell::state(worker.state, color),
            Cell::number(worker.in_flight),
        ]
    };
    let rows = workers.iter().map(row).collect();
    let header = ["pool", "address", "state", ">calls now"];
    section(
        "Workers, as this gateway sees them",
        &table(&header, rows, "No worker is known: see --worker."),
    )
}

pub(super) fn circuits(report: &BreakerReport) -> Markup {
    let row = |circuit: &CircuitRow, tenant: &str| {
        let state = circuit.state.name();
        let color = Color::good_if(state == "closed", Color::Bad);
        let wait = circuit.retry_after_seconds;
        let state = wait.map_or_else(|| state.to_owned(), |wait| format!("{state}, {wait} s"));
        vec![
            Cell::text(&circuit.pool),
            Cell::text(&circuit.family),
            Cell::text(tenant),
            Cell::state(&state, color),
            Cell::number(circuit.counts.calls),
            Cell::number(circuit.counts.faults),
            Cell::number(circuit.counts.slow),
        ]
    };
    let shared = report.circuits.iter().map(|it| row(it, "all"));
    let tenants = report.tenant_circuits_open.iter();
    let tenants = tenants.map(|it| row(&it.circuit, &it.tenant));
    let header = [
        "pool", "family", "tenant", "circuit", ">calls", ">faults", ">slow",
    ];
    let listed = table(
        &header,
        shared.chain(tenants).collect(),
        "No calls in the last minutes.",
    );
    let unlisted = report.tenant_circuits_open_total - report.tenant_circuits_open.len();
    let more = html! {
        (listed)
        @if unlisted > 0 { p class="bad" { "Circuits of " (unlisted) " more tenants are not closed." } }
    };
    section("Circuits of this gateway, and the last 10 seconds", &more)
}

pub(super) fn refusals(rows: &[RefusalRow]) -> Markup {
    let row = |row: &RefusalRow| {
        vec![
            Cell::text(row.reason),
            Cell::wide(row.detail.as_deref().unwrap_or("")),
            Cell::number(row.count),
        ]
    };
    let title = format!("Refused by this gateway in the last {MINUTES} minutes");
    let header = ["reason", "of what", ">times"];
    section(
        &title,
        &table(&header, rows.iter().map(row).collect(), "Nothing."),
    )
}

pub(super) fn indexes(overview: Option<&IndexOverview>) -> Markup {
    let title = "Indexes";
    let Some(overview) = overview else {
        return section(title, &unknown());
    };
    let row = |index: &UnfinishedIndex| {
        let color = if index.state == "failed" {
            Color::Bad
        } else {
            Color::Warn
        };
        let failure = index.failure.as_ref();
        let failure = failure.map_or_else(String::new, |failure| format!(": {failure}"));
        vec![
            Cell::text(&index.tenant),
            Cell::text(&index.project),
            Cell::wide_state(&format!("{}{failure}", index.state), color),
            Cell::number(format!("{} of {}", index.done, index.total)),
        ]
    };
    let rows: Vec<Vec<Cell>> = overview.unfinished.iter().map(row).collect();
    let count = |count: u64, word: &str| format!("{count} {word}");
    let counts = [
        count(overview.whole, "whole"),
        count(overview.running, "running"),
        count(overview.failed, "failed"),
        count(overview.waiting, "waiting"),
    ];
    let unfinished = overview.running + overview.failed + overview.waiting;
    let unlisted = unfinished.saturating_sub(overview.unfinished.len() as u64);
    let content = html! {
        p class="soft" { (counts.join(", ")) "." }
        @if !rows.is_empty() { (table(&["tenant", "project", "state", ">texts"], rows, "")) }
        @if unlisted > 0 { p class="soft" { "And " (unlisted) " more: archway index status." } }
    };
    section(title, &content)
}

/// A tool's default limit: calls a minute, and units per call.
type DefaultLimit = Option<(Option<u32>, u32)>;

/// The known tools: their calls, and their default limits.
pub(super) fn tools(admin: &Admin, sums: &BTreeMap<Arc<str>, ToolSums>) -> Markup {
    let terms = Terms::new(1, Vec::new());
    let known = admin.catalog.tools();
    let known = known.iter().flat_map(|it| it.all()).map(|tool| {
        let limit = terms.of_tool(Level::Key, &tool.entry.name, tool.entry.per_minute);
        let limit = Some((limit.per_minute, tool.entry.weight));
        (tool.label.clone(), limit)
    });
    let mut rows: Vec<(Arc<str>, DefaultLimit)> = known.collect();
    // Methods that are not tools, and calls of unknown tools.
    let is_known = |name: &Arc<str>| rows.iter().any(|(tool, _)| tool == name);
    let others: Vec<_> = sums
        .keys()
        .filter(|name| !is_known(name))
        .cloned()
        .collect();
    rows.extend(others.into_iter().map(|name| (name, None)));
    let rows = rows
        .iter()
        .map(|(name, limit)| tool(name, *limit, sums.get(name)));
    let header = [
        "tool",
        ">calls",
        ">denied",
        ">failures",
        ">timeouts",
        ">average",
        ">limit",
        ">units",
    ];
    let total = |level| shown(terms.of_total(level).per_minute);
    let totals = html! {
        (table(&header, rows.collect(), "No catalog was fetched from a worker yet."))
        p class="soft" {
            "Default limits: calls a minute of a session, and of a key with one agent. In total "
            (total(Level::Key)) " units a minute per key, " (total(Level::Tenant)) " per tenant."
        }
    };
    section("Tools, since this gateway started", &totals)
}

fn tool(name: &str, limit: DefaultLimit, sums: Option<&ToolSums>) -> Vec<Cell> {
    let number = |read: fn(&ToolSums) -> u64| Cell::number(sums.map_or(0, read));
    let average = sums.and_then(|sums| sums.total_ms.checked_div(sums.invocations));
    let optional = |text: Option<String>| Cell::number(text.unwrap_or_default());
    vec![
        Cell::text(name),
        number(|it| it.invocations),
        number(|it| it.denied),
        number(|it| it.failures),
        number(|it| it.timeouts),
        optional(average.map(|average| format!("{average} ms"))),
        optional(limit.map(|(limit, _)| shown(limit))),
        optional(limit.map(|(_, weight)| weight.to_string())),
    ]
}

fn shown(limit: Option<u32>) -> String {
    limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string())
}

/// A limit with its unit; 0 is none.
pub(super) fn limit(of: &str, per_minute: u32) -> String {
    match of {
        _ if per_minute == 0 => "none".to_owned(),
        MEMORY => format!("{} MiB in all", thousands(per_minute.into())),
        MONTH => format!("{} units a month", thousands(per_minute.into())),
        _ => thousands(per_minute.into()),
    }
}

pub(super) fn limits(overview: Option<&LimitsOverview>) -> Markup {
    let title = "Limits other than the defaults";
    let Some(overview) = overview else {
        return section(title, &unknown());
    };
    let rows = overview.set.iter().map(|set| {
        vec![
            Cell::text(&set.tenant),
            Cell::mono(set.key.as_deref().unwrap_or("all")),
            Cell::text(&set.level),
            Cell::text(&set.of),
            Cell::number(limit(&set.of, set.per_minute)),
        ]
    });
    let header = ["tenant", "key", "level", "of", ">a minute"];
    let unlisted = overview.total.saturating_sub(overview.set.len() as u64);
    let content = html! {
        div class="scrolls" {
            (table(&header, rows.collect(), "None: all limits are the defaults."))
        }
        @if unlisted > 0 { p class="soft" { "And " (unlisted) " more: see the tenants' pages." } }
    };
    section(title, &content)
}
