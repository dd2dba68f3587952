//! Calls from the audit trail: filtered, by page, each with the stops of its path and what refused it.

use std::time::{Duration, SystemTime};

use futures::future::join_all;
use maud::{Markup, html};

use super::{
    Console,
    address::{Place, Query},
    filter::{self, FIELDS},
    keys::{self, Labelled},
    outcome,
    page::pages,
    recent,
    table::{Cell, millis, section, table_of_named, thousands, unknown},
};
use crate::{
    recent::CallTimings,
    store::{
        Stores,
        console::{AuditedCall, CallFilter, CallPosition, CallsPage},
        moment,
    },
};

/// Keys of a label whose calls are looked for.
const MOST_KEYS: usize = 10;

/// The list of the page of all calls.
pub(super) async fn page(console: &Console, stores: &Stores, query: &Query) -> Markup {
    let filter = filter::of(query);
    let labelled = match (&filter.tenant, &filter.key) {
        (Some(tenant), Some(key)) => keys::of_label(console, stores, (tenant, key)).await,
        _ => Some(Labelled::default()),
    };
    let before = filter::position(query);
    let (found, missing) = match &labelled {
        // The filter's key may be a label or an id.
        None => (None, 0),
        Some(Labelled { ids, .. }) if ids.is_empty() => {
            let found = console.answered(stores.console_calls(&filter, before));
            (found.await, 0)
        }
        Some(Labelled { ids, .. }) => of_keys(console, stores, &filter, (ids, before)).await,
    };
    let labelled = labelled.unwrap_or_default();
    let is_nothing = |found: &CallsPage| found.calls.is_empty() && found.next.is_none();
    let hint = match labelled.ids.is_empty() && found.as_ref().is_some_and(is_nothing) {
        true => why_nothing(console, stores, &filter).await,
        false => None,
    };
    let kept: Vec<(&str, &str)> = FIELDS.iter().map(|name| (*name, query.get(name))).collect();
    html! {
        @if let (Some(tenant), [_, _, ..]) = (&filter.tenant, &labelled.ids[..]) {
            p {
                @if labelled.more { "At least " }
                (labelled.ids.len()) " keys have this label:"
                @for key in &labelled.ids { " " a href=(Place::Key(tenant.clone(), key.clone()).path()) { (key) } }
                @if labelled.ids.len() > MOST_KEYS { ". These are the calls of the first " (MOST_KEYS) }
                "."
            }
        }
        @if found.is_some() && missing > 0 {
            p class="bad" { "The calls of " (missing) " of these keys are missing: Postgres did not answer in time." }
        }
        @if let Some(hint) = hint { p { (hint) } }
        (table_of(&Place::Calls, &kept, found.as_ref(), query))
    }
}

/// The calls of the first of these keys, and how many of those had no answer. `None` if none had one.
async fn of_keys(
    console: &Console,
    stores: &Stores,
    filter: &CallFilter,
    (keys, before): (&[String], CallPosition),
) -> (Option<CallsPage>, usize) {
    let of_key = |key: &String| CallFilter {
        key: Some(key.clone()),
        ..filter.clone()
    };
    let filters: Vec<CallFilter> = keys.iter().take(MOST_KEYS).map(of_key).collect();
    let mut answers = Vec::new();
    for filter in &filters {
        answers.push(console.answered(stores.console_calls(filter, before)));
    }
    let pages: Vec<CallsPage> = join_all(answers).await.into_iter().flatten().collect();
    let missing = filters.len() - pages.len();
    let found = (!pages.is_empty()).then(|| CallsPage::merged(pages));
    (found, missing)
}

/// What may be wrong with a filter that matches no call, and whose key is no label.
async fn why_nothing(console: &Console, stores: &Stores, filter: &CallFilter) -> Option<Markup> {
    let Some(tenant) = &filter.tenant else {
        let hint = html! { "A key is found by its label only together with its tenant, and by its id without." };
        return filter.key.is_some().then_some(hint);
    };
    let known = console.answered(stores.console_tenant(tenant)).await?;
    if known.is_none() {
        let list = Place::Tenants.path();
        return Some(html! {
            "There is no tenant " (tenant) ": see the list of " a href=(list) { "tenants" } "."
        });
    }
    let key = filter.key.as_deref()?;
    let own = Place::Tenant(tenant.clone()).path();
    let is_known = keys::is_known(console, stores, (tenant, key)).await?;
    (!is_known).then(|| {
        html! { "No key of " (tenant) " has the label or the id " (key) ": see " a href=(own) { "its keys" } "." }
    })
}

/// A page of calls. `kept` is the filter that links repeat.
pub(super) fn table_of(
    place: &Place,
    kept: &[(&str, &str)],
    found: Option<&CallsPage>,
    query: &Query,
) -> Markup {
    let title = format!(
        "Calls of the last {} h, the latest first",
        filter::hours(query)
    );
    let Some(found) = found else {
        return section(&title, &unknown());
    };
    let hours = filter::hours(query).to_string();
    let link = |before: &str| {
        let mut query = kept.to_vec();
        query.extend([("hours", hours.as_str()), ("before", before)]);
        place.with(&query)
    };
    let header = [
        "ended (UTC)",
        "tenant",
        "key",
        "project",
        "call",
        "outcome",
        ">took (ms)",
        "path",
        "more",
    ];
    let rows = found.calls.iter().map(|call| (written(call), row(call)));
    let next = found.next.map(|next| link(&filter::written(next)));
    let first = query.has("before").then(|| link(""));
    let none = match found.next {
        Some(_) => "None among those that were looked at: the next page goes on.",
        None => "None.",
    };
    section(
        &title,
        &html! {
            (recent::legend())
            (table_of_named(&header, rows.collect(), none))
            (pages(None, first.as_deref(), next.as_deref()))
        },
    )
}

