//! `docker-compose.yml` and the Dockerfile, as far as no container is needed: privileges of each service,
//! who holds which secret, who reaches whom, and that every name they or the monitoring files use exists.
//! `tests/image/run` starts them, except for monitoring.

mod image;
mod networks;
mod observability;

use std::{collections::BTreeMap, fs};

use archway::command::CommandLine;
use clap::{Command, CommandFactory};
use serde_json::{Map, Value, json};

use crate::tidy::{assert_none, root};

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn compose() -> Value {
    serde_saphyr::from_str(&read("docker-compose.yml")).expect("YAML")
}

/// Each service by name.
fn services() -> BTreeMap<String, Value> {
    let services = compose()["services"].as_object().cloned();
    services.expect("services").into_iter().collect()
}

fn texts(list: &Value) -> Vec<&str> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

/// A mount of a service: its source, its target, and whether it is writable.
struct Mount {
    source: String,
    target: String,
    is_written: bool,
}

fn mounts(service: &Value) -> Vec<Mount> {
    let volumes = service["volumes"].as_array().into_iter().flatten();
    let mount = |volume: &Value| match volume.as_str() {
        Some(short) => {
            let parts: Vec<&str> = short.split(':').collect();
            Mount {
                source: parts[0].to_owned(),
                target: parts[1].to_owned(),
                is_written: parts.get(2) != Some(&"ro"),
            }
        }
        None => Mount {
            source: volume["source"].as_str().unwrap().to_owned(),
            target: volume["target"].as_str().unwrap().to_owned(),
            is_written: volume["read_only"] != true,
        },
    };
    volumes.map(mount).collect()
}

fn environment(service: &Value) -> Map<String, Value> {
    service["environment"]
        .as_object()
        .cloned()
        .unwrap_or_default()
}

fn is_ours(service: &Value) -> bool {
    service["build"] == "."
}

#[test]
fn no_service_can_write_its_root_gain_rights_or_take_the_hosts_memory() {
    let mut violations = Vec::new();
    for (name, service) in services() {
        let wanted = [
            ("read_only", json!(true)),
            ("cap_drop", json!(["ALL"])),
            ("security_opt", json!(["no-new-privileges:true"])),
        ];
        let wrong = wanted.iter().filter(|(key, value)| service[key] != *value);
        violations.extend(wrong.map(|(key, value)| format!("{name}: {key} is not {value}")));
        for bound in ["mem_limit", "pids_limit"] {
            if service[bound].is_null() {
                violations.push(format!("{name} has no {bound}"));
            }
        }
        let freed = [
            "privileged",
            "cap_add",
            "pid",
            "ipc",
            "userns_mode",
            "devices",
        ];
        let freed = freed.iter().filter(|key| !service[key].is_null());
        violations.extend(freed.map(|key| format!("{name} has {key}")));
        if service["network_mode"] != Value::Null && service["network_mode"] != "none" {
            violations.push(format!("{name} is in another network"));
        }
    }
    assert_none(&violations);
}

#[test]
fn each_service_says_whether_it_is_well_or_why_it_can_not() {
    let mut violations = Vec::new();
    for (name, service) in services() {
        let check = &service["healthcheck"];
        let reason = service["x-no-healthcheck"].as_str();
        // Our own image defines its health check.
        let is_checked = match check["disable"] == true {
            true => false,
            false => is_ours(&service) || texts(&check["test"]).first() == Some(&"CMD"),
        };
        if is_checked == reason.is_some() {
            violations.push(format!("{name}: a check, or a reason for none"));
        }
    }
    assert_none(&violations);
}

#[test]
fn every_image_has_one_version_and_foreign_ones_are_pinned_by_digest() {
    let mut violations = Vec::new();
    for (name, service) in services() {
        let image = service["image"].as_str().unwrap_or_default();
        if is_ours(&service) {
            let ours = format!("${{ARCHWAY_IMAGE:-archway:{}}}", env!("CARGO_PKG_VERSION"));
            assert_eq!(image, ours, "{name}");
            continue;
        }
        let (image, digest) = image.split_once("@sha256:").unwrap_or((image, ""));
        if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            violations.push(format!("{name}: {image} has no digest"));
        }
        let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
        let version = tag.trim_start_matches('v').split('-').next().unwrap();
        let numbers = version
            .split('.')
            .filter(|part| part.parse::<u32>().is_ok());
        if numbers.count() < 2 {
            violations.push(format!("{name}: {image} is of no version"));
        }
    }
    assert_none(&violations);
}

