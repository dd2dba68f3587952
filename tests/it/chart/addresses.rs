//! Addresses within the cluster: each leads to a Service with that port and with the intended pods.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::rendered::{Container, NAMESPACE, Pod, Render, has_all, list, pairs, renders, text};
use crate::tidy::assert_none;

/// The Service with this name in the cluster: `NAME`, `NAME.NAMESPACE` or `NAME.NAMESPACE.svc…`.
fn service<'a>(render: &'a Render, host: &str) -> Option<&'a Value> {
    let mut words = host.split('.');
    let name = words.next().unwrap_or_default();
    let is_here = words.next().is_none_or(|namespace| namespace == NAMESPACE);
    render.find("Service", name).filter(|_| is_here)
}

fn is_headless(service: &Value) -> bool {
    service["spec"]["clusterIP"] == "None"
}

fn serves(service: &Value, port: &str) -> bool {
    let number = |served: &Value| served["port"].as_u64().map(|it| it.to_string());
    list(&service["spec"]["ports"]).any(|served| number(served).as_deref() == Some(port))
}

/// The pods behind a Service.
fn behind<'a>(render: &'a Render, service: &Value) -> Vec<Pod<'a>> {
    render
        .pods()
        .filter(|pod| has_all(&service["spec"]["selector"], &pod.labels()))
        .collect()
}

/// Host and port of a URL.
fn host_and_port(url: &str) -> Option<(&str, &str)> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    authority.rsplit_once(':')
}

/// The container of a pod that runs a command, and the value of one of its variables.
fn told<'a>(pod: Pod<'a>, command: &str, variable: &str) -> Option<&'a str> {
    let runs = |it: &Container<'_>| it.archway().unwrap_or_default().first() == Some(&command);
    pod.running().find(runs)?.value(variable)
}

#[test]
fn gateways_know_every_pool_by_the_name_its_workers_serve() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut seen = 0;
    for render in renders {
        let told_of = render
            .pods()
            .filter_map(|pod| told(pod, "gateway", "ARCHWAY_WORKERS"));
        for workers in told_of {
            let mut pools = BTreeSet::new();
            for entry in workers.split(',') {
                let (pool, url) = entry.split_once('=').expect("a pool's name and address");
                pools.insert(pool);
                seen += 1;
                if let Some(wrong) = wrong(render, pool, url) {
                    violations.push(format!("{}: {entry}: {wrong}", render.name));
                }
            }
            let served = render
                .pods()
                .filter_map(|pod| told(pod, "worker", "ARCHWAY_POOL"));
            let served: BTreeSet<&str> = served.collect();
            if served != pools {
                violations.push(format!("{}: {served:?}, {pools:?}", render.name));
            }
        }
    }
    assert_none(&violations);
    assert!(seen > 0, "no gateway knows workers");
}

/// What is wrong with the address of a pool's workers, if anything.
fn wrong(render: &Render, pool: &str, url: &str) -> Option<String> {
    let (host, port) = host_and_port(url)?;
    let Some(service) = service(render, host) else {
        return Some("there is no such Service".to_owned());
    };
    if !is_headless(service) || !serves(service, port) {
        return Some(format!("not headless, or without {port}"));
    }
    let pods = behind(render, service);
    let others = pods
        .iter()
        .filter(|pod| told(**pod, "worker", "ARCHWAY_POOL") != Some(pool));
    let others: Vec<String> = others.map(Pod::title).collect();
    (pods.is_empty() || !others.is_empty()).then(|| format!("{others:?} are behind it"))
}

#[test]
fn gateways_speak_tls_to_workers_when_these_do() {
    let Some(renders) = renders() else { return };
    let mut seen = BTreeSet::new();
    for render in renders {
        let speak = |command: &str, file: &str| {
            let roles = render.pods().filter(|pod| {
                let runs = |it: Container<'_>| it.archway().unwrap_or_default() == [command];
                pod.running().any(runs)
            });
            let speak = roles.map(|pod| told(pod, command, file).is_some());
            speak.collect::<BTreeSet<bool>>()
        };
        let workers = speak("worker", "ARCHWAY_TLS_CERT_FILE");
        assert_eq!(workers.len(), 1, "{}: some do, some do not", render.name);
        let gateways = speak("gateway", "ARCHWAY_WORKER_CA_FILE");
        assert_eq!(gateways, workers, "{}", render.name);
        seen.extend(workers);
    }
    assert_eq!(
        seen.len(),
        2,
        "some values for CI have TLS, others have not"
    );
}

