//! Selectors match the intended pods and no others, and references point at objects that exist.

use std::collections::BTreeSet;

use serde_json::Value;

use super::rendered::{
    NAMESPACE, Pod, Render, has_all, is_selected, list, number, pairs, renders, text, title,
};
use crate::tidy::assert_none;

/// The pods that a selector matches.
fn chosen<'a>(render: &'a Render, selector: &Value) -> Vec<Pod<'a>> {
    render
        .pods()
        .filter(|pod| is_selected(selector, &pod.labels()))
        .collect()
}

#[test]
fn a_workload_selects_exactly_its_own_pods() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        for pod in render.pods().filter(Pod::is_lasting) {
            let selector = &pod.document["spec"]["selector"];
            let chosen = chosen(render, selector);
            let chosen: Vec<String> = chosen.iter().map(Pod::title).collect();
            if pairs(&selector["matchLabels"]).is_empty() || chosen != [pod.title()] {
                violations.push(format!("{}: {} has {chosen:?}", render.name, pod.title()));
            }
        }
    }
    assert_none(&violations);
}

/// Whether a port of a Service or policy, by name or number, is a port of a pod.
fn has_port(pod: &Pod<'_>, port: &Value) -> bool {
    pod.running().any(|container| {
        let named = container
            .ports()
            .any(|(_, name)| Some(name) == port.as_str());
        let numbered = container
            .ports()
            .any(|(number, _)| Some(number) == port.as_u64());
        named || numbered
    })
}

#[test]
fn a_service_leads_to_ports_of_the_pods_of_one_workload() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        for service in render.of("Service") {
            let place = format!("{}: {}", render.name, title(service));
            let selector = serde_json::json!({ "matchLabels": service["spec"]["selector"] });
            let pods = chosen(render, &selector);
            let workloads: BTreeSet<String> = pods.iter().map(Pod::title).collect();
            if workloads.len() != 1 || pairs(&selector["matchLabels"]).is_empty() {
                violations.push(format!("{place} chooses {workloads:?}"));
            }
            for port in list(&service["spec"]["ports"]) {
                let target = if port["targetPort"].is_null() {
                    &port["port"]
                } else {
                    &port["targetPort"]
                };
                if !pods.iter().all(|pod| has_port(pod, target)) {
                    violations.push(format!("{place}: no pod has {target}"));
                }
                // A headless Service knows only the pods' own ports.
                let own = &port["port"];
                let headless = service["spec"]["clusterIP"] == "None";
                if headless && !pods.iter().all(|pod| has_port(pod, own)) {
                    violations.push(format!("{place} is headless, and no pod has {own}"));
                }
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn budgets_and_scalers_select_one_workload_and_it_sets_no_replicas() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        for budget in render.of("PodDisruptionBudget") {
            let chosen = chosen(render, &budget["spec"]["selector"]);
            let lasting = chosen.iter().filter(|pod| pod.is_lasting()).count();
            if chosen.len() != 1 || lasting != 1 {
                violations.push(format!("{}: {}", render.name, title(budget)));
            }
        }
        for scaler in render.of("HorizontalPodAutoscaler") {
            let place = format!("{}: {}", render.name, title(scaler));
            let target = &scaler["spec"]["scaleTargetRef"];
            let Some(found) = render.find(text(&target["kind"]), text(&target["name"])) else {
                violations.push(format!("{place} scales nothing"));
                continue;
            };
            if found["apiVersion"] != target["apiVersion"] || !found["spec"]["replicas"].is_null() {
                violations.push(format!("{place} and {} disagree", title(found)));
            }
            let spec = &scaler["spec"];
            if number(&spec["minReplicas"]) > number(&spec["maxReplicas"]) {
                violations.push(format!("{place}: the fewest are more than the most"));
            }
            if !measures_what_is_requested(scaler, found) {
                violations.push(format!(
                    "{place}: no container requests what is measured of it"
                ));
            }
        }
    }
    assert_none(&violations);
}

/// A utilisation target is a share of the request, so the measured container must have one.
fn measures_what_is_requested(scaler: &Value, workload: &Value) -> bool {
    let containers = &workload["spec"]["template"]["spec"]["containers"];
    let mut metrics = list(&scaler["spec"]["metrics"]).peekable();
    metrics.peek().is_some()
        && metrics.all(|metric| {
            let measured = &metric["containerResource"];
            list(containers).any(|it| {
                let requests = &it["resources"]["requests"][text(&measured["name"])];
                it["name"] == measured["container"] && !requests.is_null()
            })
        })
}

