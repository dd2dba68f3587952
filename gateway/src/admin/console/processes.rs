//! The state of every gateway, worker and `archway sync`, by their rows in Postgres, and of what is synced.

use maud::{Markup, html};

use super::{
    address::Place,
    page,
    table::{Cell, Color, section, span, table, unknown},
};
use crate::{
    admin::report::GatewayReport,
    store::console::{ProcessRow, SyncOverview, UnwellSync},
};

/// How many processes of a kind are there.
pub(super) fn tile(rows: Option<&[ProcessRow]>, kind: &str) -> Markup {
    let what = format!("{kind}s");
    let Some(rows) = rows else {
        return page::tile(&what, ("unknown", Color::Bad), "no answer from Postgres");
    };
    let all = rows.iter().filter(|row| row.kind == kind);
    let lives = all.clone().filter(|row| row.lives).count();
    let lost = all.count() - lives;
    let color = match (lives, lost) {
        (0, _) => Color::Bad,
        (_, 0) => Color::Good,
        _ => Color::Warn,
    };
    let more = match (lives, lost) {
        (0, 0) => "none is there".to_owned(),
        (_, 0) => "none was lost within the hour".to_owned(),
        (_, lost) => format!("ended or lost within the hour: {lost} more"),
    };
    page::tile(&what, (&lives.to_string(), color), &more)
}

/// All processes, the living ones first.
pub(super) fn processes(rows: Option<&[ProcessRow]>) -> Markup {
    let title = "Processes";
    let Some(rows) = rows else {
        return section(title, &unknown());
    };
    let row = |row: &ProcessRow| {
        let report = GatewayReport::read(&row.report);
        let (state, color) = state(row, report.as_ref());
        let version = report.as_ref().map(|it| it.version.clone());
        vec![
            Cell::text(&row.kind),
            Cell::mono(&row.name),
            Cell::mono(&row.host),
            Cell::text(row.pool.as_deref().unwrap_or("")),
            Cell::wide_state(&state, color),
            Cell::of(&detail(report.as_ref())),
            Cell::text(&version.or_else(|| row.version.clone()).unwrap_or_default()),
        ]
    };
    let header = [
        "kind", "name", "host", "pool", "state", "reports", "version",
    ];
    section(
        title,
        &table(
            &header,
            rows.iter().map(row).collect(),
            "None is registered.",
        ),
    )
}

fn state(row: &ProcessRow, report: Option<&GatewayReport>) -> (String, Color) {
    let seen = span(row.seconds.max(0).unsigned_abs());
    match report {
        _ if !row.lives => (format!("not seen for {seen}"), Color::Bad),
        Some(report) if !report.reason.is_empty() => {
            (format!("not ready: {}", report.reason), Color::Bad)
        }
        Some(_) => ("ready".to_owned(), Color::Good),
        None => (format!("seen {seen} ago"), Color::Good),
    }
}

/// What a gateway says: its workers, calls, store, and circuits.
fn detail(report: Option<&GatewayReport>) -> Markup {
    let Some(report) = report else {
        return html! {};
    };
    let unlisted = report.circuits_total.saturating_sub(report.circuits.len());
    html! {
        span class=(Color::good_if(report.workers_ready == report.workers, Color::Warn).class()) {
            (report.workers_ready) " of " (report.workers) " workers ready"
        }
        ", " (report.in_flight) " calls now"
        @if report.queued > 0 { ", " (report.queued) " wait" }
        @if report.limits_store == Some(false) { ", " span class="bad" { "store of limits away" } }
        @if report.circuits_total == 0 { ", all circuits closed" }
        @for circuit in &report.circuits {
            br;
            span class="bad" {
                "circuit " (circuit.pool) "/" (circuit.family)
                @if let Some(tenant) = &circuit.tenant { " of " (tenant) }
                " " (circuit.state)
            }
        }
        @if unlisted > 0 { br; span class="bad" { "and " (unlisted) " more circuits" } }
    }
}

/// Mirrors and listings: how many are in each state, and those that are not well.
pub(super) fn syncs(overview: Option<&SyncOverview>) -> Markup {
    let title = "Repositories by URL";
    let Some(overview) = overview else {
        return section(title, &unknown());
    };
    let counts = overview.states.iter();
    let counts: Vec<String> = counts
        .map(|(state, many)| format!("{many} {state}"))
        .collect();
    let row = |row: &UnwellSync| {
        let tenant = Place::Tenant(row.tenant.clone());
        let message = row.message.as_ref();
        let message = message.map_or_else(String::new, |message| format!(": {message}"));
        vec![
            Cell::link(&tenant.path(), &row.tenant),
            Cell::text(&row.name),
            Cell::wide_state(&format!("{}{message}", row.state), color(&row.state)),
            Cell::number(span(row.seconds.max(0).unsigned_abs())),
        ]
    };
    let rows: Vec<Vec<Cell>> = overview.unwell.iter().map(row).collect();
    let content = html! {
        @if counts.is_empty() { p class="none" { "None is mirrored." } }
        @else { p class="soft" { (counts.join(", ")) "." } }
        @if !rows.is_empty() {
            (table(&["tenant", "project or connection", "state", ">last success"], rows, ""))
        }
    };
    section(title, &content)
}

/// The colour of a mirror's state.
pub(super) fn color(state: &str) -> Color {
    match state {
        "ok" | "listed" => Color::Good,
        "new" | "cloning" | "behind" => Color::Warn,
        _ => Color::Bad,
    }
}
