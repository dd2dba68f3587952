//! The tables of the page, each with what it says where there is nothing to list.

use std::{collections::BTreeMap, sync::Arc};

use maud::{Markup, html};

use super::page::Mood;
use crate::{
    admin::{Admin, status::WorkerRow},
    breaker::{BreakerReport, CircuitRow},
    metrics::ToolSums,
    recent::{MINUTES, RefusalRow},
    store::{IndexOverview, LimitsOverview, UnfinishedIndex},
    terms::{Level, MEMORY, Terms},
};

pub(super) fn section(title: &str, content: &Markup) -> Markup {
    html! { section { h2 { (title) } (content) } }
}

/// A table, or a line where it would have no rows.
pub(super) fn table(header: &[&str], rows: Vec<Markup>, none: &str) -> Markup {
    if rows.is_empty() {
        return html! { p class="none" { (none) } };
    }
    html! {
        table {
            thead { tr {
                @for name in header {
                    // What is right-aligned says so.
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

/// What Postgres would have said.
fn unknown() -> Markup {
    html! { p class="bad" { "Postgres does not say: the log has the reason." } }
}

pub(super) fn workers(workers: &[WorkerRow]) -> Markup {
    let row = |worker: &WorkerRow| {
        let mood = match worker.state {
            "ready" => Mood::Good,
            "away" => Mood::Bad,
            _ => Mood::Warn,
        };
        html! {
            td { (worker.pool) } td class="mono" { (worker.address) }
            td class=(mood.class()) { (worker.state) } td class="number" { (worker.in_flight) }
        }
    };
    let rows = workers.iter().map(row).collect();
    let header = ["pool", "address", "state", ">calls now"];
    section(
        "Workers",
        &table(&header, rows, "None was found: see --worker."),
    )
}

pub(super) fn circuits(report: &BreakerReport) -> Markup {
    let row = |circuit: &CircuitRow, tenant: &str| {
        let state = circuit.state.name();
        let mood = Mood::good_if(state == "closed", Mood::Bad);
        let wait = circuit.retry_after_seconds;
        html! {
            td { (circuit.pool) } td { (circuit.family) } td { (tenant) }
            td class=(mood.class()) { (state) @if let Some(wait) = wait { ", " (wait) " s" } }
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
    section("Circuits, and their last 10 seconds", &more)
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
        let mood = if index.state == "failed" {
            Mood::Bad
        } else {
            Mood::Warn
        };
        html! {
            td { (index.tenant) } td { (index.project) }
            td class={ "wide " (mood.class()) } {
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

/// What may be asked of a tool by default: calls a minute, and units of a call.
type Price = Option<(Option<u32>, u32)>;

/// The tools there are: what was asked of them, and what they may be asked by default.
pub(super) fn tools(admin: &Admin, sums: &BTreeMap<Arc<str>, ToolSums>) -> Markup {
    let terms = Terms::new(1, Vec::new());
    let known = admin.catalog.snapshot();
    let known = known.iter().flat_map(|it| it.all()).map(|tool| {
        let limit = terms.of_tool(Level::Key, &tool.entry.name, tool.entry.per_minute);
        let price = Some((limit.per_minute, tool.entry.weight));
        (tool.label.clone(), price)
    });
    let mut rows: Vec<(Arc<str>, Price)> = known.collect();
    // Methods that are no tools, and calls of tools that there are not.
    let is_known = |name: &Arc<str>| rows.iter().any(|(tool, _)| tool == name);
    let others: Vec<_> = sums
        .keys()
        .filter(|name| !is_known(name))
        .cloned()
        .collect();
    rows.extend(others.into_iter().map(|name| (name, None)));
    let rows = rows
        .iter()
        .map(|(name, price)| tool(name, *price, sums.get(name)));
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
        (table(&header, rows.collect(), "No worker told its tools yet."))
        p class="soft" {
            "Limits are calls a minute of a session and of a key of one agent, by default. In all: "
            (total(Level::Key)) " units a minute a key, " (total(Level::Tenant)) " a tenant."
        }
    };
    section("Tools, since this gateway started", &totals)
}

fn tool(name: &str, price: Price, sums: Option<&ToolSums>) -> Markup {
    let number = |read: fn(&ToolSums) -> u64| sums.map_or(0, read);
    let average = sums.and_then(|sums| sums.total_ms.checked_div(sums.invocations));
    html! {
        td { (name) } td class="number" { (number(|it| it.invocations)) }
        td class="number" { (number(|it| it.failures)) }
        td class="number" { (number(|it| it.timeouts)) }
        td class="number" { @if let Some(average) = average { (average) " ms" } }
        td class="number" { @if let Some((limit, _)) = price { (shown(limit)) } }
        td class="number" { @if let Some((_, weight)) = price { (weight) } }
    }
}

fn shown(limit: Option<u32>) -> String {
    limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string())
}

pub(super) fn limits(overview: Option<&LimitsOverview>) -> Markup {
    let title = "Limits that were set";
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
            }
        }
    });
    let header = ["tenant", "key", "level", "of", ">a minute"];
    let unlisted = overview.total.saturating_sub(overview.set.len() as u64);
    let content = html! {
        div class="scrolls" {
            (table(&header, rows.collect(), "None: defaults are in force for everybody."))
        }
        @if unlisted > 0 { p class="soft" { "And " (unlisted) " more: archway limits show TENANT." } }
    };
    section(title, &content)
}
