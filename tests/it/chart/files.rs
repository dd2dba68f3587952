//! Volumes and mounts: each has its counterpart, repositories are read-only, and each process sees the
//! secrets that it needs and no others.

use std::collections::BTreeSet;

use serde_json::Value;

use super::rendered::{Container, Pod, list, renders, text};
use crate::tidy::assert_none;

/// The mount of a container that holds a path. The longest match wins.
fn mount<'a>(container: Container<'a>, path: &str) -> Option<&'a Value> {
    let beneath = |mount: &&Value| {
        let at = text(&mount["mountPath"]);
        path == at || path.starts_with(&format!("{}/", at.trim_end_matches('/')))
    };
    let mounts = list(&container.0["volumeMounts"]).filter(beneath);
    mounts.max_by_key(|mount| text(&mount["mountPath"]).len())
}

fn volume<'a>(pod: &Pod<'a>, name: &str) -> Option<&'a Value> {
    let spec = pod.spec;
    list(&spec["volumes"]).find(|volume| text(&volume["name"]) == name)
}

fn own_claims<'a>(pod: &Pod<'a>) -> impl Iterator<Item = &'a str> {
    let claims = &pod.document["spec"]["volumeClaimTemplates"];
    list(claims).map(|claim| text(&claim["metadata"]["name"]))
}

#[test]
fn every_mount_has_its_volume_and_every_volume_is_mounted() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        for pod in render.pods() {
            let place = format!("{}: {}", render.name, pod.title());
            let volumes = list(&pod.spec["volumes"]).map(|volume| text(&volume["name"]));
            let volumes: BTreeSet<&str> = volumes.chain(own_claims(&pod)).collect();
            let mut mounted = BTreeSet::new();
            for container in pod.containers() {
                let paths = list(&container.0["volumeMounts"]).map(|it| text(&it["mountPath"]));
                let paths: Vec<&str> = paths.collect();
                let once: BTreeSet<&str> = paths.iter().copied().collect();
                if once.len() < paths.len() {
                    violations.push(format!("{place}: one of {paths:?} is there twice"));
                }
                mounted.extend(list(&container.0["volumeMounts"]).map(|it| text(&it["name"])));
            }
            let odd = volumes.symmetric_difference(&mounted);
            violations.extend(odd.map(|name| format!("{place}: {name}")));
        }
    }
    assert_none(&violations);
}

#[test]
fn every_configured_file_is_mounted_read_only() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut seen = 0;
    for render in renders {
        for pod in render.pods() {
            for container in pod.containers().filter(|it| it.archway().is_some()) {
                for path in told(container) {
                    seen += 1;
                    let place = format!("{}: {}: {path}", render.name, pod.title());
                    match mount(container, path) {
                        None => violations.push(format!("{place} is not mounted")),
                        Some(mount) if mount["readOnly"] != true => {
                            violations.push(format!("{place} may be written"));
                        }
                        Some(mount) if !is_there(&pod, mount, path) => {
                            violations.push(format!("{place} is no file of its volume"));
                        }
                        Some(_) => {}
                    }
                }
            }
        }
    }
    assert_none(&violations);
    assert!(seen > 0, "no process is given a file");
}

/// Files that a process is given by variable or argument.
fn told(container: Container<'_>) -> Vec<&str> {
    let variables = container.variables();
    let variables = variables.filter(|(name, _)| name.ends_with("_FILE"));
    let variables = variables.map(|(_, variable)| text(&variable["value"]));
    let arguments = container.archway().unwrap_or_default();
    let arguments = arguments.into_iter().filter_map(|argument| {
        let (option, value) = argument.split_once('=')?;
        (option.ends_with("-file") || option == "--file").then_some(value)
    });
    variables
        .chain(arguments)
        .chain(authority(container))
        .collect()
}

/// The certificate authority in the URL of a database.
fn authority(container: Container<'_>) -> Option<&str> {
    let mut variables = container.variables();
    let (_, url) = variables.find(|(name, _)| name.ends_with("DATABASE_URL"))?;
    let (_, rest) = text(&url["value"]).split_once("sslrootcert=")?;
    rest.split('&').next()
}

/// Whether a volume that lists its files lists this one.
fn is_there(pod: &Pod<'_>, mount: &Value, path: &str) -> bool {
    let volume = volume(pod, text(&mount["name"])).expect("every mount has its volume");
    let within = path.strip_prefix(text(&mount["mountPath"])).unwrap();
    let within = [text(&mount["subPath"]), within].concat();
    let within = within.trim_start_matches('/');
    let sources = list(&volume["projected"]["sources"]).chain([volume]);
    let items: Vec<&str> = sources
        .flat_map(|source| {
            list(&source["secret"]["items"]).chain(list(&source["configMap"]["items"]))
        })
        .map(|item| text(&item["path"]))
        .collect();
    items.is_empty() || items.contains(&within)
}

