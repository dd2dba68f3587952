//! The first page: what is wrong first, then the calls of the last day, then the state of each part.

use std::time::SystemTime;

use maud::{Markup, html};

use super::{
    Answers, Console,
    address::Place,
    charts::{self, ClassCounts, Day, HOURS, ToolDay},
    outcome,
    page::tile,
    processes, recent, state,
    table::{Cell, Color, millis, section, span, table, thousands, unknown},
};
use crate::{
    admin::{Admin, status::GatewayStatus},
    store::console::QuotaRow,
};

/// The content of the page.
pub(super) fn content(console: &Console, admin: &Admin, answers: &Answers) -> Markup {
    let status = GatewayStatus::of(admin);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs() as i64);
    let day = answers.hours.as_ref().map(|rows| Day::of(rows, now));
    html! {
        (tiles(console, admin, &status, answers, day.as_ref()))
        (processes::processes(answers.processes.as_deref()))
        (quotas(answers.quotas.as_deref()))
        (calls_of_the_day(day.as_ref()))
        (tools_of_the_day(day.as_ref()))
        div class="columns" {
            (reasons(day.as_ref()))
            (state::refusals(&status.refusals))
            (processes::syncs(answers.syncs.as_ref()))
            (state::indexes(answers.indexes.as_ref()))
            (state::workers(&status.workers))
            (state::circuits(&status.breaker))
        }
        (recent::calls(&admin.metrics.recent_calls().all()))
        div class="columns" {
            (state::tools(admin, &status.tools))
            (state::limits(answers.limits.as_ref()))
        }
    }
}

/// What is wrong with Postgres, if anything. Cached credentials may stay valid for a while.
fn postgres(admin: &Admin, answers: &Answers) -> Option<&'static str> {
    let refusal = admin.stores.health().refusal(admin.grace);
    let is_silent = answers.indexes.is_none() && answers.processes.is_none();
    refusal.or(is_silent.then_some("cached credentials stay valid for a while"))
}

fn tiles(
    console: &Console,
    admin: &Admin,
    status: &GatewayStatus,
    answers: &Answers,
    day: Option<&Day>,
) -> Markup {
    let postgres = postgres(admin, answers);
    let store = match status.limits_store {
        Some("up") => ("up", Color::Good, "gateways count together"),
        Some(_) => ("away", Color::Bad, "each gateway decides by itself"),
        None => ("none", Color::Plain, "each gateway counts its share"),
    };
    let gateway = match status.reason {
        None => ("ready", Color::Good),
        Some(_) => ("not ready", Color::Bad),
    };
    let up = span(console.began.elapsed().as_secs());
    // Behind one address the live part may come from another gateway than the page.
    let up = format!("{} up {up}", admin.name);
    let calls = status.breaker.calls;
    html! {
        div class="tiles" {
            (tile("this gateway", gateway, &status.reason.map_or_else(|| up.trim().to_owned(), str::to_owned)))
            (tile(
                "Postgres",
                (if postgres.is_none() { "up" } else { "away" },
                 Color::good_if(postgres.is_none(), Color::Bad)),
                postgres.unwrap_or("keys, sessions, audit"),
            ))
            (tile("store of limits", (store.0, store.1), store.2))
            (processes::tile(answers.processes.as_deref(), "gateway"))
            (processes::tile(answers.processes.as_deref(), "worker"))
            (tile(
                "calls now",
                (&calls.in_flight.to_string(), Color::Plain),
                &format!("{} more wait for a permit, at this gateway", calls.queued),
            ))
            @if let Some(day) = day {
                (tile("calls in 24 hours", (&thousands(day.total.all()), Color::Plain), "of all gateways"))
                (failures(day.total))
                (tile(
                    "denied in 24 hours",
                    (&thousands(day.total.denied), Color::Plain),
                    "by rules, limits, or wrong arguments",
                ))
            }
        }
    }
}

