//! The tables of the page, each with the text for an empty table.

use std::{collections::BTreeMap, sync::Arc};

use maud::{Markup, html};

use super::page::Color;
use crate::{
    admin::{Admin, status::WorkerRow},
    breaker::{BreakerReport, CircuitRow},
    metrics::ToolSums,
    recent::{MINUTES, RefusalRow},
    store::{IndexOverview, LimitsOverview, UnfinishedIndex},
    terms::{Level, MEMORY, MONTH, Terms},
};

pub(super) fn section(title: &str, content: &Markup) -> Markup {
    html! { section { h2 { (title) } (content) } }
}

/// A table, or the text `none` if there are no rows.
pub(super) fn table(header: &[&str], rows: Vec<Markup>, none: &str) -> Markup {
    if rows.is_empty() {
        return html! { p class="none" { (none) } };
    }
    html! {
        table {
            thead { tr {
                @for name in header {
                    // A leading `>` right-aligns the column.
                    @match name.strip_prefix('>') {
                        Some(name) => { th class="number" { (name) } }
                        None => { th { (name) } }
                    }
                }
            } }
            tbody { @for row in rows { tr { (row) } } }
        }
    }
}

/// The text for a table whose data Postgres did not deliver.
fn unknown() -> Markup {
    html! { p class="bad" { "No answer from Postgres: the log has the reason." } }
}

pub(super) fn workers(workers: &[WorkerRow]) -> Markup {
    let row = |worker: &WorkerRow| {
        let color = match worker.state {
            "ready" => Color::Good,
            "away" => Color::Bad,
            _ => Color::Warn,
        };
        html! {
            td { (worker.pool) } td class="mono" { (worker.address) }
            td class=(color.class()) { (worker.state) } td class="number" { (worker.in_flight) }
        }
    };
    let rows = workers.iter().map(row).collect();
    let header = ["pool", "address", "state", ">calls now"];
    section(
        "Workers",
        &table(&header, rows, "No worker is known: see --worker."),
    )
}

pub(super) fn circuits(report: &BreakerReport) -> Markup {
    let row = |circuit: &CircuitRow, tenant: &str| {
        let state = circuit.state.name();
        let color = Color::good_if(state == "closed", Color::Bad);
        let wait = circuit.retry_after_seconds;
        html! {
            td { (circuit.pool) } td { (circuit.family) } td { (tenant) }
            td class=(color.class()) { (state) @if let Some(wait) = wait { ", " (wait) " s" } }
            td class="number" { (circuit.counts.calls) } td class="number" { (circuit.counts.faults) }
            td class="number" { (circuit.counts.slow) }
        }
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
    section("Circuits, and the last 10 seconds", &more)
}

pub(super) fn refusals(rows: &[RefusalRow]) -> Markup {
    let row = |row: &RefusalRow| {
        html! {
            td { (row.reason) } td class="wide" { (row.detail.as_deref().unwrap_or("")) }
            td class="number" { (row.count) }
        }
    };
    let title = format!("Refused in the last {MINUTES} minutes");
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
        html! {
            td { (index.tenant) } td { (index.project) }
            td class={ "wide " (color.class()) } {
                (index.state) @if let Some(failure) = &index.failure { ": " (failure) }
            }
            td class="number" { (index.done) " of " (index.total) }
        }
    };
    let rows: Vec<Markup> = overview.unfinished.iter().map(row).collect();
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

fn tool(name: &str, limit: DefaultLimit, sums: Option<&ToolSums>) -> Markup {
    let number = |read: fn(&ToolSums) -> u64| sums.map_or(0, read);
    let average = sums.and_then(|sums| sums.total_ms.checked_div(sums.invocations));
    html! {
        td { (name) } td class="number" { (number(|it| it.invocations)) }
        td class="number" { (number(|it| it.failures)) }
        td class="number" { (number(|it| it.timeouts)) }
        td class="number" { @if let Some(average) = average { (average) " ms" } }
        td class="number" { @if let Some((limit, _)) = limit { (shown(limit)) } }
        td class="number" { @if let Some((_, weight)) = limit { (weight) } }
    }
}

fn shown(limit: Option<u32>) -> String {
    limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string())
}

pub(super) fn limits(overview: Option<&LimitsOverview>) -> Markup {
    let title = "Limits other than the defaults";
    let Some(overview) = overview else {
        return section(title, &unknown());
    };
    let rows = overview.set.iter().map(|set| {
        let key = set.key.as_deref().unwrap_or("all");
        html! {
            td { (set.tenant) } td class="mono" { (key) } td { (set.level) } td { (set.of) }
            td class="number" {
                @if set.per_minute == 0 { "none" } @else { (set.per_minute) }
                @if set.of == MEMORY && set.per_minute > 0 { " MiB in all" }
                @if set.of == MONTH && set.per_minute > 0 { " units a month" }
            }
        }
    });
    let header = ["tenant", "key", "level", "of", ">a minute"];
    let unlisted = overview.total.saturating_sub(overview.set.len() as u64);
    let content = html! {
        div class="scrolls" {
            (table(&header, rows.collect(), "None: all limits are the defaults."))
        }
        @if unlisted > 0 { p class="soft" { "And " (unlisted) " more: archway limits show TENANT." } }
    };
    section(title, &content)
}
