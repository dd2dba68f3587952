//! The last calls of this gateway, and where each one's time went.

use std::time::SystemTime;

use maud::{Markup, html};

use super::{
    outcome,
    table::{Cell, millis, section, table},
};
use crate::recent::{RecentCall, TimeShares};

/// The width of a call's bar, in SVG units.
const BAR: f64 = 100.0;

pub(super) fn calls(calls: &[RecentCall]) -> Markup {
    let now = SystemTime::now();
    let row = |call: &RecentCall| {
        let ago = now.duration_since(call.ended).unwrap_or_default();
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1_000.0;
        vec![
            Cell::number(format!("{} s", ago.as_secs())),
            Cell::text(call.who.tenant()),
            Cell::text(call.project.as_deref().unwrap_or("")),
            Cell::text(&call.what),
            Cell::state(call.outcome, outcome::color(call.outcome)),
            Cell::number(millis(ms(call.took))),
            Cell::of(&bar(call.timings.shares(call.took))),
            Cell::mono(&call.trace),
        ]
    };
    let header = [
        ">ago",
        "tenant",
        "project",
        "call",
        "outcome",
        ">took (ms)",
        "where the time went",
        "trace",
    ];
    let content = html! {
        @if !calls.is_empty() { (legend()) }
        div class="scrolls" {
            (table(&header, calls.iter().map(row).collect(), "None since this gateway started."))
        }
    };
    section("The last calls of this gateway", &content)
}

/// The legend of the bars.
pub(super) fn legend() -> Markup {
    let names = [
        ("checks", "limits, record, arguments"),
        ("queue", "waiting for a permit"),
        ("worker", "at the worker"),
        ("answer", "building the answer"),
    ];
    html! {
        p class="key" {
            @for (class, name) in names {
                span { svg viewBox="0 0 1 1" { rect class=(class) width="1" height="1"; } (name) }
            }
        }
    }
}

/// The stops of a call's path and their times.
pub(super) fn stops(shares: TimeShares) -> [(&'static str, f64); 4] {
    [
        ("checks", shares.checks),
        ("queue", shares.queue),
        ("worker", shares.worker),
        ("answer", shares.answer),
    ]
    .map(|(name, time)| (name, time.as_secs_f64() * 1_000.0))
}

/// A bar whose full width is the duration of the call.
pub(super) fn bar(shares: TimeShares) -> Markup {
    let parts = stops(shares);
    let took: f64 = parts.iter().map(|(_, ms)| ms).sum();
    let scale = |ms: f64| BAR * ms / took.max(f64::EPSILON);
    let text = parts.map(|(name, ms)| format!("{name} {} ms", millis(ms)));
    let mut from = 0.0;
    html! {
        svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=(text.join(", ")) {
            title { (text.join(", ")) }
            @for (name, ms) in parts {
                rect class=(name) x=(format!("{from:.2}")) width=(format!("{:.2}", scale(ms))) height="6" {}
                @let () = from += scale(ms);
            }
        }
    }
}