#[test]
fn the_compose_file_has_no_secret_in_text_or_variable() {
    let mut violations = Vec::new();
    for (name, service) in services() {
        for (variable, value) in environment(&service) {
            let value = value.as_str().unwrap_or_default();
            let words = ["PASSWORD", "SECRET", "TOKEN", "_KEY"];
            let names_one = words.iter().any(|word| variable.contains(word));
            if names_one && !variable.ends_with("_FILE") {
                violations.push(format!("{name}: {variable}"));
            }
            let authority = value.split_once("://").map_or("", |(_, rest)| rest);
            let role = authority.split_once('@').map_or("", |(role, _)| role);
            if role.contains(':') {
                violations.push(format!("{name}: a password in {variable}"));
            }
        }
    }
    // An option whose name looks like a secret.
    violations.retain(|it| !it.contains("GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION"));
    assert_none(&violations);
    for path in ["docker-compose.yml", "deploy/compose/tenants.yaml"] {
        assert!(!read(path).contains("awy_"), "{path}");
    }
}

#[test]
fn each_service_gets_only_the_secrets_it_needs_and_only_init_writes() {
    let holders = |volume: &str| -> Vec<String> {
        let holds = |service: &Value| mounts(service).iter().any(|it| it.source == volume);
        let holders = services().into_iter().filter(|(_, service)| holds(service));
        holders.map(|(name, _)| name).collect()
    };
    assert_eq!(
        holders("gateway-secrets"),
        ["apply", "gateway", "init", "migrate"]
    );
    assert_eq!(holders("worker-secrets"), ["init", "migrate", "worker"]);
    assert_eq!(holders("sync-secrets"), ["init", "migrate", "sync"]);
    let owners = ["apply", "init", "migrate", "postgres", "settings"];
    assert_eq!(holders("owner-secrets"), owners);
    for (name, service) in services() {
        for mount in mounts(&service) {
            let is_secret = mount.source.ends_with("-secrets");
            assert!(!is_secret || mount.is_written == (name == "init"), "{name}");
        }
    }
}

#[test]
fn mirrors_are_written_by_sync_and_read_by_workers_where_they_look() {
    let (mut writers, mut folders) = (Vec::new(), Vec::new());
    for (name, service) in services() {
        for mount in mounts(&service) {
            if mount.source == "mirrors" {
                folders.push(mount.target);
                if mount.is_written && name != "init" {
                    writers.push(name.clone());
                }
            }
        }
    }
    assert_eq!(writers, ["sync"]);
    folders.dedup();
    let (sync, worker) = (&services()["sync"], &services()["worker"]);
    assert_eq!(
        folders,
        [environment(sync)["ARCHWAY_REPOS"].as_str().unwrap()]
    );
    assert_eq!(
        folders,
        [environment(worker)["ARCHWAY_MIRRORS"].as_str().unwrap()]
    );
}

#[test]
fn mounts_from_the_host_are_read_only_and_exist() {
    for (name, service) in services() {
        for mount in mounts(&service) {
            if compose()["volumes"].get(&mount.source).is_some() {
                continue;
            }
            assert!(!mount.is_written, "{name} can write {}", mount.source);
            if let Some(path) = mount.source.strip_prefix("./") {
                assert!(root().join(path).exists(), "{name} wants {path}");
            } else {
                assert!(
                    mount.source.starts_with("${REPO:?"),
                    "{name}: {}",
                    mount.source
                );
            }
        }
    }
}

#[test]
fn the_folder_that_is_mounted_is_the_project_that_is_applied() {
    let tenants: Value = serde_saphyr::from_str(&read("deploy/compose/tenants.yaml")).unwrap();
    let tenant = &tenants["tenants"][0];
    let project = tenant["projects"][0]["slug"].as_str().unwrap();
    let folder = format!("/repos/{}/{project}", tenant["slug"].as_str().unwrap());
    let worker = &services()["worker"];
    assert!(mounts(worker).iter().any(|mount| mount.target == folder));
    let named = tenant["keys"][0]["from_env"].as_str().unwrap();
    let apply = services()["apply"]["command"].clone();
    let option = format!("--key-file={named}=");
    assert!(texts(&apply).iter().any(|word| word.starts_with(&option)));
}

/// Whether the command has an option of this name or variable.
fn knows(command: &Command, is_it: impl Fn(Option<&str>, Option<&str>) -> bool) -> bool {
    command.get_arguments().any(|argument| {
        let variable = argument.get_env().and_then(|name| name.to_str());
        is_it(argument.get_long(), variable)
    })
}

#[test]
fn every_command_option_and_variable_is_one_that_the_binary_has() {
    let whole = CommandLine::command();
    let mut violations = Vec::new();
    for (name, service) in services().iter().filter(|(_, service)| is_ours(service)) {
        let words = texts(&service["command"]);
        let command = whole.find_subcommand(words[0]).expect("a command");
        for word in words.iter().filter(|word| word.starts_with("--")) {
            let option = word.trim_start_matches("--").split('=').next();
            if !knows(command, |long, _| long == option) {
                violations.push(format!("{name}: {word}"));
            }
        }
        for variable in environment(service).keys() {
            if !knows(command, |_, known| known == Some(variable.as_str())) {
                violations.push(format!("{name}: {variable}"));
            }
        }
    }
    assert_none(&violations);
}
