//! Secrets stay in Secrets: not in a `ConfigMap`, argument, annotation or plain variable, and each
//! process gets only its own.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::environment::secret_variables;
use super::rendered::{Pod, Render, list, pairs, renders, text, title};
use crate::tidy::assert_none;

/// Keys of Secrets that a role must not see, with the names by default and in `ci/passwords-values.yaml`.
const OF_OTHERS: [(&str, &[&str]); 3] = [
    (
        "worker",
        &[
            ALL,
            "secret",
            "pass.key",
            "gateway-url",
            "sync-url",
            "migrate-url",
            "owner",
            "gateway",
            "sync",
        ],
    ),
    (
        "gateway",
        &[
            ALL,
            "tls.key",
            "worker-url",
            "sync-url",
            "migrate-url",
            "worker-password",
            "gateway-password",
            "sync-password",
            "owner",
            "worker",
            "sync",
        ],
    ),
    (
        "sync",
        &[
            "secret",
            "pass.key",
            "pass.pub",
            "tls.key",
            "gateway-url",
            "worker-url",
            "migrate-url",
            "owner",
            "gateway",
            "worker",
        ],
    ),
];
/// What stands for the keys of a Secret that is mounted as a whole.
const ALL: &str = "all keys";
/// The volume of a Secret whose keys are named by sources and connections, so all are mounted.
const WHOLE: &str = "git-credentials";
/// Shorter values could occur by chance.
const SHORTEST: usize = 8;

/// All values in the Secrets of a render, passwords of URLs included.
fn secrets(render: &Render) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for secret in render.of("Secret") {
        let plain = pairs(&secret["stringData"]);
        found.extend(plain.values().map(|value| (*value).to_owned()));
        for value in pairs(&secret["data"]).values() {
            let bytes = STANDARD.decode(value).expect("base64");
            found.extend(String::from_utf8(bytes).ok());
        }
    }
    let passwords = found.iter().filter_map(|value| password(value));
    let passwords: Vec<String> = passwords.map(str::to_owned).collect();
    found.extend(passwords);
    found.retain(|value| value.len() >= SHORTEST);
    found
}

/// The password of a URL.
fn password(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let (account, _) = rest.split_once('@')?;
    account.split_once(':').map(|(_, password)| password)
}

#[test]
fn values_of_secrets_occur_nowhere_else() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut seen = 0;
    for render in renders {
        let secrets = secrets(render);
        seen += secrets.len();
        let others = render.documents.iter().filter(|it| it["kind"] != "Secret");
        for document in others {
            let written = document.to_string();
            let leaks = secrets
                .iter()
                .any(|secret| written.contains(secret.as_str()));
            if leaks {
                violations.push(format!("{}: {}", render.name, title(document)));
            }
        }
    }
    assert_none(&violations);
    assert!(seen > 0, "values for CI make a Secret");
}

#[test]
fn nothing_but_a_secret_has_a_url_with_a_password_or_a_key() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    for render in renders {
        for document in render.documents.iter().filter(|it| it["kind"] != "Secret") {
            for word in words(document) {
                if password(word).is_some() || word.starts_with("awy_") {
                    violations.push(format!("{}: {}: {word}", render.name, title(document)));
                }
            }
        }
    }
    assert_none(&violations);
}

/// All words in a document's texts.
fn words(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => text.split_whitespace().collect(),
        Value::Array(items) => items.iter().flat_map(words).collect(),
        Value::Object(fields) => fields.values().flat_map(words).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn hidden_options_get_their_values_from_secrets() {
    let Some(renders) = renders() else { return };
    let hidden = secret_variables();
    let mut violations = Vec::new();
    let mut seen = BTreeSet::new();
    for render in renders {
        for pod in render.pods() {
            for container in pod.containers() {
                for (name, variable) in container.variables() {
                    if !hidden.contains(name) {
                        continue;
                    }
                    seen.insert(name);
                    if variable["valueFrom"]["secretKeyRef"].is_null() && !is_open(name, variable) {
                        violations.push(format!("{}: {}: {name}", render.name, pod.title()));
                    }
                }
            }
        }
    }
    assert_none(&violations);
    assert!(seen.len() >= 3, "{seen:?}");
}

/// Whether a variable is a URL that needs a password and does not contain it.
fn is_open(name: &str, variable: &Value) -> bool {
    let address = text(&variable["value"]);
    name.ends_with("_URL") && address.contains("://") && password(address).is_none()
}

/// Keys of Secrets that a pod's containers see, by variable or as a mounted file.
fn keys<'a>(pod: &Pod<'a>, role: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let ours = |it: &super::rendered::Container<'_>| {
        it.archway().unwrap_or_default().first().copied() == Some(role)
    };
    let spec = pod.spec;
    let volumes: BTreeMap<&str, &Value> = list(&spec["volumes"])
        .map(|volume| (text(&volume["name"]), &volume["secret"]))
        .collect();
    for container in pod.containers().filter(ours) {
        let variables = container.variables();
        let references = variables.map(|(_, it)| text(&it["valueFrom"]["secretKeyRef"]["key"]));
        found.extend(references.filter(|key| !key.is_empty()));
        for mount in list(&container.0["volumeMounts"]) {
            let secret = volumes.get(text(&mount["name"])).copied();
            let secret = secret.unwrap_or(&Value::Null);
            found.extend(list(&secret["items"]).map(|it| text(&it["key"])));
            found.extend((secret.is_object() && secret["items"].is_null()).then_some(ALL));
        }
    }
    found
}