fn written(call: &AuditedCall) -> String {
    filter::written(call.position())
}

fn row(call: &AuditedCall) -> Vec<Cell> {
    let outcome = call.outcome.as_deref().unwrap_or("");
    let tenant = Place::Tenant(call.tenant().to_owned());
    let what = call.what.as_deref().unwrap_or("");
    let many = thousands(call.calls.unwrap_or(1));
    let what = match call.kind.as_deref() {
        Some("refusals") => format!("{what}, {many} times"),
        Some("gap") => format!("{many} calls without a record"),
        _ => what.to_owned(),
    };
    vec![
        Cell::mono(&time(call.position().at)),
        Cell::link(&tenant.path(), call.tenant()),
        key(call),
        Cell::text(call.project.as_deref().unwrap_or("")),
        Cell::text(&what),
        Cell::state(outcome, outcome::color(outcome)),
        Cell::number(call.duration_ms.map(millis).unwrap_or_default()),
        Cell::of(&path(call)),
        Cell::of(&more(call, outcome)),
    ]
}

/// The credential, with a link to its page if it is a key's.
fn key(call: &AuditedCall) -> Cell {
    let (Some(id), Some(principal)) = (&call.credential, &call.principal) else {
        return Cell::text(call.principal.as_deref().unwrap_or(""));
    };
    let place = Place::Key(call.tenant().to_owned(), id.clone());
    match principal.starts_with("key:") && Place::parse(&place.path()).is_some() {
        true => Cell::link(&place.path(), id),
        false => Cell::mono(id),
    }
}

/// `2026-11-29 13:05:07.250`, in UTC.
fn time(at: i64) -> String {
    let since = moment(at).duration_since(SystemTime::UNIX_EPOCH);
    let since = since.unwrap_or_default();
    let (days, rest) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Days to a date: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    let era_day = days + 719_468;
    let (era, day) = (era_day / 146_097, era_day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (date, month) = (
        day - (153 * month + 2) / 5 + 1,
        if month < 10 { month + 3 } else { month - 9 },
    );
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    let ms = since.subsec_millis();
    format!("{year}-{month:02}-{date:02} {hour:02}:{minute:02}:{second:02}.{ms:03}")
}

fn timings(call: &AuditedCall) -> CallTimings {
    let time = |ms: Option<f64>| {
        let seconds = ms? / 1_000.0;
        Duration::try_from_secs_f64(seconds).ok()
    };
    CallTimings {
        checked: time(call.checked_ms),
        admitted: time(call.admitted_ms),
        answered: time(call.answered_ms),
    }
}

/// The stops of the path as a bar; nothing for a call that ended before its checks, or whose build recorded none.
fn path(call: &AuditedCall) -> Markup {
    let took = call
        .duration_ms
        .and_then(|ms| Duration::try_from_secs_f64(ms / 1_000.0).ok());
    html! {
        @if let (Some(took), true) = (took, call.checked_ms.is_some()) { (recent::bar(timings(call).shares(took))) }
    }
}

/// What opens below a call: the trace, the times, what refused it.
fn more(call: &AuditedCall, outcome: &str) -> Markup {
    let took = call
        .duration_ms
        .and_then(|ms| Duration::try_from_secs_f64(ms / 1_000.0).ok());
    let reason = call
        .refused_by
        .as_deref()
        .unwrap_or_else(|| outcome::reason(outcome));
    let count = |number: Option<i64>| number.map(thousands).unwrap_or_default();
    let facts = [
        ("trace", call.trace.clone().unwrap_or_default()),
        ("agent", call.agent.clone().unwrap_or_default()),
        ("client", call.client.clone().unwrap_or_default()),
        ("principal", call.principal.clone().unwrap_or_default()),
        ("commit", call.commit_id.clone().unwrap_or_default()),
        ("units", count(call.units)),
        ("bytes", count(call.bytes)),
    ];
    html! {
        details {
            summary { "trace" }
            dl {
                @if !reason.is_empty() { dt { "decided by" } dd { (reason) } }
                @if let (Some(took), true) = (took, call.checked_ms.is_some()) {
                    @for (name, ms) in recent::stops(timings(call).shares(took)) {
                        dt { (name) } dd { (millis(ms)) " ms" }
                    }
                } @else if call.kind.as_deref() == Some("call") {
                    dt { "path" } dd { "it ended before its checks did" }
                }
                @for (name, value) in facts { @if !value.is_empty() { dt { (name) } dd class="breaks" { (value) } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00.000"),
            (951_782_400, "2000-02-29 00:00:00.000"),
            (1_796_083_199, "2026-11-30 23:59:59.000"),
            (1_798_761_600, "2027-01-01 00:00:00.000"),
        ] {
            assert_eq!(time(seconds * 1_000_000), text);
        }
    }
}
