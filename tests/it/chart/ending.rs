//! How pods start and stop: probes use ports that exist, and a pod has the time that its drain takes.

use serde_json::Value;

use super::rendered::{Container, Pod, list, number, renders, text};
use crate::tidy::assert_none;

const PROBES: [&str; 3] = ["startupProbe", "readinessProbe", "livenessProbe"];
/// Seconds that a drain takes beyond its delay and timeout: `cli/src/drain.rs`, "last words".
const LAST_WORDS: u64 = 2;

/// Seconds that a hook sleeps before the signal.
fn sleep(container: Container<'_>) -> u64 {
    number(&container.0["lifecycle"]["preStop"]["sleep"]["seconds"])
}

fn seconds(container: Container<'_>, variable: &str) -> u64 {
    let value = container.value(variable).unwrap_or_else(|| {
        panic!("{} does not say {variable}", container.name());
    });
    value.parse().expect("seconds")
}

/// The containers that are gateways or workers, or mirror repositories.
fn roles<'a>(pod: Pod<'a>) -> impl Iterator<Item = Container<'a>> {
    let is_role = |container: &Container<'_>| {
        let arguments = container.archway().unwrap_or_default();
        matches!(arguments.first(), Some(&("gateway" | "worker" | "sync")))
    };
    pod.running().filter(is_role)
}

#[test]
fn a_pod_has_more_time_to_end_than_its_drain_takes() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut seen = 0;
    for render in renders {
        for pod in render.pods() {
            for container in roles(pod) {
                seen += 1;
                let drain = seconds(container, "ARCHWAY_DRAIN_DELAY")
                    + seconds(container, "ARCHWAY_DRAIN_TIMEOUT");
                let needed = sleep(container) + drain + LAST_WORDS;
                let given = number(&pod.spec["terminationGracePeriodSeconds"]);
                if given <= needed {
                    violations.push(format!(
                        "{}: {} has {given} s and needs {needed}",
                        render.name,
                        pod.title()
                    ));
                }
            }
        }
    }
    assert_none(&violations);
    assert!(seen > 0, "no gateway and no worker was seen");
}

#[test]
fn roles_have_all_probes_on_ports_that_exist() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        for pod in render.pods() {
            for container in roles(pod) {
                let missing = PROBES.iter().filter(|probe| container.0[**probe].is_null());
                let missing =
                    missing.filter(|probe| !is_beside(pod, container) || **probe != PROBES[1]);
                violations.extend(missing.map(|probe| format!("{}: no {probe}", pod.title())));
            }
            for container in pod.containers() {
                let bad = PROBES.iter().filter_map(|probe| {
                    let wrong = wrong(container, &container.0[*probe])?;
                    Some(format!(
                        "{}: {}: {probe}: {wrong}",
                        render.name,
                        pod.title()
                    ))
                });
                violations.extend(bad);
            }
        }
    }
    assert_none(&violations);
}

/// What is wrong with a probe, if anything.
fn wrong(container: Container<'_>, probe: &Value) -> Option<String> {
    let port = [&probe["httpGet"], &probe["tcpSocket"], &probe["grpc"]]
        .into_iter()
        .find(|handler| !handler.is_null())?;
    let port = &port["port"];
    let named = container
        .ports()
        .any(|(_, name)| Some(name) == port.as_str());
    let numbered = container
        .ports()
        .any(|(number, _)| Some(number) == port.as_u64());
    if !named && !numbered {
        return Some(format!("no port {port}"));
    }
    // A gRPC probe takes no port name.
    if !probe["grpc"].is_null() && !port.is_u64() {
        return Some(format!("gRPC by the name {port}"));
    }
    if !probe["grpc"].is_null() && container.value("ARCHWAY_TLS_CERT_FILE").is_some() {
        return Some("the kubelet probes gRPC without TLS".to_owned());
    }
    let path = text(&probe["httpGet"]["path"]);
    let ours = container.archway().is_some() && !probe["httpGet"].is_null();
    (ours && !matches!(path, "/healthz" | "/readyz")).then(|| format!("no process answers {path}"))
}

/// Whether a container mirrors repositories beside a worker.
fn is_beside(pod: Pod<'_>, container: Container<'_>) -> bool {
    let mirrors = container.archway().unwrap_or_default() == ["sync"];
    mirrors && pod.labels()["app.kubernetes.io/component"] != "sync"
}

#[test]
fn a_workers_pod_waits_for_clones_once_and_for_no_remote_later() {
    let Some(renders) = renders() else { return };
    let mut seen = 0;
    for render in renders {
        for pod in render.pods() {
            let place = format!("{}: {}", render.name, pod.title());
            for container in pod.running().filter(|it| is_beside(pod, *it)) {
                seen += 1;
                let startup = &container.0["startupProbe"];
                assert_eq!(text(&startup["httpGet"]["path"]), "/readyz", "{place}");
                assert!(container.0["readinessProbe"].is_null(), "{place}");
                // Nobody ends a pod whose first clones take their time: each has a limit.
                let patience =
                    number(&startup["periodSeconds"]) * number(&startup["failureThreshold"]);
                assert!(patience >= 24 * 60 * 60, "{place}: {patience}");
                let progress = number(&pod.document["spec"]["progressDeadlineSeconds"]);
                let clone = seconds(container, "ARCHWAY_CLONE_TIMEOUT");
                assert!(progress >= clone, "{place}: {progress} < {clone}");
            }
        }
    }
    assert!(seen > 0, "values for CI mirror beside workers");
}

#[test]
fn liveness_does_not_depend_on_other_services() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        for container in render.pods().flat_map(|pod| roles(pod).collect::<Vec<_>>()) {
            let alive = text(&container.0["livenessProbe"]["httpGet"]["path"]);
            if alive == "/readyz" {
                violations.push(format!("{}: {}", render.name, container.name()));
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn ports_of_a_pod_are_those_that_its_process_listens_on() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        for pod in render.pods() {
            for container in roles(pod) {
                let listens = container
                    .variables()
                    .filter(|(name, _)| name.ends_with("_LISTEN"));
                let listens: Vec<u64> = listens
                    .map(|(_, variable)| text(&variable["value"]))
                    .filter(|address| *address != "off")
                    .map(|address| address.rsplit(':').next().unwrap().parse().expect("a port"))
                    .collect();
                let ports: Vec<u64> = container.ports().map(|(port, _)| port).collect();
                if listens != ports {
                    violations.push(format!(
                        "{}: {}: {ports:?}, {listens:?}",
                        render.name,
                        pod.title()
                    ));
                }
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn a_job_and_a_test_end_by_themselves() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        for pod in render.pods().filter(|pod| !pod.is_lasting()) {
            let place = format!("{}: {}", render.name, pod.title());
            let restart = text(&pod.spec["restartPolicy"]);
            // Restarted in place, a pod is deleted after its last failure, and its log with it.
            if restart != "Never" {
                violations.push(format!("{place} restarts {restart:?}"));
            }
            let job = &pod.document["spec"];
            let limits = [pod.spec, job, &job["jobTemplate"]["spec"]];
            if limits
                .iter()
                .all(|it| it["activeDeadlineSeconds"].is_null())
            {
                violations.push(format!("{place} may go on for ever"));
            }
            let went_on = list(&pod.spec["containers"]).any(|it| it["restartPolicy"] == "Always");
            assert!(!went_on, "{place}");
        }
    }
    assert_none(&violations);
}
