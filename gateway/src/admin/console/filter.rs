//! Which calls a page of calls shows: the filter's fields, its links and its position.

use std::time::{Duration, SystemTime};

use maud::{Markup, html};
use uuid::Uuid;

use super::address::{Place, Query};
use crate::{
    metrics::OutcomeClass,
    store::{
        console::{CallFilter, CallPosition},
        micros,
    },
};

/// The time that is searched unless the query says another, in hours.
const HOURS: u32 = 24;
/// Times to choose from, in hours.
const CHOICES: [(u32, &str); 4] = [
    (1, "1 hour"),
    (24, "1 day"),
    (168, "7 days"),
    (744, "31 days"),
];
/// Classes of outcomes to choose from.
const CLASSES: [OutcomeClass; 4] = [
    OutcomeClass::Served,
    OutcomeClass::Denied,
    OutcomeClass::Failed,
    OutcomeClass::Cancelled,
];
/// The fields of the filter.
pub(super) const FIELDS: [&str; 5] = ["tenant", "key", "project", "tool", "outcome"];

/// Calls of one key, as the query bounds the time.
pub(super) fn of_key(tenant: &str, key: &str, query: &Query) -> CallFilter {
    CallFilter {
        tenant: Some(tenant.to_owned()),
        key: Some(key.to_owned()),
        since: since(query),
        ..CallFilter::default()
    }
}

/// Calls about one project, as the query bounds the time.
pub(super) fn of_project(tenant: &str, project: &str, query: &Query) -> CallFilter {
    CallFilter {
        tenant: Some(tenant.to_owned()),
        project: Some(project.to_owned()),
        since: since(query),
        ..CallFilter::default()
    }
}

/// Calls that the query's values name.
pub(super) fn of(query: &Query) -> CallFilter {
    let outcomes = query.some("outcome").map(|name| {
        let class = CLASSES.into_iter().find(|class| class.name() == name);
        class.map_or_else(
            || vec![name.clone()],
            |class| class.outcomes().into_iter().map(str::to_owned).collect(),
        )
    });
    CallFilter {
        tenant: query.some("tenant"),
        key: query.some("key"),
        project: query.some("project"),
        tool: query.some("tool"),
        outcomes,
        since: since(query),
    }
}

/// The query of a page of calls, without its position.
pub(super) fn kept(query: &Query) -> Vec<(&str, &str)> {
    let names = FIELDS.iter().chain(&["hours"]);
    names.map(|name| (*name, query.get(name))).collect()
}

/// The hours that the query names, of the choices.
pub(super) fn hours(query: &Query) -> u32 {
    let asked = query.get("hours").parse().ok();
    let known = CHOICES.iter().map(|(hours, _)| *hours);
    asked
        .filter(|asked| known.clone().any(|it| it == *asked))
        .unwrap_or(HOURS)
}

fn since(query: &Query) -> i64 {
    let back = Duration::from_secs(3_600 * u64::from(hours(query)));
    micros(
        SystemTime::now()
            .checked_sub(back)
            .unwrap_or(SystemTime::UNIX_EPOCH),
    )
}

/// The position that the query goes on from; else that of now.
pub(super) fn position(query: &Query) -> CallPosition {
    read_position(query.get("before")).unwrap_or_else(|| CallPosition {
        // Clocks of other gateways may be ahead.
        at: micros(SystemTime::now() + Duration::from_secs(60)),
        chain: Uuid::nil(),
        number: 0,
    })
}

fn read_position(text: &str) -> Option<CallPosition> {
    let mut parts = text.split('.');
    Some(CallPosition {
        at: parts
            .next()?
            .parse()
            .ok()
            .filter(|at| (0..=i64::MAX / 4).contains(at))?,
        chain: parts.next()?.parse().ok()?,
        number: parts.next()?.parse().ok()?,
    })
}

/// A position as a value of the query.
pub(super) fn written(position: CallPosition) -> String {
    format!("{}.{}.{}", position.at, position.chain, position.number)
}

/// The filter's fields.
pub(super) fn form(query: &Query) -> Markup {
    let chosen = hours(query);
    let outcome = query.get("outcome");
    let names = CLASSES.map(OutcomeClass::name);
    html! {
        form class="filter" role="search" action=(Place::Calls.path()) method="get" {
            @for name in FIELDS.iter().filter(|name| **name != "outcome") {
                label { (name) input name=(name) value=(query.get(name)) maxlength="100" autocomplete="off"; }
            }
            label { "outcome" select name="outcome" {
                option value="" { "any" }
                @for name in names { option value=(name) selected[outcome == name] { (name) } }
                // An exact outcome, which a link of another page named.
                @if !outcome.is_empty() && !names.contains(&outcome) { option value=(outcome) selected { (outcome) } }
            } }
            label { "within" select name="hours" {
                @for (hours, name) in CHOICES { option value=(hours) selected[hours == chosen] { (name) } }
            } }
            button { "Show" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_as_it_was_written_and_nothing_else_is() {
        let position = CallPosition {
            at: 1_796_000_000_000_000,
            chain: Uuid::max(),
            number: 7,
        };
        assert_eq!(read_position(&written(position)), Some(position));
        for bad in [
            "",
            "1",
            "1.2.3",
            "-1.00000000-0000-0000-0000-000000000000.1",
        ] {
            assert_eq!(read_position(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_class_stands_for_all_its_outcomes() {
        let outcomes = |text: &str| of(&Query::parse(Some(text))).outcomes;
        assert_eq!(
            outcomes("outcome=denied"),
            Some(
                OutcomeClass::Denied
                    .outcomes()
                    .into_iter()
                    .map(str::to_owned)
                    .collect()
            )
        );
        assert_eq!(
            outcomes("outcome=file_not_found"),
            Some(vec!["file_not_found".to_owned()])
        );
        assert_eq!(outcomes("outcome="), None);
        assert_eq!(hours(&Query::parse(Some("hours=168"))), 168);
        assert_eq!(hours(&Query::parse(Some("hours=99999"))), HOURS);
    }
}