#[test]
fn spread_is_over_a_workloads_own_pods() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        for pod in render.pods() {
            for spread in list(&pod.spec["topologySpreadConstraints"]) {
                let titles: Vec<String> = chosen(render, &spread["labelSelector"])
                    .iter()
                    .map(Pod::title)
                    .collect();
                if titles != [pod.title()] {
                    violations.push(format!("{}: {} over {titles:?}", render.name, pod.title()));
                }
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn a_policy_selects_existing_pods_and_ports() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        for policy in render.of("NetworkPolicy") {
            let place = format!("{}: {}", render.name, title(policy));
            let pods = chosen(render, &policy["spec"]["podSelector"]);
            if pods.is_empty() {
                violations.push(format!("{place} is of no pod"));
            }
            for rule in list(&policy["spec"]["ingress"]) {
                for port in list(&rule["ports"]).map(|it| &it["port"]) {
                    if !pods.iter().any(|pod| has_port(pod, port)) {
                        violations.push(format!("{place} opens {port}, which no pod has"));
                    }
                }
                for from in list(&rule["from"]).map(|peer| &peer["podSelector"]) {
                    let of_ours =
                        !text(&from["matchLabels"]["app.kubernetes.io/instance"]).is_empty();
                    if of_ours && chosen(render, from).is_empty() {
                        violations.push(format!("{place} lets nobody in: {from}"));
                    }
                }
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn routes_lead_to_existing_ports_of_services() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut seen = 0;
    for render in renders {
        let ingresses = render.of("Ingress").flat_map(|ingress| {
            let rules = list(&ingress["spec"]["rules"]);
            let paths = rules.flat_map(|rule| list(&rule["http"]["paths"]));
            paths.map(|path| {
                let service = &path["backend"]["service"];
                (&service["name"], &service["port"])
            })
        });
        let routes = render.of("HTTPRoute").flat_map(|route| {
            let rules = list(&route["spec"]["rules"]);
            let backends = rules.flat_map(|rule| list(&rule["backendRefs"]));
            backends.map(|backend| (&backend["name"], backend))
        });
        for (name, port) in ingresses.chain(routes) {
            seen += 1;
            let service = render.find("Service", text(name));
            let leads = service.is_some_and(|service| {
                list(&service["spec"]["ports"]).any(|served| {
                    served["port"] == port["number"]
                        || served["port"] == port["port"]
                        || (!port["name"].is_null()
                            && served["name"] == port["name"]
                            && port["port"].is_null())
                })
            });
            if !leads {
                violations.push(format!("{}: {name} {port} leads nowhere", render.name));
            }
        }
    }
    assert_none(&violations);
    assert!(seen >= 2, "values for CI make an Ingress and an HTTPRoute");
}

#[test]
fn prometheus_scrapes_admin_ports_of_gateways_and_workers() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut seen = 0;
    for render in renders {
        for monitor in render.of("ServiceMonitor") {
            seen += 1;
            let place = format!("{}: {}", render.name, title(monitor));
            let selector = &monitor["spec"]["selector"]["matchLabels"];
            let services: Vec<&Value> = render
                .of("Service")
                .filter(|it| has_all(selector, &pairs(&it["metadata"]["labels"])))
                .collect();
            let endpoints: Vec<&Value> = list(&monitor["spec"]["endpoints"]).collect();
            let serves = |service: &Value, endpoint: &Value| {
                list(&service["spec"]["ports"]).any(|port| port["name"] == endpoint["port"])
            };
            let unused = endpoints
                .iter()
                .filter(|endpoint| !services.iter().any(|it| serves(it, endpoint)));
            violations.extend(unused.map(|it| format!("{place}: no Service has {}", it["port"])));
            let left = services
                .iter()
                .filter(|service| !endpoints.iter().any(|it| serves(service, it)));
            violations.extend(left.map(|it| format!("{place} leaves {} out", title(it))));
            let mirrors = render
                .pods()
                .any(|pod| pod.running().any(|it| it.archway() == Some(vec!["sync"])));
            assert_eq!(endpoints.len(), 1 + usize::from(mirrors), "{place}");
            let scraped = |component: &str| {
                services.iter().any(|it| {
                    text(&it["spec"]["selector"]["app.kubernetes.io/component"]) == component
                })
            };
            if !scraped("gateway") || !scraped("worker") {
                violations.push(format!("{place} leaves gateways or workers out"));
            }
            let namespaces = list(&monitor["spec"]["namespaceSelector"]["matchNames"]);
            let elsewhere = namespaces.filter(|name| text(name) != NAMESPACE).count();
            if elsewhere > 0 {
                violations.push(format!("{place} looks elsewhere"));
            }
        }
    }
    assert_none(&violations);
    assert!(seen > 0, "values for CI make a ServiceMonitor");
}
