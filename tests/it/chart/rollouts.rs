//! How pods are replaced: none ends before another is ready unless values say so, and a changed
//! configuration replaces its pods when values say that it changed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::rendered::{Pod, RELEASE, Render, folder, number, render, renders};

/// The render with this name in the values for CI.
fn case(name: &str) -> Option<&'static Render> {
    let mut renders = renders()?.iter();
    Some(renders.find(|it| it.name == name).expect("values for CI"))
}

fn strategy<'a>(render: &'a Render, name: &str) -> &'a Value {
    let deployment = render.find("Deployment", name).expect("the values make it");
    &deployment["spec"]["strategy"]
}

#[test]
fn by_default_no_gateway_and_no_worker_ends_before_a_new_one_is_ready() {
    let Some(render) = case("minimal") else {
        return;
    };
    let wanted =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}});
    for name in ["archway-gateway", "archway-worker-shared"] {
        let replicas = &render.find("Deployment", name).unwrap()["spec"]["replicas"];
        assert_eq!(*replicas, 2, "{name}");
        assert_eq!(*strategy(render, name), wanted, "{name}");
    }
}

/// Seconds between a gateway's lookups of its workers (`gateway/src/dns.rs`), plus the default DNS
/// cache time of a cluster.
const HEARD_OF: u64 = 5 + 5;

#[test]
fn by_default_workers_are_replaced_slower_than_gateways_notice() {
    let Some(renders) = renders() else { return };
    let mut seen = 0;
    for render in renders {
        for worker in render.pods().filter(Pod::is_lasting) {
            let component = worker.labels()["app.kubernetes.io/component"];
            let waits = number(&worker.document["spec"]["minReadySeconds"]);
            let enough = component != "worker" || waits >= HEARD_OF;
            assert!(enough, "{}: {}: {waits}", render.name, worker.title());
            seen += usize::from(component == "worker");
        }
    }
    assert!(seen > 0, "values for CI make workers");
}

#[test]
fn pods_are_replaced_as_values_say_by_role_and_by_pool() {
    let Some(render) = case("indexers") else {
        return;
    };
    let gateways = json!({"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "25%"}});
    assert_eq!(*strategy(render, "archway-gateway"), gateways);
    let workers =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 2}});
    for name in ["worker-shared", "indexer-shared", "worker-silver"] {
        let name = format!("archway-{name}");
        assert_eq!(*strategy(render, &name), workers, "{name}");
    }
    for name in ["archway-worker-gold", "archway-indexer-gold"] {
        assert_eq!(*strategy(render, name), json!({"type": "Recreate"}));
    }
}

/// The pod template of each Deployment, with values for CI and one more value.
fn templates(case: &str, value: &str) -> BTreeMap<String, Value> {
    let file = folder().join(format!("ci/{case}-values.yaml"));
    let arguments = ["--values", file.to_str().unwrap(), "--set", value];
    let documents = render(RELEASE, &arguments);
    let name = case.to_owned();
    let render = Render { name, documents };
    let lasting = render.pods().filter(Pod::is_lasting);
    let made = lasting.map(|pod| (pod.title(), pod.document["spec"]["template"].clone()));
    made.collect()
}

/// Names of the templates that differ.
fn changed(old: &BTreeMap<String, Value>, new: &BTreeMap<String, Value>) -> BTreeSet<String> {
    let differ = new.iter().filter(|(name, made)| old[*name] != **made);
    differ.map(|(name, _)| name.clone()).collect()
}

#[test]
fn a_changed_dependency_replaces_only_the_pods_that_read_it() {
    if renders().is_none() {
        return;
    }
    // With the number of Deployments that read each.
    let read = [
        ("production", "archway-credentials", 4),
        ("production", "git-credentials", 1),
        ("production", "postgres-authority", 5),
        ("production", "archway-limits", 1),
        ("production", "archway-embedder", 3),
        ("production", "authorities", 4),
        ("sync", "git-credentials", 3),
    ];
    for (case, name, readers) in read {
        let before = templates(case, &format!("restartOn.{name}=1"));
        let after = templates(case, &format!("restartOn.{name}=2"));
        let quoted = format!("\"{name}\"");
        let reads = before
            .iter()
            .filter(|(_, made)| made["spec"].to_string().contains(&quoted));
        let reads: BTreeSet<String> = reads.map(|(title, _)| title.clone()).collect();
        assert_eq!(reads.len(), readers, "{case}: {name}: {reads:?}");
        assert_eq!(changed(&before, &after), reads, "{case}: {name}");
    }
}
