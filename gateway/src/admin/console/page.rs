//! The page: problems first, then the state of each part, then the last calls.

use std::time::Duration;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{NO_REFRESH, Overview, STYLE, calls, tables};
use crate::admin::{Admin, status::GatewayStatus};

/// Interval of the refresh, in seconds.
const REFRESH: u32 = 5;

/// The data of one page.
pub(super) struct Page<'a> {
    pub(super) name: &'a str,
    pub(super) up: Duration,
    /// Whether the refresh is off.
    pub(super) is_static: bool,
    pub(super) overview: &'a Overview,
    pub(super) admin: &'a Admin,
}

/// How a value is coloured.
#[derive(Clone, Copy)]
pub(super) enum Color {
    Good,
    Warn,
    Bad,
    Plain,
}

impl Color {
    /// The CSS class.
    pub(super) fn class(self) -> &'static str {
        match self {
            Color::Good => "good",
            Color::Warn => "warn",
            Color::Bad => "bad",
            Color::Plain => "",
        }
    }

    /// `Good` if the condition holds, otherwise the given one.
    pub(super) fn good_if(holds: bool, otherwise: Color) -> Color {
        if holds { Color::Good } else { otherwise }
    }
}

impl Page<'_> {
    /// The whole document.
    pub(super) fn html(&self) -> Markup {
        let status = GatewayStatus::of(self.admin);
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    @if !self.is_static { meta http-equiv="refresh" content=(REFRESH); }
                    title { "Archway " (self.name) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    (self.header())
                    (self.tiles(&status))
                    div class="columns" {
                        (tables::workers(&status.workers))
                        (tables::circuits(&status.breaker))
                        (tables::refusals(&status.refusals))
                        (tables::indexes(self.overview.indexes.as_ref()))
                    }
                    (calls::calls(&self.admin.metrics.recent_calls().all()))
                    div class="columns" {
                        (tables::tools(self.admin, &status.tools))
                        (tables::limits(self.overview.limits.as_ref()))
                    }
                }
            }
        }
    }

    fn header(&self) -> Markup {
        html! {
            header {
                h1 { "Archway" }
                span class="about" {
                    "gateway " @if self.name.is_empty() { "without a name" } @else { (self.name) }
                    ", version " (env!("CARGO_PKG_VERSION")) ", up "
                    (span(self.up))
                }
                @if self.is_static {
                    a href="?" { "refresh every " (REFRESH) " s" }
                } @else {
                    a href={ "?" (NO_REFRESH) } { "stop refreshing" }
                }
            }
        }
    }

    /// What is wrong with Postgres, if anything. Cached credentials may stay valid for a while.
    fn postgres(&self) -> Option<&'static str> {
        let refusal = self.admin.stores.health().refusal(self.admin.grace);
        let is_silent = self.overview.indexes.is_none() && self.overview.limits.is_none();
        refusal.or(is_silent.then_some("cached credentials stay valid for a while"))
    }

    fn tiles(&self, status: &GatewayStatus) -> Markup {
        let postgres = self.postgres();
        let ready = status.workers.iter().filter(|it| it.state == "ready");
        let (ready, all) = (ready.count(), status.workers.len());
        let calls = status.breaker.calls;
        let refused: u64 = status.refusals.iter().map(|row| row.count).sum();
        let store = match status.limits_store {
            Some("up") => ("up", Color::Good, "gateways count together"),
            Some(_) => ("away", Color::Bad, "gateways count together"),
            None => ("none", Color::Plain, "each gateway counts its share"),
        };
        let gateway = match status.reason {
            None => ("ready", Color::Good),
            Some(_) => ("not ready", Color::Bad),
        };
        html! {
            div class="tiles" {
                (tile("this gateway", gateway, status.reason.unwrap_or("takes calls")))
                (tile(
                    "Postgres",
                    (if postgres.is_none() { "up" } else { "away" },
                     Color::good_if(postgres.is_none(), Color::Bad)),
                    postgres.unwrap_or("keys, sessions, audit"),
                ))
                (tile("store of limits", (store.0, store.1), store.2))
                (tile(
                    "workers ready",
                    (&format!("{ready} of {all}"),
                     Color::good_if(ready == all && all > 0, if ready > 0 { Color::Warn } else { Color::Bad })),
                    "known to this gateway",
                ))
                (tile(
                    "calls now",
                    (&calls.in_flight.to_string(), Color::Plain),
                    &format!("{} more wait for a permit", calls.queued),
                ))
                (tile(
                    "refused",
                    (&refused.to_string(), Color::good_if(refused == 0, Color::Plain)),
                    &format!("in the last {} minutes", crate::recent::MINUTES),
                ))
            }
        }
    }
}

fn tile(what: &str, (value, color): (&str, Color), more: &str) -> Markup {
    html! {
        div class="tile" {
            div class="what" { (what) }
            div class={ "value " (color.class()) } { (value) }
            div class="more" { (more) }
        }
    }
}

/// `3 d 4 h`, `5 h 12 min`, `42 s`.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_has_two_units_from_an_hour_on() {
        let shown = [42, 180, 18_720, 273_600].map(|seconds| span(Duration::from_secs(seconds)));
        assert_eq!(shown, ["42 s", "3 min", "5 h 12 min", "3 d 4 h"]);
    }
}
