//! The last calls, and where the time of each went.

use std::time::{Duration, SystemTime};

use maud::{Markup, html};

use super::{
    page::Mood,
    tables::{section, table},
};
use crate::recent::{RecentCall, TimeShares};

/// The width of a call's bar, in the units of its drawing.
const BAR: f64 = 100.0;

pub(super) fn calls(calls: &[RecentCall]) -> Markup {
    let now = SystemTime::now();
    let row = |call: &RecentCall| {
        let ago = now.duration_since(call.ended).unwrap_or_default();
        let mood = match call.outcome {
            "ok" => Mood::Good,
            "cancelled" => Mood::Plain,
            "internal_error" | "unavailable" | "deadline_exceeded" | "circuit_open" => Mood::Bad,
            _ => Mood::Warn,
        };
        html! {
            td class="number" { (ago.as_secs()) " s" } td { (call.who.tenant()) }
            td { (call.project.as_deref().unwrap_or("")) } td { (call.what) }
            td class=(mood.class()) { (call.outcome) } td class="number" { (millis(call.took)) }
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

/// What the colours of bars mean.
fn key() -> Markup {
    let names = [
        ("checks", "limits, record, arguments"),
        ("queue", "waiting for a place"),
        ("worker", "at the worker"),
        ("answer", "making the answer"),
    ];
    html! {
        p class="key" {
            @for (class, name) in names {
                span { svg viewBox="0 0 1 1" { rect class=(class) width="1" height="1"; } (name) }
            }
        }
    }
}

/// The whole of it is what the call took.
fn bar(shares: TimeShares, took: Duration) -> Markup {
    let scale = |time: Duration| BAR * time.as_secs_f64() / took.as_secs_f64().max(f64::EPSILON);
    let parts = [
        ("checks", shares.checks),
        ("queue", shares.queue),
        ("worker", shares.worker),
        ("answer", shares.answer),
    ];
    let told = parts.map(|(name, time)| format!("{name} {} ms", millis(time)));
    let mut from = 0.0;
    html! {
        svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=(told.join(", ")) {
            title { (told.join(", ")) }
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
