//! Commands of administration: the Job that runs one has exactly what the Job that applies tenants has,
//! and runs once, on request.

use serde_json::{Value, json};

use super::rendered::{Container, Pod, Render, is_selected, list, renders, text, title};
use crate::tidy::assert_none;

/// The controller appends eleven characters to the name of a `CronJob`.
const LONGEST: usize = 52;
/// The parts of a pod that all pods of administration share.
const OF_PODS: [&str; 8] = [
    "serviceAccountName",
    "automountServiceAccountToken",
    "enableServiceLinks",
    "securityContext",
    "imagePullSecrets",
    "nodeSelector",
    "tolerations",
    "hostNetwork",
];
const OF_CONTAINERS: [&str; 3] = ["image", "imagePullPolicy", "securityContext"];

/// The pod template of a component of the release.
fn pod<'a>(render: &'a Render, component: &str) -> Option<Pod<'a>> {
    render
        .pods()
        .find(|pod| pod.labels().get("app.kubernetes.io/component") == Some(&component))
}

fn container<'a>(pod: &Pod<'a>) -> Container<'a> {
    pod.running().next().expect("a pod has a container")
}

/// Entries of a list that are missing in another.
fn lacking<'a>(these: &'a Value, those: &Value) -> Vec<&'a Value> {
    let has = |entry: &&Value| list(those).any(|it| it == *entry);
    list(these).filter(|entry| !has(entry)).collect()
}

#[test]
fn an_admin_job_equals_the_apply_job_without_the_tenants() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut seen = 0;
    for render in renders {
        let (Some(admin), Some(tenants)) = (pod(render, "admin"), pod(render, "tenants")) else {
            continue;
        };
        seen += 1;
        let (ours, theirs) = (container(&admin), container(&tenants));
        let of_pods = OF_PODS.map(|it| (it, admin.spec[it] == tenants.spec[it]));
        let of_containers = OF_CONTAINERS.map(|it| (it, ours.0[it] == theirs.0[it]));
        let differ = of_pods.into_iter().chain(of_containers);
        let differ = differ.filter(|(_, same)| !same).map(|(what, _)| what);
        violations.extend(differ.map(|what| format!("{}: {what}", render.name)));
        for what in ["env", "volumeMounts"] {
            let more = lacking(&ours.0[what], &theirs.0[what]);
            violations.extend(
                more.iter()
                    .map(|it| format!("{}: {what} {it}", render.name)),
            );
            let less = lacking(&theirs.0[what], &ours.0[what]).into_iter();
            let less = less
                .map(|it| text(&it["name"]))
                .filter(|it| !is_of_tenants(it));
            violations.extend(less.map(|it| format!("{}: no {what} {it}", render.name)));
        }
        let more = lacking(&admin.spec["volumes"], &tenants.spec["volumes"]);
        violations.extend(more.iter().map(|it| format!("{}: {it}", render.name)));
    }
    assert_none(&violations);
    assert!(seen > 4, "values for CI have both: {seen}");
}

/// A tenant's keys, the file of tenants, and the log settings of unattended jobs.
fn is_of_tenants(name: &str) -> bool {
    name.starts_with("TENANT_KEY_")
        || ["tenants", "ARCHWAY_LOG", "ARCHWAY_LOG_FORMAT"].contains(&name)
}

#[test]
fn an_admin_job_runs_once_on_request() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut seen = 0;
    for render in renders {
        for found in render.of("CronJob") {
            seen += 1;
            let (spec, job) = (&found["spec"], &found["spec"]["jobTemplate"]["spec"]);
            let holds = [
                ("suspended", spec["suspend"] == true),
                (
                    "kept when it succeeded",
                    spec["successfulJobsHistoryLimit"] != 0,
                ),
                ("kept when it failed", spec["failedJobsHistoryLimit"] != 0),
                ("not tried again", job["backoffLimit"] == 0),
                (
                    "not replaced while it runs",
                    job["podReplacementPolicy"] == "Failed",
                ),
                (
                    "not restarted",
                    job["template"]["spec"]["restartPolicy"] == "Never",
                ),
                ("cleaned up", job["ttlSecondsAfterFinished"].is_u64()),
                ("short", text(&found["metadata"]["name"]).len() <= LONGEST),
            ];
            let missing = holds.iter().filter(|(_, holds)| !holds);
            violations.extend(
                missing.map(|(what, _)| format!("{}: {} is not {what}", render.name, title(found))),
            );
        }
    }
    assert_none(&violations);
    assert!(seen > 4, "values for CI have it: {seen}");
}

/// The policies that select a pod, or that name it as a peer.
fn policies<'a>(render: &'a Render, pod: Pod<'a>, way: &'a str) -> impl Iterator<Item = &'a Value> {
    render
        .of("NetworkPolicy")
        .map(|policy| &policy["spec"])
        .filter(move |spec| {
            let is_of = list(&spec["policyTypes"]).any(|it| it == way);
            is_of && is_selected(&spec["podSelector"], &pod.labels())
        })
}

/// Whether a rule allows a port and a pod.
fn opens(rule: &Value, port: u64, peers: &str, pod: &Pod<'_>) -> bool {
    let port = list(&rule["ports"]).any(|it| it["port"] == port);
    let selectors = list(&rule[peers]).map(|peer| &peer["podSelector"]);
    port && selectors
        .filter(|it| it.is_object())
        .any(|it| is_selected(it, &pod.labels()))
}

#[test]
fn it_reaches_the_admin_ports_of_gateways_and_workers() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let (mut entered, mut left) = (0, 0);
    for render in renders {
        let Some(admin) = pod(render, "admin") else {
            continue;
        };
        let out: Vec<&Value> = policies(render, admin, "Egress").collect();
        for role in render.pods().filter(Pod::is_lasting) {
            let mut ports = container(&role).ports();
            let Some((port, _)) = ports.find(|(_, name)| *name == "admin") else {
                continue;
            };
            let place = format!("{}: {}", render.name, role.title());
            let mut ingress = policies(render, role, "Ingress").peekable();
            if ingress.peek().is_some() {
                entered += 1;
                let enters = ingress
                    .any(|it| list(&it["ingress"]).any(|it| opens(it, port, "from", &admin)));
                violations.extend((!enters).then(|| format!("{place} does not let it in")));
            }
            if !out.is_empty() {
                left += 1;
                let leaves = out
                    .iter()
                    .any(|it| list(&it["egress"]).any(|it| opens(it, port, "to", &role)));
                violations.extend((!leaves).then(|| format!("{place} is out of its reach")));
            }
        }
    }
    assert_none(&violations);
    assert!(entered > 4 && left > 2, "{entered} {left}");
}

#[test]
fn without_administration_the_chart_has_no_objects_for_it() {
    let Some(renders) = renders() else { return };
    let without: Vec<&Render> = renders
        .iter()
        .filter(|it| pod(it, "admin").is_none())
        .collect();
    assert!(!without.is_empty(), "values for CI leave it out");
    let label = json!("admin");
    for render in without {
        for policy in render.of("NetworkPolicy") {
            assert!(
                !holds(&policy["spec"]["ingress"], &label),
                "{}: {policy}",
                render.name
            );
        }
    }
}

/// Whether a value mentions a component of the release.
fn holds(value: &Value, component: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|it| holds(it, component)),
        Value::Object(fields) => fields.iter().any(|(name, it)| {
            (name == "app.kubernetes.io/component" && it == component) || holds(it, component)
        }),
        _ => false,
    }
}
