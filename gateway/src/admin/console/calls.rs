//! The last calls, and where each one's time went.

use std::time::{Duration, SystemTime};

use maud::{Markup, html};

use super::{
    page::Color,
    tables::{section, table},
};
use crate::recent::{RecentCall, TimeShares};

/// The width of a call's bar, in SVG units.
const BAR: f64 = 100.0;

pub(super) fn calls(calls: &[RecentCall]) -> Markup {
    let now = SystemTime::now();
    let row = |call: &RecentCall| {
        let ago = now.duration_since(call.ended).unwrap_or_default();
        let color = match call.outcome {
            "ok" => Color::Good,
            "cancelled" => Color::Plain,
            "internal_error" | "unavailable" | "deadline_exceeded" | "circuit_open" => Color::Bad,
            _ => Color::Warn,
        };
        html! {
            td class="number" { (ago.as_secs()) " s" } td { (call.who.tenant()) }
            td { (call.project.as_deref().unwrap_or("")) } td { (call.what) }
            td class=(color.class()) { (call.outcome) } td class="number" { (millis(call.took)) }
            td { (bar(call.timings.shares(call.took), call.took)) } td class="mono soft" { (call.trace) }
        }
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
        @if !calls.is_empty() { (key()) }
        div class="scrolls" {
            (table(&header, calls.iter().map(row).collect(), "None since this gateway started."))
        }
    };
    section("The last calls", &content)
}

/// The legend of the bars.
fn key() -> Markup {
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

/// A bar whose full width is the duration of the call.
fn bar(shares: TimeShares, took: Duration) -> Markup {
    let scale = |time: Duration| BAR * time.as_secs_f64() / took.as_secs_f64().max(f64::EPSILON);
    let parts = [
        ("checks", shares.checks),
        ("queue", shares.queue),
        ("worker", shares.worker),
        ("answer", shares.answer),
    ];
    let text = parts.map(|(name, time)| format!("{name} {} ms", millis(time)));
    let mut from = 0.0;
    html! {
        svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=(text.join(", ")) {
            title { (text.join(", ")) }
            @for (name, time) in parts {
                rect class=(name) x=(format!("{from:.2}")) width=(format!("{:.2}", scale(time))) height="6" {}
                @let () = from += scale(time);
            }
        }
    }
}

fn millis(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1000.0)
}
