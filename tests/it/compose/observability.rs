//! The files of the profile `observability`: those of the collector, Prometheus and Grafana, which
//! Compose only mounts. Nothing is started.

use std::{collections::BTreeSet, fs, path::PathBuf};

use serde_json::Value;

use super::{environment, mounts, networks::networks, read, services, texts};
use crate::tidy::{assert_none, root};

const COLLECTOR: &str = "otel-collector";
const DASHBOARDS: &str = "helm/archway/dashboards";

fn yaml(path: &str) -> Value {
    let path = format!("deploy/compose/{path}");
    serde_saphyr::from_str(&read(&path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The values of all fields of this name, at any depth.
fn fields<'a>(value: &'a Value, name: &str) -> Vec<&'a Value> {
    let inner: Vec<&Value> = match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    let mut found: Vec<&Value> = value.get(name).into_iter().collect();
    found.extend(inner.into_iter().flat_map(|value| fields(value, name)));
    found
}

/// Each target of `prometheus.yaml`, with its port.
fn targets() -> Vec<(String, String)> {
    let prometheus = yaml("prometheus.yaml");
    let mut targets = Vec::new();
    for job in list(&prometheus["scrape_configs"]) {
        for names in list(&job["dns_sd_configs"]) {
            let port = names["port"].to_string();
            let named = texts(&names["names"]).into_iter();
            targets.extend(named.map(|name| (name.to_owned(), port.clone())));
        }
        for fixed in list(&job["static_configs"]) {
            let fixed = texts(&fixed["targets"]).into_iter();
            targets.extend(fixed.map(|target| {
                let (host, port) = target.split_once(':').expect("a port");
                (host.to_owned(), port.to_owned())
            }));
        }
    }
    assert!(targets.len() >= 3, "{targets:?}");
    targets
}

/// The host of a URL or of `host:port`.
fn host(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split([':', '/']).next().unwrap()
}

#[test]
fn whom_they_ask_is_a_service_of_a_network_that_they_are_in() {
    let services = services();
    let mut asked: Vec<(&str, String)> = Vec::new();
    asked.extend(targets().into_iter().map(|(host, _)| ("prometheus", host)));
    let provisioned = yaml("grafana/datasources/prometheus.yaml");
    for url in fields(&provisioned, "url") {
        asked.push(("grafana", host(url.as_str().unwrap()).to_owned()));
    }
    for endpoint in fields(&yaml("otel-collector.yaml")["exporters"], "endpoint") {
        let host = host(endpoint.as_str().unwrap());
        // A name with dots is another machine, which the collector may reach.
        if !host.contains('.') {
            asked.push((COLLECTOR, host.to_owned()));
        }
    }
    assert!(asked.iter().any(|(name, _)| *name == "grafana"));
    for (name, host) in asked {
        let own = networks(&services[name]);
        let other = services.get(&host);
        let other = other.unwrap_or_else(|| panic!("{name} uses {host}, which is no service"));
        assert!(!own.is_disjoint(&networks(other)), "{name} uses {host}");
    }
}

#[test]
fn addresses_use_ports_that_are_listened_on() {
    let collector = yaml("otel-collector.yaml");
    let prometheus = fields(&collector["service"]["telemetry"], "prometheus")[0];
    let wanted = [
        (COLLECTOR.to_owned(), prometheus["port"].to_string()),
        ("gateway".to_owned(), "9090".to_owned()),
        ("worker".to_owned(), "9091".to_owned()),
        ("sync".to_owned(), "9092".to_owned()),
    ];
    assert_eq!(BTreeSet::from_iter(targets()), BTreeSet::from(wanted));
    let image = read("Dockerfile");
    let asked = ["9090", "9091", "9092"].map(|port| format!("http://127.0.0.1:{port}"));
    assert!(image.contains(&format!("ADMIN_URL={}\n", asked.join(","))));
    // Other containers cannot reach the loopback address.
    assert_eq!(prometheus["host"], "0.0.0.0");
    let receiver = &collector["receivers"]["otlp"]["protocols"]["grpc"]["endpoint"];
    let port = receiver.as_str().unwrap().strip_prefix("0.0.0.0:").unwrap();
    for told in ["docker-compose.yml", "deploy/compose/README.md"] {
        let url = format!("http://{COLLECTOR}:{port} ");
        let told = read(told).replace('`', " ");
        assert!(told.contains(&url), "{url}");
    }
    let datasource = &yaml("grafana/datasources/prometheus.yaml")["datasources"][0]["url"];
    let check = services()["prometheus"]["healthcheck"]["test"].to_string();
    let port = datasource.as_str().unwrap().rsplit_once(':').unwrap().1;
    assert!(check.contains(&format!("--url=http://127.0.0.1:{port}\"")));
}

/// The file of this repository that a service sees at a path. `None` if it is in a volume.
fn seen(service: &Value, path: &str) -> Option<PathBuf> {
    let mounts = mounts(service);
    let within = mounts.iter().filter_map(|mount| {
        let rest = path.strip_prefix(mount.target.as_str())?;
        (rest.is_empty() || rest.starts_with('/')).then_some((mount, rest))
    });
    let mount = within.max_by_key(|(mount, _)| mount.target.len());
    let (mount, rest) = mount.unwrap_or_else(|| panic!("nothing is mounted at {path}"));
    let source = mount.source.strip_prefix("./")?;
    Some(root().join(format!("{source}{rest}")))
}

/// The values of a service's options whose names end like this.
fn options(service: &Value, end: &str) -> Vec<String> {
    let words = texts(&service["command"]).into_iter();
    let options = words.filter_map(|word| word.split_once('='));
    let named = options.filter(|(name, _)| name.ends_with(end));
    named.map(|(_, value)| value.to_owned()).collect()
}

#[test]
fn every_path_in_their_files_is_mounted_and_exists() {
    let services = services();
    let mut paths: Vec<(&str, String)> = Vec::new();
    let mut name = |service: &'static str, named: Vec<String>| {
        assert!(!named.is_empty(), "{service} names none");
        paths.extend(named.into_iter().map(|path| (service, path)));
    };
    name(COLLECTOR, options(&services[COLLECTOR], "--config"));
    name("prometheus", options(&services["prometheus"], ".file"));
    name("prometheus", options(&services["prometheus"], ".path"));
    let rules = yaml("prometheus.yaml")["rule_files"].clone();
    let rules = texts(&rules).into_iter();
    let rules = rules.map(|glob| glob.strip_suffix("/*.yaml").expect("a folder of rules"));
    name("prometheus", rules.map(str::to_owned).collect());
    let dashboards = yaml("grafana/dashboards/archway.yaml");
    let folders = fields(&dashboards["providers"], "path").into_iter();
    let folders = folders.map(|path| path.as_str().unwrap().to_owned());
    name("grafana", folders.collect());
    let variables = environment(&services["grafana"]).into_iter();
    let files = variables.filter(|(variable, _)| variable.ends_with("_PATH"));
    let files = files.map(|(_, path)| path.as_str().unwrap().to_owned());
    name("grafana", files.collect());
    for folder in ["dashboards", "datasources"] {
        // Where Grafana's image looks for provisioning files.
        let folder = format!("/etc/grafana/provisioning/{folder}");
        name("grafana", vec![folder]);
    }
    for (service, path) in paths {
        let Some(here) = seen(&services[service], &path) else {
            continue;
        };
        let is_full = fs::read_dir(&here).is_ok_and(|mut entries| entries.next().is_some());
        assert!(here.is_file() || is_full, "{service}: {path}");
    }
    let alerts = seen(&services["prometheus"], "/etc/prometheus/rules").unwrap();
    let mut alerts = fs::read_dir(alerts).unwrap().map(|entry| entry.unwrap());
    assert!(alerts.any(|entry| entry.path().extension().is_some_and(|it| it == "yaml")));
}