#[test]
fn every_database_client_mounts_the_authority_as_of_its_start() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut roles = BTreeSet::new();
    for render in renders {
        let private = render
            .pods()
            .any(|pod| volume(&pod, "database-ca").is_some());
        for pod in render.pods() {
            for container in pod.containers().filter(|_| private) {
                let connects = |(name, _): (&str, _)| name.ends_with("DATABASE_URL");
                if !container.variables().any(connects) {
                    continue;
                }
                let mounts = list(&container.0["volumeMounts"]);
                let mounted = mounts.filter(|mount| mount["name"] == "database-ca");
                if mounted.filter(|mount| mount["subPath"] == "ca.crt").count() != 1 {
                    violations.push(format!("{}: {}", render.name, pod.title()));
                }
                roles.insert(text(&container.0["name"]));
            }
        }
    }
    assert_none(&violations);
    let expected = [
        "apply", "archway", "gateway", "indexer", "migrate", "sync", "worker",
    ];
    assert!(roles.iter().eq(&expected), "{roles:?}");
}

#[test]
fn only_sync_can_write_into_repositories_and_gateways_do_not_see_them() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut seen = BTreeSet::new();
    for render in renders {
        for pod in render.pods() {
            let repositories: BTreeSet<&str> = pod
                .containers()
                .filter_map(|it| repositories(it))
                .flatten()
                .collect();
            for container in pod.containers().filter(|it| it.archway().is_some()) {
                let place = format!("{}: {}/{}", render.name, pod.title(), container.name());
                let role = container.archway().unwrap_or_default();
                let writes = role.first() == Some(&"sync");
                for mount in list(&container.0["volumeMounts"]) {
                    let is_one = repositories.contains(text(&mount["name"]));
                    seen.extend(is_one.then_some(writes));
                    if is_one && (mount["readOnly"] == true) == writes {
                        violations.push(format!("{place} mounts {mount}"));
                    }
                }
                if role.first() == Some(&"worker") && repositories.is_empty() {
                    violations.push(format!("{place} has no repositories"));
                }
            }
        }
    }
    assert_none(&violations);
    assert_eq!(seen.len(), 2, "values for CI have workers and mirrors");
}

#[test]
fn a_repository_claim_filled_from_outside_outlives_the_release() {
    let Some(renders) = renders() else { return };
    let label = "app.kubernetes.io/component";
    let mut seen = BTreeSet::new();
    for render in renders {
        let synced = render.pods().any(|pod| pod.labels()[label] == "sync");
        for claim in render.of("PersistentVolumeClaim") {
            let metadata = &claim["metadata"];
            if metadata["labels"][label] != "repositories" {
                continue;
            }
            let stays = metadata["annotations"]["helm.sh/resource-policy"] == "keep";
            assert_eq!(stays, !synced, "{}", render.name);
            seen.insert(stays);
        }
    }
    assert_eq!(seen.len(), 2, "values for CI have a claim of each kind");
}

/// The volumes of a worker's repositories.
fn repositories(container: Container<'_>) -> Option<impl Iterator<Item = &str>> {
    let repos = container.value("ARCHWAY_REPOS")?;
    let mounts = list(&container.0["volumeMounts"]);
    let beneath = mounts.filter(move |it| {
        let at = text(&it["mountPath"]);
        at == repos || at.starts_with(&format!("{repos}/"))
    });
    Some(beneath.map(|it| text(&it["name"])))
}

#[test]
fn only_volumes_are_writable_and_no_pod_has_a_token() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        for pod in render.pods() {
            let place = format!("{}: {}", render.name, pod.title());
            if pod.spec["automountServiceAccountToken"] != false {
                violations.push(format!("{place} has a token"));
            }
            if pod.spec["enableServiceLinks"] != false {
                violations.push(format!("{place} gets variables for all Services"));
            }
            let open = pod.containers().filter(|container| {
                container.0["securityContext"]["readOnlyRootFilesystem"] != true
            });
            violations.extend(open.map(|it| format!("{place}: {} can be written", it.name())));
            let unbounded = pod
                .containers()
                .filter(|container| container.0["resources"]["limits"]["memory"].is_null());
            violations.extend(unbounded.map(|it| format!("{place}: {} has all memory", it.name())));
            let volumes = list(&pod.spec["volumes"]);
            let endless = volumes
                .filter(|it| it["emptyDir"].is_object() && it["emptyDir"]["sizeLimit"].is_null());
            violations.extend(endless.map(|it| format!("{place}: {it} has no bound")));
        }
        let accounts = render.of("ServiceAccount");
        let trusting = accounts.filter(|it| it["automountServiceAccountToken"] != false);
        violations.extend(trusting.map(|_| format!("{}: the account gives a token", render.name)));
    }
    assert_none(&violations);
}
