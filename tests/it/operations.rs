//! The operators' files in `helm/archway`, checked against the running system: each metric in an alert or
//! panel is exposed by a role, with the labels used, and each alert has its runbook.

pub(crate) mod exposed;
mod pages;
mod queries;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

use serde_json::Value;

use exposed::Exposed;
use queries::{Query, names_of_ours};

use crate::tidy::{assert_none, root};

/// Labels that Prometheus adds to each sample to identify its process. The last is the chart's.
const OF_TARGETS: [&str; 5] = ["instance", "job", "namespace", "pod", "archway_io_pool"];
/// The metric that Prometheus adds for each target.
const OF_PROMETHEUS: &str = "up";
const SECTIONS: [&str; 5] = [
    "## What it means",
    "## What users notice",
    "## Find the cause",
    "## What to do",
    "## What to leave alone",
];

fn folder() -> PathBuf {
    root().join("helm/archway")
}

fn read(path: &str) -> String {
    fs::read_to_string(folder().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    let list = value[name].as_array();
    list.unwrap_or_else(|| panic!("no list {name} in {value}"))
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// All alert and recording rules.
fn rules() -> Vec<Value> {
    let rules: Value = serde_saphyr::from_str(&read("rules/archway.yaml")).expect("YAML");
    let groups = list(&rules, "groups").iter();
    groups
        .flat_map(|group| list(group, "rules"))
        .cloned()
        .collect()
}

pub(crate) fn alerts() -> BTreeMap<String, Value> {
    let alerts = rules().into_iter().filter(|rule| rule["record"].is_null());
    alerts
        .map(|rule| (text(&rule, "alert").to_owned(), rule))
        .collect()
}

pub(crate) fn dashboard() -> Value {
    serde_json::from_str(&read("dashboards/archway.json")).expect("JSON")
}

/// The panels that show data, without row titles.
pub(crate) fn panels(dashboard: &Value) -> impl Iterator<Item = &Value> {
    let panels = list(dashboard, "panels").iter();
    panels.filter(|panel| panel["type"] != "row")
}

/// The names of the runbooks, without their extension.
fn pages() -> BTreeSet<String> {
    let pages = fs::read_dir(folder().join("runbooks")).unwrap();
    let names = pages.map(|page| page.unwrap().file_name().into_string().unwrap());
    names
        .map(|name| name.strip_suffix(".md").expect("a page").to_owned())
        .collect()
}

/// A query, its location, and the text about its results.
struct LocatedQuery {
    place: String,
    query: Query,
    said: String,
}

fn located(place: &str, query: &str, said: &str) -> LocatedQuery {
    let query = Query::parse(query);
    assert!(!query.metrics.is_empty(), "{place} names no metric");
    let (place, said) = (place.to_owned(), said.to_owned());
    LocatedQuery { place, query, said }
}

fn all_queries() -> Vec<LocatedQuery> {
    let rules = rules().into_iter().map(|rule| {
        let name = text(&rule, "alert").to_owned() + text(&rule, "record");
        let said = rule["annotations"].to_string();
        located(&name, text(&rule, "expr"), &said.replace("$labels.", "{{"))
    });
    let dashboard = dashboard();
    let targets = panels(&dashboard).flat_map(|panel| {
        let targets = list(panel, "targets").iter();
        targets.map(|it| {
            located(
                text(panel, "title"),
                text(it, "expr"),
                text(it, "legendFormat"),
            )
        })
    });
    let variables = list(&dashboard["templating"], "list").iter();
    let variables = variables.filter(|variable| variable["type"] == "query");
    let variables = variables.map(|it| located(text(it, "name"), text(it, "definition"), ""));
    rules.chain(targets).chain(variables).collect()
}

#[tokio::test]
async fn alerts_and_panels_use_metrics_that_are_exposed() {
    let exposed = Exposed::by_a_busy_stack().await;
    let recorded = rules();
    let recorded: BTreeSet<&str> = recorded.iter().map(|rule| text(rule, "record")).collect();
    let mut violations = Vec::new();
    for LocatedQuery { place, query, .. } in all_queries() {
        let mut labels: BTreeSet<&str> = OF_TARGETS.into();
        let mut are_all_seen = true;
        for (metric, selected) in &query.metrics {
            if metric == OF_PROMETHEUS {
                let unknown = selected
                    .iter()
                    .filter(|it| !OF_TARGETS.contains(&it.as_str()));
                violations.extend(unknown.map(|it| format!("{place}: no target has {it}")));
                continue;
            }
            let there = exposed.labels(metric);
            if there.is_none() && recorded.contains(metric.as_str()) {
                are_all_seen = false;
                continue;
            }
            let Some(there) = there else {
                violations.push(format!("{place}: {metric} is not exposed"));
                continue;
            };
            let known = |label: &str| there.contains(label) || OF_TARGETS.contains(&label);
            let unknown = selected.iter().filter(|label| !known(label));
            violations.extend(unknown.map(|label| format!("{place}: {metric} has no {label}")));
            labels.extend(there.iter().map(String::as_str));
        }
        let unknown = query
            .grouped
            .iter()
            .filter(|by| !labels.contains(by.as_str()));
        let unknown = unknown.filter(|_| are_all_seen);
        violations.extend(unknown.map(|by| format!("{place}: nothing has a label {by}")));
    }
    assert_none(&violations);
}

#[test]
fn texts_about_results_use_only_labels_of_the_grouping() {
    let mut violations = Vec::new();
    for LocatedQuery { place, query, said } in all_queries() {
        for word in said.split("{{").skip(1) {
            let word = word.trim_start();
            let end = word.find(|c: char| !(c.is_alphanumeric() || c == '_'));
            let label = word.get(..end.unwrap_or(word.len())).unwrap();
            if !label.is_empty() && !query.grouped.contains(label) && !query.is_ungrouped() {
                violations.push(format!("{place} says {label}, and is not grouped by it"));
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn every_alert_has_a_severity_and_a_page_and_every_page_an_alert() {
    let alerts = alerts();
    assert_eq!(alerts.keys().cloned().collect::<BTreeSet<_>>(), pages());
    for (name, alert) in &alerts {
        let said = &alert["annotations"];
        let severity = text(&alert["labels"], "severity");
        assert!(["critical", "warning"].contains(&severity), "{name}");
        let (time, unit) = text(alert, "for").split_at(text(alert, "for").len().max(1) - 1);
        let waits = ["s", "m"].contains(&unit) && time.parse::<u32>().is_ok_and(|time| time > 0);
        assert!(waits, "{name} waits for nothing");
        assert!(!text(said, "summary").is_empty(), "{name}");
        assert!(!text(said, "description").is_empty(), "{name}");
        assert_eq!(text(said, "runbook_url"), format!("runbooks/{name}.md"));
    }
}

/// The users' documentation of commands and options.
fn manual() -> String {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let manual = read("README.md") + &read("docs/CONFIGURATION.md");
    manual.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `archway audit verify` of `archway audit verify --json`.
fn verbs(command: &str) -> String {
    let is_verb = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
    let verbs = command.split(' ').take_while(is_verb).take(3);
    verbs.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_page_is_complete_and_names_existing_commands_and_options() {
    let manual = manual();
    let mut violations = Vec::new();
    for name in pages() {
        let page = read(&format!("runbooks/{name}.md"));
        assert!(page.starts_with(&format!("# {name}\n")), "{name}");
        let places = SECTIONS.map(|title| page.find(title));
        assert!(places.iter().all(Option::is_some), "{name}: {places:?}");
        assert!(places.is_sorted(), "{name}: {places:?}");
        let commands = pages::commands(&page).into_iter().map(verbs);
        let ours = page.replace(pages::IN_A_POD, "");
        let words = ours.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
        let options = words.filter(|word| word.starts_with("--"));
        let named = commands.chain(options.map(str::to_owned));
        let unknown = named.filter(|named| !manual.contains(named));
        violations.extend(unknown.map(|unknown| format!("{name}: {unknown}")));
        let links = page.split("](").skip(1);
        for link in links.map(|link| link.split_once(')').unwrap().0) {
            assert!(folder().join("runbooks").join(link).is_file(), "{link}");
        }
    }
    assert_none(&violations);
}

#[tokio::test]
async fn every_metric_named_in_a_page_is_exposed() {
    let exposed = Exposed::by_a_busy_stack().await;
    let mut violations = Vec::new();
    let pages = pages()
        .into_iter()
        .map(|page| format!("runbooks/{page}.md"));
    let others = ["docs/src/observe.md", "README.md"];
    let others = others.map(|page| format!("../../{page}"));
    for page in pages.chain(others) {
        for metric in names_of_ours(&read(&page)) {
            if exposed.labels(&metric).is_none() {
                violations.push(format!("{page}: {metric} is not exposed"));
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn every_panel_has_a_description_and_none_overlaps_another() {
    let dashboard = dashboard();
    let mut taken = BTreeMap::new();
    let mut ids = BTreeSet::new();
    for panel in list(&dashboard, "panels") {
        let title = text(panel, "title");
        assert!(!title.is_empty(), "{panel}");
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}");
        let place = |side: &str| panel["gridPos"][side].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{title} leaves the grid");
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                let under = taken.insert((x, y), title);
                assert_eq!(under, None, "beneath {title}");
            }
        }
    }
    for panel in panels(&dashboard) {
        let title = text(panel, "title");
        assert!(text(panel, "description").len() > 40, "{title}");
        let unit = text(&panel["fieldConfig"]["defaults"], "unit");
        assert!(!unit.is_empty(), "{title} has no unit");
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
        assert!(!list(panel, "targets").is_empty(), "{title}");
    }
}
