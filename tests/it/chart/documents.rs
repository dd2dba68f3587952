//! Files in the chart with other readers: `archway apply`, a gateway's issuers, Prometheus and Grafana.
//! Each reader accepts its file.

use std::{collections::BTreeSet, fs};

use e2e::{Harness, Repo, Tenant};
use serde_json::{Value, json};

use super::rendered::{Container, Pod, Render, folder, list, pairs, renders, text, title};
use crate::tidy::assert_none;

/// The files of this name in `ConfigMap`s, with the `ConfigMap`'s name, parsed as YAML.
fn files<'a>(render: &'a Render, name: &str) -> Vec<(&'a str, Value)> {
    let maps = render.of("ConfigMap");
    let files = maps.filter_map(|map| {
        let file = pairs(&map["data"]).get(name).copied()?;
        let read = serde_saphyr::from_str(file);
        Some((text(&map["metadata"]["name"]), read.expect("YAML")))
    });
    files.collect()
}

/// The pods that mount a `ConfigMap`.
fn readers<'a>(render: &'a Render, map: &'a str) -> impl Iterator<Item = Pod<'a>> {
    render.pods().filter(move |pod| {
        list(&pod.spec["volumes"]).any(|it| text(&it["configMap"]["name"]) == map)
    })
}

#[test]
fn the_tenants_file_is_valid_for_apply_and_takes_keys_from_secrets() {
    let Some(renders) = renders() else { return };
    let schema = jsonschema::validator_for(&archway::admin::apply::schema()).unwrap();
    let mut violations = Vec::new();
    let mut seen = 0;
    for render in renders {
        for (map, file) in files(render, "tenants.yaml") {
            let errors = schema.iter_errors(&file).map(|error| error.to_string());
            violations.extend(errors.map(|error| format!("{}: {error}", render.name)));
            let tenants = list(&file["tenants"]);
            let wanted: BTreeSet<&str> = tenants
                .flat_map(|tenant| list(&tenant["keys"]))
                .map(|key| text(&key["from_env"]))
                .collect();
            seen += wanted.len();
            let readers: Vec<Pod<'_>> = readers(render, map).collect();
            assert_eq!(readers.len(), 1, "{}", render.name);
            let containers: Vec<Container<'_>> = readers[0].containers().collect();
            let given: BTreeSet<&str> = containers
                .iter()
                .flat_map(|container| container.variables())
                .filter(|(name, entry)| {
                    name.starts_with("TENANT_KEY_")
                        && entry["valueFrom"]["secretKeyRef"].is_object()
                })
                .map(|(name, _)| name)
                .collect();
            if wanted != given {
                violations.push(format!("{}: {wanted:?}, {given:?}", render.name));
            }
        }
    }
    assert_none(&violations);
    assert!(seen > 2, "values for CI have tenants with keys");
}

#[tokio::test]
async fn the_file_of_issuers_is_one_that_a_gateway_takes() {
    let Some(renders) = renders() else { return };
    let mut entries = BTreeSet::new();
    for render in renders {
        for (map, file) in files(render, "issuers.yaml") {
            let runs = |it: Container<'_>| it.archway().unwrap_or_default() == ["gateway"];
            let gateways = readers(render, map).filter(|pod| pod.running().any(runs));
            assert_eq!(gateways.count(), 1, "{}", render.name);
            for entry in list(&file["issuers"]) {
                let mut entry = entry.clone();
                // No issuer is contacted, and files of the cluster do not exist here.
                entry["issuer"] = json!(format!("http://127.0.0.1:9/{}", entries.len()));
                entry.as_object_mut().unwrap().remove("ca_file");
                entries.insert(entry.to_string());
            }
        }
    }
    assert!(!entries.is_empty(), "values for CI have an issuer");
    let tenant = Tenant::new("acme").project("site", Repo::new());
    let harness = Harness::new().tenant(tenant);
    let harness = entries.into_iter().fold(harness, Harness::issuer);
    harness.start().await;
}

/// Rules without the URLs of their runbooks, which depend on the installation, and these URLs.
fn without_runbooks(mut groups: Value) -> (Value, Vec<String>) {
    let mut urls = Vec::new();
    for group in groups.as_array_mut().into_iter().flatten() {
        for rule in group["rules"].as_array_mut().into_iter().flatten() {
            let annotations = rule["annotations"].as_object_mut();
            let url = annotations.and_then(|it| it.remove("runbook_url"));
            urls.extend(url.map(|url| text(&url).to_owned()));
        }
    }
    (groups, urls)
}

#[test]
fn prometheus_gets_the_charts_rules_unchanged() {
    let Some(renders) = renders() else { return };
    let rules = fs::read_to_string(folder().join("rules/archway.yaml")).unwrap();
    let rules: Value = serde_saphyr::from_str(&rules).expect("YAML");
    let (wanted, pages) = without_runbooks(rules["groups"].clone());
    let mut linked = BTreeSet::new();
    for render in renders {
        for found in render.of("PrometheusRule") {
            let place = format!("{}: {}", render.name, title(found));
            let (groups, urls) = without_runbooks(found["spec"]["groups"].clone());
            assert_eq!(groups, wanted, "{place}");
            linked.insert(!urls.is_empty());
            for (url, page) in urls.iter().zip(&pages) {
                let is_whole = url.starts_with("https://") && url.ends_with(page);
                assert!(is_whole, "{place}: {url}");
            }
        }
    }
    assert_eq!(linked.len(), 2, "values for CI with and without runbookUrl");
}

#[test]
fn grafana_gets_the_charts_dashboard_unchanged() {
    let Some(renders) = renders() else { return };
    let wanted = fs::read_to_string(folder().join("dashboards/archway.json")).unwrap();
    let wanted: Value = serde_json::from_str(&wanted).expect("JSON");
    let mut seen = 0;
    for render in renders {
        for (map, found) in files(render, "archway.json") {
            seen += 1;
            assert_eq!(found, wanted, "{}: {map}", render.name);
            let map = render.find("ConfigMap", map).unwrap();
            let labels = pairs(&map["metadata"]["labels"]);
            let is_found = labels.keys().any(|name| name.contains("dashboard"));
            assert!(
                is_found,
                "no sidecar of Grafana's would find it: {labels:?}"
            );
        }
    }
    assert!(seen > 0, "values for CI make a dashboard");
}
