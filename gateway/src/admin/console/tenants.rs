//! Tenants: the list, and the page of one.

use maud::{Markup, html};

use super::{
    Console,
    address::{Place, Query},
    keys,
    page::{pages, search},
    projects, state,
    table::{Cell, Color, section, table, thousands, unknown},
    usage,
};
use crate::{
    store::{
        Stores,
        console::{Listed, TenantLimit, TenantRow},
    },
    terms::{Level, Terms},
};

/// The share of its limit by the month from which on a tenant stands out, in percent.
const NEAR: f64 = 80.0;

/// The list, with a search by slug and name.
pub(super) async fn list(console: &Console, stores: &Stores, query: &Query) -> Markup {
    let (text, after) = (query.get("q"), query.get("after"));
    let listed = console.answered(stores.console_tenants(text, after)).await;
    let field = search(&Place::Tenants, "Slug or name", text);
    let Some(listed) = listed else {
        return html! { (field) (section("Tenants", &unknown())) };
    };
    let last = listed.rows.last().filter(|_| listed.more);
    let next = last.map(|row| Place::Tenants.with(&[("q", text), ("after", &row.tenant)]));
    let first = (!after.is_empty()).then(|| Place::Tenants.with(&[("q", text)]));
    html! {
        (field)
        (section("Tenants", &rows(&listed)))
        (pages(Some(listed.matches), first.as_deref(), next.as_deref()))
    }
}

fn rows(listed: &Listed<TenantRow>) -> Markup {
    let row = |row: &TenantRow| {
        vec![
            Cell::link(&Place::Tenant(row.tenant.clone()).path(), &row.tenant),
            Cell::wide(&row.name),
            state_of(row),
            Cell::text(&row.pool),
            Cell::number(thousands(row.projects)),
            Cell::number(thousands(row.live_keys)),
            Cell::number(thousands(row.units)),
            share(row.units, row.quota),
        ]
    };
    let header = [
        "tenant",
        "name",
        "state",
        "pool",
        ">projects",
        ">live keys",
        ">units this month",
        "quota of the month",
    ];
    table(&header, listed.rows.iter().map(row).collect(), "None.")
}

fn state_of(row: &TenantRow) -> Cell {
    match row.disabled {
        true => Cell::state("disabled", Color::Bad),
        false => Cell::state("in use", Color::Plain),
    }
}

/// How much of a limit by the month is spent, in words and as a bar.
pub(super) fn share(units: i64, quota: Option<i32>) -> Cell {
    let Some(quota) = quota.filter(|quota| *quota > 0) else {
        return Cell::text("no limit");
    };
    let percent = 100.0 * units as f64 / f64::from(quota);
    let (color, word) = match percent {
        _ if percent >= 100.0 => (Color::Bad, ", all spent"),
        _ if percent >= NEAR => (Color::Warn, ", nearly spent"),
        _ => (Color::Plain, ""),
    };
    let text = format!("{percent:.0} % of {}{word}", thousands(quota.into()));
    Cell::of(&html! {
        svg class={ "share " (color.class()) } viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" {
            rect class="ground" width="100" height="6" {}
            rect class="part" width=(format!("{:.0}", percent.min(100.0))) height="6" {}
        }
        span class=(color.class()) { (text) }
    })
}

/// One tenant; `None` if there is none.
pub(super) async fn one(
    console: &Console,
    stores: &Stores,
    tenant: &str,
    query: &Query,
) -> Option<Markup> {
    let place = Place::Tenant(tenant.to_owned());
    let (text, after) = (query.get("q"), query.get("after"));
    let key = (query.get("label"), query.get("id"));
    let (found, usage, limits, keys, projects) = tokio::join!(
        // The slug before it in any order: the row is the first one after.
        console.answered(stores.console_tenant(tenant)),
        console.answered(stores.console_usage(tenant, None, None)),
        console.answered(stores.console_limits(tenant)),
        console.answered(stores.console_keys(tenant, None, key)),
        console.answered(stores.console_projects(tenant, None, (text, after))),
    );
    let head = match found {
        Some(None) => return None,
        Some(Some(row)) => html! {
            (section("This month", &table(
                &["name", "state", "pool", ">projects", ">live keys", ">units this month", "quota of the month"],
                vec![vec![
                    Cell::wide(&row.name), state_of(&row), Cell::text(&row.pool),
                    Cell::number(thousands(row.projects)), Cell::number(thousands(row.live_keys)),
                    Cell::number(thousands(row.units)), share(row.units, row.quota),
                ]],
                "",
            )))
        },
        None => section("This month", &unknown()),
    };
    Some(html! {
        (head)
        p { a href=(Place::Calls.with(&[("tenant", tenant)])) { "Calls of " (tenant) } }
        (usage::week(usage.as_deref()))
        (limits_in_force(limits.as_deref()))
        (keys::list(&place, tenant, keys.as_ref(), !key.1.is_empty()))
        (projects::list(&place, tenant, projects.as_ref(), (text, after)))
    })
}

/// Totals by default, and what was set otherwise.
fn limits_in_force(limits: Option<&[TenantLimit]>) -> Markup {
    let title = "Limits in force";
    let Some(limits) = limits else {
        return section(title, &unknown());
    };
    let is_set = |level: &str, of: &str| {
        limits
            .iter()
            .any(|set| set.key.is_none() && set.level == level && set.of == of)
    };
    let terms = Terms::new(1, Vec::new());
    let defaults = [Level::Tenant, Level::Key].into_iter().filter_map(|level| {
        let limit = terms.of_total(level).per_minute?;
        (!is_set(level.name(), crate::terms::TOTAL)).then(|| {
            vec![
                Cell::text("all"),
                Cell::text(level.name()),
                Cell::text("total"),
                Cell::number(format!("{limit} units")),
                Cell::text("default, for a key of one agent"),
            ]
        })
    });
    let set = limits.iter().map(|set| {
        vec![
            Cell::mono(set.key.as_deref().unwrap_or("all")),
            Cell::text(&set.level),
            Cell::text(&set.of),
            Cell::number(state::limit(&set.of, set.per_minute.unsigned_abs())),
            Cell::text("set"),
        ]
    });
    let header = ["key", "level", "of", ">a minute", "by"];
    let rows = defaults.chain(set).collect();
    section(
        title,
        &html! {
            div class="scrolls" { (table(&header, rows, "")) }
            p class="soft" { "Each tool has a limit of its own by default, which the overview lists." }
        },
    )
}