/// The share of failures, and whether it is too large.
fn failures(calls: ClassCounts) -> Markup {
    let percent = calls.failure_percent();
    let (color, excess) = match percent {
        _ if percent < 0.1 => (Color::Good, ""),
        _ if percent < 1.0 => (Color::Warn, ": 0.1 % or more"),
        _ => (Color::Bad, ": 1 % or more"),
    };
    let failed = thousands(calls.failed);
    tile(
        "failed in 24 hours",
        (&format!("{percent:.2} %"), color),
        &format!("{failed} calls, by the service's fault{excess}"),
    )
}

fn calls_of_the_day(day: Option<&Day>) -> Markup {
    let title = "Calls of the last 24 hours, of all gateways";
    let Some(day) = day else {
        return section(title, &unknown());
    };
    let name = |place: usize| match HOURS - 1 - place {
        0 => "this hour".to_owned(),
        ago => format!("{ago} h ago"),
    };
    let most = day.hours.iter().map(|hour| hour.all()).max().unwrap_or(0);
    section(
        title,
        &html! {
            (charts::legend())
            (charts::bars(&day.hours, name))
            p class="axis" { span { "23 h ago" } span { "highest: " (thousands(most)) " in an hour" } span { "this hour" } }
        },
    )
}

fn tools_of_the_day(day: Option<&Day>) -> Markup {
    let title = "Tools in the last 24 hours, of all gateways";
    let Some(day) = day else {
        return section(title, &unknown());
    };
    let ms = |ms: Option<f64>| Cell::number(ms.map_or_else(String::new, millis));
    let row = |tool: &ToolDay| {
        let counts = tool.counts;
        vec![
            Cell::link(&Place::Calls.with(&[("tool", &tool.tool)]), &tool.tool),
            Cell::number(thousands(counts.all())),
            Cell::number(thousands(counts.denied)),
            Cell::number(thousands(counts.failed)),
            ms(tool.percentile(0.5)),
            ms(tool.percentile(0.99)),
            Cell::of(&tool.line()),
        ]
    };
    let header = [
        "tool",
        ">calls",
        ">denied",
        ">failed",
        ">p50 (ms)",
        ">p99 (ms)",
        "p99 by hour",
    ];
    section(
        title,
        &html! {
            (table(&header, day.tools.iter().map(row).collect(), "No calls."))
            p class="soft" { "Times of answers and failures, to within a tenth, from a call's receipt to its answer." }
        },
    )
}

fn reasons(day: Option<&Day>) -> Markup {
    let title = "Denied and failed in the last 24 hours";
    let Some(day) = day else {
        return section(title, &unknown());
    };
    let row = |(name, calls): &(String, i64)| {
        let link = Place::Calls.with(&[("outcome", name)]);
        vec![
            Cell::of(&html! { a class=(outcome::color(name).class()) href=(link) { (name) } }),
            Cell::text(crate::metrics::OutcomeClass::of(name).name()),
            Cell::number(thousands(*calls)),
        ]
    };
    let header = ["outcome", "whose doing", ">calls"];
    section(
        title,
        &table(&header, day.reasons.iter().map(row).collect(), "Nothing."),
    )
}

/// Tenants that have spent most of their month, if any.
fn quotas(rows: Option<&[QuotaRow]>) -> Markup {
    let Some(rows) = rows.filter(|rows| !rows.is_empty()) else {
        return html! {};
    };
    let row = |row: &QuotaRow| {
        vec![
            Cell::link(&Place::Tenant(row.tenant.clone()).path(), &row.tenant),
            super::tenants::share(row.units, Some(row.quota)),
            Cell::number(thousands(row.units)),
            Cell::number(thousands(row.quota.into())),
        ]
    };
    let header = ["tenant", "quota of the month", ">units spent", ">of"];
    section(
        "Tenants that have spent 80 % of their month",
        &table(&header, rows.iter().map(row).collect(), ""),
    )
}