#[test]
fn each_role_sees_its_own_secrets_alone() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut seen = BTreeSet::new();
    for render in renders {
        for pod in render.pods() {
            for (role, others) in OF_OTHERS {
                let keys = keys(&pod, role);
                seen.extend(keys.iter().copied());
                let wrong = others.iter().filter(|key| keys.contains(*key));
                let place = format!("{}: {}: the {role}", render.name, pod.title());
                violations.extend(wrong.map(|key| format!("{place} sees {key}")));
            }
        }
    }
    assert_none(&violations);
    for key in [
        "secret",
        "pass.key",
        "pass.pub",
        "gateway-url",
        "worker-url",
        "sync-url",
        ALL,
    ] {
        assert!(seen.contains(key), "no pod sees {key}: {seen:?}");
    }
}

#[test]
fn whole_secrets_are_mounted_for_git_alone_and_are_no_variables() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut seen = 0;
    for render in renders {
        for pod in render.pods() {
            let place = format!("{}: {}", render.name, pod.title());
            let is_whole =
                |it: &&Value| it["secret"].is_object() && it["secret"]["items"].is_null();
            for volume in list(&pod.spec["volumes"]).filter(is_whole) {
                seen += 1;
                // Its files are the user's and the group's alone, or `archway sync` warns.
                // The parser reads 0440 as a decimal number.
                if volume["name"] != WHOLE || volume["secret"]["defaultMode"] != 440.0 {
                    violations.push(format!("{place} mounts all of {volume}"));
                }
            }
            let pouring = pod.containers().filter(|it| !it.0["envFrom"].is_null());
            violations.extend(pouring.map(|it| format!("{place}: {} has envFrom", it.name())));
        }
    }
    assert_none(&violations);
    assert!(seen > 0, "values for CI have credentials for git");
}

#[test]
fn pods_are_replaced_when_what_the_chart_makes_for_them_changes() {
    let Some(renders) = renders() else { return };
    let mut violations = Vec::new();
    let mut seen = 0;
    for render in renders {
        for pod in render.pods().filter(Pod::is_lasting) {
            let made = made_for(render, &pod);
            seen += made.len();
            let annotations = pairs(&pod.metadata["annotations"]);
            let sums = annotations
                .keys()
                .filter(|name| name.starts_with("checksum/"));
            if !made.is_empty() && sums.count() == 0 {
                violations.push(format!("{}: {}: {made:?}", render.name, pod.title()));
            }
        }
    }
    assert_none(&violations);
    assert!(seen > 0, "no pod uses what the chart makes");
}

/// Secrets and `ConfigMap`s of the render that a pod uses.
fn made_for(render: &Render, pod: &Pod<'_>) -> BTreeSet<String> {
    let volumes = list(&pod.spec["volumes"]);
    let mounted = volumes.flat_map(|volume| {
        let secret = ("Secret", text(&volume["secret"]["secretName"]));
        [secret, ("ConfigMap", text(&volume["configMap"]["name"]))]
    });
    let containers: Vec<_> = pod.containers().collect();
    let variables = containers.iter().flat_map(|it| it.variables());
    let variables = variables.flat_map(|(_, variable)| {
        let source = &variable["valueFrom"];
        let secret = ("Secret", text(&source["secretKeyRef"]["name"]));
        [
            secret,
            ("ConfigMap", text(&source["configMapKeyRef"]["name"])),
        ]
    });
    let used = mounted.chain(variables);
    used.filter(|(kind, name)| render.find(kind, name).is_some())
        .map(|(kind, name)| format!("{kind}/{name}"))
        .collect()
}
