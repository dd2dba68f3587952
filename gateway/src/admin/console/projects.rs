//! Projects of a tenant: the list, and the page of one.

use maud::{Markup, html};

use super::{
    Console,
    address::{Place, Query},
    calls, filter,
    page::{pages, search},
    processes,
    table::{Cell, Color, section, span, table, thousands, unknown},
    usage,
};
use crate::store::{
    Stores,
    console::{Listed, ProjectRow},
};

/// Digits of a commit's id that are shown in lists.
const SHORT: usize = 10;

/// The projects whose slug has the text.
pub(super) fn list(
    place: &Place,
    tenant: &str,
    listed: Option<&Listed<ProjectRow>>,
    (text, after): (&str, &str),
) -> Markup {
    let title = "Projects";
    let Some(listed) = listed else {
        return section(title, &unknown());
    };
    let row = |row: &ProjectRow| {
        let own = Place::Project(tenant.to_owned(), row.project.clone());
        vec![
            Cell::link(&own.path(), &row.project),
            Cell::wide(&row.name),
            Cell::of(&workers(row)),
            Cell::of(&sync(row)),
            Cell::of(&index(row)),
        ]
    };
    let header = ["project", "name", "served", "synced", "indexed"];
    let last = listed.rows.last().filter(|_| listed.more);
    let next = last.map(|row| place.with(&[("q", text), ("after", &row.project)]));
    let first = (!after.is_empty()).then(|| place.with(&[("q", text)]));
    section(
        title,
        &html! {
            (search(place, "Slug", text))
            (table(&header, listed.rows.iter().map(row).collect(), "None."))
            (pages(Some(listed.matches), first.as_deref(), next.as_deref()))
        },
    )
}

/// The page of a project; `None` if the tenant has none of this slug.
pub(super) async fn one(
    console: &Console,
    stores: &Stores,
    (tenant, project): (&str, &str),
    query: &Query,
) -> Option<Markup> {
    let filter = filter::of_project(tenant, project, query);
    let (listed, usage, last) = tokio::join!(
        console.answered(stores.console_projects(tenant, Some(project), ("", ""))),
        console.answered(stores.console_usage(tenant, None, Some(project))),
        console.answered(stores.console_calls(&filter, filter::position(query))),
    );
    let head = match &listed {
        None => section("Project", &unknown()),
        Some(listed) => facts(listed.rows.first()?),
    };
    let place = Place::Project(tenant.to_owned(), project.to_owned());
    Some(html! {
        (head)
        (usage::week(usage.as_deref()))
        (calls::table_of(&place, &[], last.as_ref(), query))
    })
}

fn facts(row: &ProjectRow) -> Markup {
    let rows = [
        ("name", row.name.clone()),
        (
            "repository",
            row.url
                .clone()
                .unwrap_or_else(|| "a folder of the workers".to_owned()),
        ),
        ("mirror's commit", row.head.clone().unwrap_or_default()),
        ("indexed commit", row.commit_id.clone().unwrap_or_default()),
        ("chunks", row.chunks.map(thousands).unwrap_or_default()),
    ];
    section(
        "Project",
        &html! {
            dl {
                dt { "served" } dd { (workers(row)) }
                dt { "synced" } dd { (sync(row)) }
                dt { "indexed" } dd { (index(row)) }
                @for (name, value) in rows { @if !value.is_empty() { dt { (name) } dd class="breaks" { (value) } } }
            }
        },
    )
}

fn workers(row: &ProjectRow) -> Markup {
    let (text, color) = match row.workers {
        0 => ("by no worker".to_owned(), Color::Bad),
        1 => ("by 1 worker".to_owned(), Color::Good),
        many => (format!("by {many} workers"), Color::Good),
    };
    html! { span class=(color.class()) { (text) } }
}

fn sync(row: &ProjectRow) -> Markup {
    let Some(state) = &row.sync else {
        return html! { span class="soft" { "not by Archway" } };
    };
    let ago = row.fetched_seconds;
    let ago = ago.map(|seconds| format!(", {} ago", span(seconds.max(0).unsigned_abs())));
    html! {
        span class=(processes::color(state).class()) { (state) (ago.unwrap_or_default()) }
        @if state != "ok" { @if let Some(message) = &row.sync_message { ": " (message) } }
    }
}

/// The index, and whether the mirror is ahead of it.
fn index(row: &ProjectRow) -> Markup {
    let color = match row.index.as_str() {
        "whole" => Color::Good,
        "failed" => Color::Bad,
        _ => Color::Warn,
    };
    let behind = match (&row.head, &row.commit_id) {
        (Some(head), Some(commit)) if head != commit => {
            Some(commit.chars().take(SHORT).collect::<String>())
        }
        _ => None,
    };
    let ago = row.indexed_seconds;
    let ago = ago.map(|seconds| format!(", {} ago", span(seconds.max(0).unsigned_abs())));
    html! {
        span class=(color.class()) { (row.index) (ago.unwrap_or_default()) }
        @if row.index != "whole" { @if let (Some(done), Some(total)) = (row.done, row.total) {
            ", " (thousands(done)) " of " (thousands(total)) " texts"
        } }
        @if let Some(failure) = &row.failure { ": " (failure) }
        @if let Some(commit) = behind { ", " span class="warn" { "behind, at " (commit) } }
    }
}
