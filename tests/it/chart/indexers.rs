//! Indexers beside a pool's workers: with their own counts, budgets and placement, where values say so.

use std::collections::BTreeSet;

use serde_json::Value;

use super::rendered::{Pod, Render, has_all, list, pairs, renders, text};

/// Settings of placement, without the spread, which is over the pods of one kind.
const PLACEMENT: [&str; 4] = [
    "nodeSelector",
    "tolerations",
    "affinity",
    "priorityClassName",
];
/// Values with indexers in two pools: in `shared` with every setting, in `gold` with none.
const CASE: &str = "indexers";

fn of_component<'a>(render: &'a Render, component: &str) -> Vec<Pod<'a>> {
    let is_one = |pod: &Pod<'_>| pod.labels()["app.kubernetes.io/component"] == component;
    render.pods().filter(is_one).collect()
}

/// The pods of a pool, by component.
fn pod<'a>(render: &'a Render, component: &str, pool: &str) -> Pod<'a> {
    let mut pods = of_component(render, component).into_iter();
    let found = pods.find(|pod| pod.labels()["archway.io/pool"] == pool);
    found.expect("the values have that pool")
}

fn case() -> Option<&'static Render> {
    let mut renders = renders()?.iter();
    Some(renders.find(|it| it.name == CASE).expect("values for CI"))
}

#[test]
fn indexers_have_one_budget_and_one_scaler_or_a_number() {
    let Some(renders) = renders() else { return };
    let mut seen = BTreeSet::new();
    for render in renders {
        for pod in of_component(render, "indexer") {
            let place = format!("{}: {}", render.name, pod.title());
            let budgets = render.of("PodDisruptionBudget").filter(|budget| {
                has_all(&budget["spec"]["selector"]["matchLabels"], &pod.labels())
            });
            assert_eq!(budgets.count(), 1, "{place}");
            let name = &pod.document["metadata"]["name"];
            let scalers = render
                .of("HorizontalPodAutoscaler")
                .filter(|scaler| scaler["spec"]["scaleTargetRef"]["name"] == *name);
            let scalers = scalers.count();
            let counted = usize::from(!pod.document["spec"]["replicas"].is_null());
            assert_eq!(scalers + counted, 1, "{place}");
            seen.insert(scalers);
        }
    }
    assert_eq!(seen.len(), 2, "values for CI have scaled and counted ones");
}

#[test]
fn pools_and_their_indexers_have_scalers_of_their_own() {
    let Some(render) = case() else { return };
    let bounds = |name: &str| {
        let spec = &render.find("HorizontalPodAutoscaler", name).unwrap()["spec"];
        let target = &spec["metrics"][0]["containerResource"]["target"]["averageUtilization"];
        [&spec["minReplicas"], &spec["maxReplicas"], target].map(|it| it.as_u64().unwrap())
    };
    assert_eq!(bounds("archway-worker-shared"), [2, 8, 70]);
    assert_eq!(bounds("archway-indexer-shared"), [2, 6, 90]);
    let away = |name: &str| {
        let budget = render.find("PodDisruptionBudget", name).unwrap();
        budget["spec"]["maxUnavailable"].to_string()
    };
    assert_eq!(away("archway-worker-shared"), "1");
    assert_eq!(away("archway-indexer-shared"), r#""50%""#);
}

#[test]
fn indexers_use_their_own_placement_or_their_pools() {
    let Some(render) = case() else { return };
    let keys = |pod: Pod<'_>| -> Vec<String> {
        let spread = list(&pod.spec["topologySpreadConstraints"]);
        spread.map(|it| it["topologyKey"].to_string()).collect()
    };
    let [workers, indexers] = ["worker", "indexer"].map(|it| pod(render, it, "gold"));
    for field in PLACEMENT {
        assert_eq!(indexers.spec[field], workers.spec[field], "{field}");
    }
    assert_eq!(keys(indexers), keys(workers));
    let [workers, indexers] = ["worker", "indexer"].map(|it| pod(render, it, "shared"));
    for field in PLACEMENT {
        assert_ne!(indexers.spec[field], workers.spec[field], "{field}");
    }
    assert_ne!(keys(indexers), keys(workers));
    // Instead of the pool's, not in addition.
    let nodes = pairs(&indexers.spec["nodeSelector"]);
    assert_eq!(nodes.into_iter().collect::<Vec<_>>(), [("pool", "batch")]);
    let stood: Vec<&Value> = list(&indexers.spec["tolerations"]).collect();
    assert_eq!(stood.len(), 1);
    assert_eq!(text(&stood[0]["key"]), "batch");
}