#[test]
fn gateways_count_themselves_by_a_service_that_has_an_address_for_each() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        for pod in render.pods() {
            let Some(host) = told(pod, "gateway", "ARCHWAY_GATEWAY_SERVICE") else {
                continue;
            };
            let found = service(render, host).filter(|it| is_headless(it));
            let pods = found
                .map(|service| behind(render, service))
                .unwrap_or_default();
            let titles: Vec<String> = pods.iter().map(Pod::title).collect();
            if titles != [pod.title()] {
                violations.push(format!("{}: {host} is of {titles:?}", render.name));
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn gateways_answer_to_the_names_by_which_they_are_reached() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut seen = BTreeSet::new();
    for render in renders {
        let allowed = render
            .pods()
            .find_map(|pod| told(pod, "gateway", "ARCHWAY_ALLOWED_HOSTS"));
        let allowed: BTreeSet<&str> = allowed.unwrap_or_default().split(',').collect();
        let is_gateways = |rule: &&Value| {
            let mut paths = list(&rule["http"]["paths"]);
            paths.any(|it| text(&it["path"]) == "/mcp")
        };
        let rules = render
            .of("Ingress")
            .flat_map(|it| list(&it["spec"]["rules"]))
            .filter(is_gateways);
        let hosts = rules.map(|rule| ("Ingress", text(&rule["host"])));
        let routes = render
            .of("HTTPRoute")
            .flat_map(|it| list(&it["spec"]["hostnames"]));
        let names = routes.map(|name| ("HTTPRoute", text(name)));
        let tests = render.pods().flat_map(|pod| {
            let urls = pod.containers().filter_map(|it| it.value("ARCHWAY_URL"));
            let hosts = urls
                .filter_map(host_and_port)
                .map(|(host, _)| ("test", host));
            hosts.collect::<Vec<_>>()
        });
        for (kind, host) in hosts.chain(names).chain(tests) {
            seen.insert(kind);
            if !allowed.contains(host) {
                violations.push(format!("{}: {kind} {host}: {allowed:?}", render.name));
            }
        }
    }
    assert_none(&violations);
    assert_eq!(seen.len(), 3, "{seen:?}");
}

#[test]
fn each_ingress_host_is_in_one_certificate_and_each_is_listed_once() {
    let Some(renders) = renders() else { return };
    let mut most = 0;
    for render in renders {
        for ingress in render.of("Ingress") {
            let named = list(&ingress["spec"]["rules"]).map(|rule| text(&rule["host"]));
            let named: BTreeSet<&str> = named.collect();
            let entries = || list(&ingress["spec"]["tls"]);
            let secrets: BTreeSet<&str> = entries().map(|it| text(&it["secretName"])).collect();
            let certified = entries().flat_map(|it| list(&it["hosts"]).map(text));
            let certified: Vec<&str> = certified.collect();
            most = most.max(certified.len()).max(secrets.len() + 1);
            assert_eq!(entries().count(), secrets.len(), "{}", render.name);
            assert_eq!(certified.len(), named.len(), "{}", render.name);
            assert_eq!(BTreeSet::from_iter(certified), named, "{}", render.name);
        }
    }
    assert_eq!(
        most, 3,
        "values for CI have three names in two certificates"
    );
}

#[test]
fn every_address_within_the_release_leads_to_pods() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut seen = 0;
    for render in renders {
        for (place, url) in urls(render) {
            let Some((host, port)) = host_and_port(url) else {
                continue;
            };
            let inside = host.split('.').nth(1) == Some(NAMESPACE) || !host.contains('.');
            if !inside {
                continue;
            }
            seen += 1;
            let found = service(render, host).filter(|service| serves(service, port));
            if found.is_none_or(|service| behind(render, service).is_empty()) {
                violations.push(format!("{}: {place}: {url}", render.name));
            }
        }
    }
    assert_none(&violations);
    assert!(seen > 0, "no container has an address");
}

/// All addresses that containers are configured with.
fn urls(render: &Render) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    for pod in render.pods() {
        for container in pod.containers() {
            for (name, variable) in container.variables() {
                let entries = text(&variable["value"]).split(',');
                let addresses = entries.map(|entry| entry.rsplit('=').next().unwrap_or_default());
                found.extend(addresses.map(|url| (format!("{} {name}", pod.title()), url)));
            }
        }
    }
    found
}

#[test]
fn every_tenants_pool_is_one_that_the_gateways_know() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        let workers = render
            .pods()
            .find_map(|pod| told(pod, "gateway", "ARCHWAY_WORKERS"));
        let pools: BTreeMap<&str, &str> = workers
            .unwrap_or_default()
            .split(',')
            .filter_map(|entry| entry.split_once('='))
            .collect();
        for map in render.of("ConfigMap") {
            let Some(file) = pairs(&map["data"]).get("tenants.yaml").copied() else {
                continue;
            };
            let file: Value = serde_saphyr::from_str(file).expect("YAML");
            for tenant in list(&file["tenants"]) {
                let pool = tenant["pool"].as_str().unwrap_or("shared");
                if !pools.contains_key(pool) {
                    violations.push(format!("{}: {} of {pool}", render.name, tenant["slug"]));
                }
            }
        }
    }
    assert_none(&violations);
}
