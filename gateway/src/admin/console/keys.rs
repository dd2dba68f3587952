//! Keys of a tenant: the list, and the page of one with its last calls.

use maud::{Markup, html};

use super::{
    Console,
    address::{Place, Query},
    calls, filter,
    page::pages,
    table::{Cell, Color, section, span, table, thousands, unknown},
    usage,
};
use crate::store::{
    Stores,
    console::{KeyRow, Listed},
};

/// The keys, in order of their labels.
pub(super) fn list(
    place: &Place,
    tenant: &str,
    listed: Option<&Listed<KeyRow>>,
    goes_on: bool,
) -> Markup {
    let title = "Keys";
    let Some(listed) = listed else {
        return section(title, &unknown());
    };
    let row = |row: &KeyRow| {
        let own = Place::Key(tenant.to_owned(), row.id.clone());
        let label = if row.label.is_empty() {
            "no label"
        } else {
            &row.label
        };
        vec![
            Cell::link(&own.path(), label),
            Cell::mono(&row.id),
            state(row),
            Cell::text(&last_use(row)),
            Cell::number(thousands(row.calls)),
            Cell::wide(&agents(row)),
        ]
    };
    let header = [
        "label",
        "id",
        "state",
        "last use",
        ">calls in 7 days",
        "agents",
    ];
    let last = listed.rows.last().filter(|_| listed.more);
    let next = last.map(|row| place.with(&[("label", &row.label), ("id", &row.id)]));
    let first = goes_on.then(|| place.path());
    section(
        title,
        &html! {
            (table(&header, listed.rows.iter().map(row).collect(), "None: archway key issue."))
            (pages(Some(listed.matches), first.as_deref(), next.as_deref()))
        },
    )
}

/// The keys of a tenant that have a label.
#[derive(Default)]
pub(super) struct Labelled {
    /// At most 50, the youngest of them first.
    pub(super) ids: Vec<String>,
    /// Whether others may have it, too.
    pub(super) more: bool,
}

/// The keys of a tenant that have a label; `None` without an answer. A rotated key and its successors share theirs.
pub(super) async fn of_label(
    console: &Console,
    stores: &Stores,
    (tenant, label): (&str, &str),
) -> Option<Labelled> {
    // The list goes on with the first key of this label.
    let listed = console.answered(stores.console_keys(tenant, None, (label, "")));
    let Listed { mut rows, more, .. } = listed.await?;
    let more = more && rows.last().is_some_and(|row| row.label == label);
    rows.retain(|row| row.label == label);
    rows.sort_by_key(|row| row.created_seconds);
    let ids = rows.into_iter().map(|row| row.id).collect();
    Some(Labelled { ids, more })
}

/// Whether a tenant has a key with this id; `None` without an answer.
pub(super) async fn is_known(
    console: &Console,
    stores: &Stores,
    (tenant, key): (&str, &str),
) -> Option<bool> {
    let listed = console.answered(stores.console_keys(tenant, Some(key), ("", "")));
    Some(!listed.await?.rows.is_empty())
}

/// The page of a key; `None` if the tenant has none with this id.
pub(super) async fn one(
    console: &Console,
    stores: &Stores,
    (tenant, key): (&str, &str),
    query: &Query,
) -> Option<Markup> {
    let filter = filter::of_key(tenant, key, query);
    let (listed, usage, last) = tokio::join!(
        console.answered(stores.console_keys(tenant, Some(key), ("", ""))),
        console.answered(stores.console_usage(tenant, Some(key), None)),
        console.answered(stores.console_calls(&filter, filter::position(query))),
    );
    let head = match &listed {
        None => section("Key", &unknown()),
        Some(listed) => facts(listed.rows.first()?),
    };
    let place = Place::Key(tenant.to_owned(), key.to_owned());
    Some(html! {
        (head)
        (usage::week(usage.as_deref()))
        (calls::table_of(&place, &[], last.as_ref(), query))
    })
}

fn facts(row: &KeyRow) -> Markup {
    let all =
        |names: Option<&Vec<String>>| names.map_or_else(|| "all".to_owned(), |it| it.join(", "));
    let rows = [
        ("label", row.label.clone()),
        ("scopes", row.scopes.join(", ")),
        ("projects", all(row.projects.as_ref())),
        ("tool families", all(row.families.as_ref())),
        (
            "made",
            format!("{} ago", span(row.created_seconds.unsigned_abs())),
        ),
        ("last use", last_use(row)),
        ("agents", agents(row)),
    ];
    section(
        "Key",
        &html! {
            dl {
                dt { "state" } dd { (state_markup(row)) }
                @for (name, value) in rows { dt { (name) } dd { (value) } }
            }
        },
    )
}

fn state(row: &KeyRow) -> Cell {
    Cell::of(&state_markup(row))
}

fn state_markup(row: &KeyRow) -> Markup {
    let (text, color) = match row.expires_seconds {
        _ if row.revoked => ("revoked".to_owned(), Color::Bad),
        Some(seconds) if seconds <= 0 => ("expired".to_owned(), Color::Bad),
        Some(seconds) => {
            let left = span(seconds.unsigned_abs());
            match seconds > 7 * 86_400 {
                true => (format!("live, expires in {left}"), Color::Good),
                false => (format!("live, expires soon, in {left}"), Color::Warn),
            }
        }
        None => ("live".to_owned(), Color::Good),
    };
    html! { span class=(color.class()) { (text) } }
}

/// To the hour, as usage is kept.
fn last_use(row: &KeyRow) -> String {
    match row.used_hours {
        None => "not in 7 days".to_owned(),
        Some(0) => "within the hour".to_owned(),
        Some(hours) if hours < 48 => format!("{hours} h ago"),
        Some(hours) => format!("{} days ago", hours / 24),
    }
}

fn agents(row: &KeyRow) -> String {
    row.agents
        .as_ref()
        .map_or_else(String::new, |it| it.join(", "))
}