#[test]
fn pipelines_use_exactly_the_defined_components() {
    let collector = yaml("otel-collector.yaml");
    let pipelines = collector["service"]["pipelines"].as_object().unwrap();
    assert!(pipelines.contains_key("traces"), "{pipelines:?}");
    let mut violations = Vec::new();
    for kind in ["receivers", "processors", "exporters"] {
        let defined = collector[kind].as_object().expect(kind).keys();
        let defined: BTreeSet<&str> = defined.map(String::as_str).collect();
        let used = pipelines.values().flat_map(|it| texts(&it[kind]));
        let used: BTreeSet<&str> = used.collect();
        let lone = defined.symmetric_difference(&used);
        violations.extend(lone.map(|part| format!("{kind}: {part}")));
    }
    assert_none(&violations);
}

#[test]
fn dashboards_ask_the_datasource_that_is_provisioned() {
    let provisioned = yaml("grafana/datasources/prometheus.yaml");
    let [datasource] = list(&provisioned["datasources"]) else {
        panic!("{provisioned}");
    };
    assert_eq!(datasource["isDefault"], true);
    let mut asked = 0;
    for file in fs::read_dir(root().join(DASHBOARDS)).unwrap() {
        let path = file.unwrap().path();
        let dashboard: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let variables = list(&dashboard["templating"]["list"]).iter();
        // Selected as the default of its type.
        let chosen = variables.filter(|it| it["type"] == "datasource");
        let chosen: Vec<(String, &Value)> = chosen
            .map(|it| {
                (
                    format!("${{{}}}", it["name"].as_str().unwrap()),
                    &it["query"],
                )
            })
            .collect();
        for named in fields(&dashboard, "datasource") {
            if named["uid"] == "-- Grafana --" {
                continue;
            }
            let uid = named["uid"].as_str().expect("a uid");
            let variable = chosen.iter().find(|(name, _)| name == uid);
            let kind = variable.map(|(_, kind)| *kind);
            let is_there = kind == Some(&datasource["type"]) || named["uid"] == datasource["uid"];
            assert!(is_there, "{}: {named}", path.display());
            assert_eq!(named["type"], datasource["type"], "{}", path.display());
            asked += 1;
        }
    }
    assert!(asked > 10, "{asked}");
}
