//! Who reaches whom and by which name, and what the host and other machines see.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{compose, environment, services, texts};

#[test]
fn by_default_the_host_sees_only_the_gateways_port() {
    for (name, service) in services() {
        let ports = texts(&service["ports"]);
        let is_optional = !service["profiles"].is_null();
        match name.as_str() {
            "gateway" => assert_eq!(ports, ["${BIND:-127.0.0.1}:${PORT:-8080}:8080"]),
            _ if is_optional => assert!(ports.iter().all(|port| port.starts_with("127.0.0.1:"))),
            _ => assert_eq!(ports, Vec::<&str>::new(), "{name}"),
        }
    }
}

/// The networks that a service is in.
pub(super) fn networks(service: &Value) -> BTreeSet<String> {
    match &service["networks"] {
        Value::Object(named) => named.keys().cloned().collect(),
        listed => texts(listed).into_iter().map(str::to_owned).collect(),
    }
}

#[test]
fn services_reach_what_they_need_and_other_hosts_only_where_they_must() {
    let services = services();
    let reached = |name: &str| -> Vec<&str> {
        let own = networks(&services[name]);
        let others = services.iter().filter(|(other, _)| *other != name);
        let shares = others.filter(|(_, service)| !own.is_disjoint(&networks(service)));
        shares.map(|(other, _)| other.as_str()).collect()
    };
    for (name, others) in [
        ("init", &[][..]),
        ("settings", &[]),
        (
            "postgres",
            &["apply", "gateway", "migrate", "sync", "worker"],
        ),
        ("qdrant", &["worker"]),
        ("valkey", &["gateway"]),
        ("grafana", &["prometheus"]),
        (
            "otel-collector",
            &["gateway", "prometheus", "sync", "worker"],
        ),
    ] {
        assert_eq!(reached(name), others, "{name}");
    }
    for (network, terms) in compose()["networks"].as_object().unwrap() {
        let is_in = |service: &Value| networks(service).contains(network);
        let members = services.values().filter(|service| is_in(service)).count();
        assert!(terms["internal"] == true || members == 1, "{network}");
    }
    let outside = |name: &str| {
        let inside = |network: &String| compose()["networks"][network]["internal"] == true;
        !networks(&services[name]).iter().all(inside)
    };
    let outside: Vec<&String> = services.keys().filter(|name| outside(name)).collect();
    assert_eq!(outside, ["gateway", "grafana", "otel-collector", "sync"]);
}

/// A host with addresses in several networks is counted once, by a name in one of them.
#[test]
fn gateways_find_workers_and_each_other_by_a_name_of_one_network() {
    let services = services();
    let all = services.values();
    let aliases = all.flat_map(|service| {
        let networks = service["networks"].as_object().cloned().unwrap_or_default();
        networks.into_values().flat_map(|terms| {
            let names = texts(&terms["aliases"]).into_iter().map(str::to_owned);
            names.collect::<Vec<_>>()
        })
    });
    let mut aliases: Vec<String> = aliases.collect();
    aliases.sort();
    assert_eq!(aliases, ["gateways", "workers"]);
    let gateway = environment(&services["gateway"]);
    assert_eq!(gateway["ARCHWAY_GATEWAY_SERVICE"], "gateways");
    assert_eq!(gateway["ARCHWAY_WORKERS"], "http://workers:7000");
}
