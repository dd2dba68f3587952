//! Names and labels: within a cluster's limits, and unique.

use std::collections::BTreeSet;

use super::rendered::{Pod, Render, list, pairs, renders, text, title};
use crate::tidy::assert_none;

/// The longest label, and name that becomes a host name, in characters.
const LONGEST: usize = 63;
/// The longest name of a port.
const LONGEST_OF_PORTS: usize = 15;
/// Kubernetes' recommended labels, on every object. Pods have only the first three: the others, such as a
/// version, would replace pods at each upgrade.
const RECOMMENDED: [&str; 5] = [
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/component",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/managed-by",
];
const OF_PODS: usize = 3;

fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let ends = name.starts_with('-') || name.ends_with('-');
    (1..=LONGEST).contains(&name.len()) && name.chars().all(allowed) && !ends
}

#[test]
fn every_name_is_a_unique_valid_host_name() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        let mut seen = BTreeSet::new();
        for document in &render.documents {
            let title = title(document);
            if !is_name(text(&document["metadata"]["name"])) {
                violations.push(format!("{}: {title} is no name", render.name));
            }
            if !seen.insert(title.clone()) {
                violations.push(format!("{}: {title} occurs twice", render.name));
            }
        }
        let names = render.pods().flat_map(names_within);
        let bad = names.filter(|name| !is_name(name));
        violations.extend(bad.map(|name| format!("{}: {name}", render.name)));
    }
    assert_none(&violations);
}

/// The names within a pod.
fn names_within(pod: Pod<'_>) -> Vec<&str> {
    let containers = pod.containers().map(|container| container.name());
    let volumes = list(&pod.spec["volumes"]).map(|volume| text(&volume["name"]));
    containers.chain(volumes).collect()
}

#[test]
fn names_within_a_pod_are_unique_and_port_names_short() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        for pod in render.pods() {
            let place = format!("{}: {}", render.name, pod.title());
            let volumes: Vec<&str> = list(&pod.spec["volumes"])
                .map(|volume| text(&volume["name"]))
                .collect();
            let containers: Vec<&str> = pod.containers().map(|it| it.name()).collect();
            let ports: Vec<&str> = pod
                .containers()
                .flat_map(|it| it.ports().map(|(_, name)| name).collect::<Vec<_>>())
                .collect();
            for names in [volumes, containers, ports.clone()] {
                let once: BTreeSet<&str> = names.iter().copied().collect();
                if once.len() < names.len() {
                    violations.push(format!("{place}: one of {names:?} is there twice"));
                }
            }
            let long = ports.iter().filter(|name| name.len() > LONGEST_OF_PORTS);
            violations.extend(long.map(|name| format!("{place}: port {name}")));
            for container in pod.containers() {
                let variables: Vec<&str> = container.variables().map(|(name, _)| name).collect();
                let once: BTreeSet<&str> = variables.iter().copied().collect();
                if once.len() < variables.len() {
                    violations.push(format!("{place}: a variable is set twice: {variables:?}"));
                }
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn every_object_and_pod_has_the_recommended_labels_in_valid_words() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        let objects = render.documents.iter();
        let objects = objects.map(|it| (title(it), &it["metadata"], &RECOMMENDED[..]));
        let pods = render.pods().map(|pod| {
            let title = format!("a pod of {}", pod.title());
            (title, pod.metadata, &RECOMMENDED[..OF_PODS])
        });
        for (title, metadata, wanted) in objects.chain(pods) {
            let labels = pairs(&metadata["labels"]);
            let missing = wanted.iter().filter(|name| !labels.contains_key(*name));
            violations.extend(missing.map(|name| format!("{}: {title} lacks {name}", render.name)));
            let bad = labels.iter().filter(|(_, value)| !is_value(value));
            violations.extend(bad.map(|bad| format!("{}: {title}: {bad:?}", render.name)));
        }
    }
    assert_none(&violations);
}

fn is_value(value: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    let inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let ends = edge(value.chars().next()) && edge(value.chars().last());
    value.len() <= LONGEST && value.chars().all(inner) && ends
}

#[test]
fn every_image_has_a_tag_or_a_digest_and_none_is_the_latest() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for Render { name, .. } in renders.iter().filter(|render| render.pods().count() == 0) {
        violations.push(format!("{name} makes no pod"));
    }
    for render in renders {
        for pod in render.pods() {
            for container in pod.containers() {
                let image = text(&container.0["image"]);
                if !is_pinned(image) {
                    violations.push(format!("{}: {}: {image}", render.name, pod.title()));
                }
            }
        }
    }
    assert_none(&violations);
}

fn is_pinned(image: &str) -> bool {
    if let Some((_, digest)) = image.split_once("@sha256:") {
        return digest.len() == 64 && digest.chars().all(|c| c.is_ascii_hexdigit());
    }
    let last = image.rsplit('/').next().unwrap_or_default();
    let tag = last.split_once(':').map(|(_, tag)| tag);
    tag.is_some_and(|tag| !tag.is_empty() && tag != "latest")
}

#[test]
fn pinned_images_and_mere_names_are_distinguished() {
    let digest = "a".repeat(64);
    assert!(is_pinned("host:5000/archway:1.0"));
    assert!(is_pinned(&format!("archway@sha256:{digest}")));
    for image in [
        "archway",
        "host:5000/archway",
        "archway:latest",
        "archway:",
        "a@sha256:1",
    ] {
        assert!(!is_pinned(image), "{image}");
    }
    assert!(is_name("a-1") && !is_name("-a") && !is_name("A") && !is_name(&"a".repeat(64)));
    assert!(is_value("") && is_value("a_b.C") && !is_value("a-") && !is_value("a b"));
}
