//! Dependencies: licences, banned crates, one version of each wire crate, nothing unused,
//! nothing without a reason in docs/adr/dependencies.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

use super::{Source, assert_none, licence, root, sources, words};

/// Crates whose types cross the wire, so that two versions would be two types of one name.
const WIRE: [&str; 4] = ["axum", "opentelemetry", "prost", "tonic"];
/// Why each crate is here.
const REASONS: &str = "docs/adr/dependencies.md";
/// Dependencies that only generated code uses.
const USED_BY_GENERATED_CODE: [(&str, &str); 2] =
    [("archway-proto", "prost"), ("archway-proto", "tonic-prost")];

#[test]
fn every_licence_that_we_ship_is_on_the_list() {
    let metadata = metadata();
    let accepted = quoted_list(&denials(), "allow = [");
    let mut violations = Vec::new();
    for package in shipped(&metadata) {
        let ours = metadata.workspace_members.contains(&package.id);
        match &package.license {
            Some(text) if ours || licence::satisfies(text, &accepted) => {}
            Some(text) => violations.push(format!("{} has the licence {text}", package.name)),
            None => violations.push(format!("{} states no licence", package.name)),
        }
    }
    assert_none(&violations);
}

#[test]
fn no_banned_crate_is_shipped_and_the_wire_has_one_version_of_each() {
    let metadata = metadata();
    let banned: Vec<String> = denials()
        .lines()
        .filter(|line| !line.contains("deny-multiple-versions"))
        .filter_map(|line| {
            Some(
                line.split_once("{ crate = \"")?
                    .1
                    .split_once('"')?
                    .0
                    .to_owned(),
            )
        })
        .collect();
    assert!(
        banned.contains(&"openssl-sys".to_owned()),
        "deny.toml names what is banned"
    );
    let mut versions: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for package in shipped(&metadata) {
        versions
            .entry(&package.name)
            .or_default()
            .insert(package.version.to_string());
    }
    let banned = banned
        .iter()
        .filter(|name| versions.contains_key(name.as_str()));
    let twice = WIRE
        .iter()
        .filter(|name| versions.get(**name).is_some_and(|v| v.len() > 1));
    let violations: Vec<String> = banned
        .map(|name| format!("{name} is banned"))
        .chain(twice.map(|name| format!("{name} is shipped in versions {:?}", versions[name])))
        .collect();
    assert_none(&violations);
}

#[test]
fn every_declared_dependency_is_used_by_the_crate_that_declares_it() {
    let metadata = metadata();
    let mut violations = Vec::new();
    let crates = crates(&metadata);
    for package in metadata.workspace_packages() {
        let text: String = crates[&folder(package)]
            .iter()
            .map(|source| source.uncommented() + &included(source))
            .collect();
        let named: BTreeSet<&str> = words(&text).collect();
        for dependency in &package.dependencies {
            let declared = dependency.rename.as_ref().unwrap_or(&dependency.name);
            let generated = USED_BY_GENERATED_CODE.contains(&(&package.name, declared));
            if !generated && !named.contains(declared.replace('-', "_").as_str()) {
                violations.push(format!(
                    "{} declares {declared} and does not use it",
                    package.name
                ));
            }
        }
    }
    assert_none(&violations);
}

#[test]
fn the_page_of_dependencies_says_why_each_crate_is_here() {
    let metadata = metadata();
    let page = fs::read_to_string(root().join(REASONS)).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let explained: BTreeSet<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    let declared: BTreeSet<&str> = metadata
        .workspace_packages()
        .iter()
        .flat_map(|package| &package.dependencies)
        .filter(|dependency| dependency.path.is_none())
        .map(|dependency| dependency.name.as_str())
        .collect();
    let unexplained = declared
        .difference(&explained)
        .map(|name| format!("{REASONS} has no row \"| `{name}` | …\""));
    let unused = explained
        .difference(&declared)
        .map(|name| format!("{REASONS} explains {name}, which no crate uses"));
    assert_none(&unexplained.chain(unused).collect::<Vec<_>>());
}

/// The folder of a crate, relative to the workspace's.
pub(super) fn folder(package: &Package) -> String {
    let folder = package.manifest_path.parent().unwrap();
    folder.strip_prefix(root()).unwrap().to_string()
}

/// The sources of each crate of the workspace, by its folder. A crate inside another's folder is not
/// part of it.
pub(super) fn crates(metadata: &Metadata) -> BTreeMap<String, Vec<Source>> {
    let packages = metadata.workspace_packages();
    let folders: BTreeSet<String> = packages.into_iter().map(folder).collect();
    let own = |folder: &String| {
        let inside = format!("{folder}/");
        let nested = |source: &Source| {
            let mut inner = folders.iter().filter(|inner| inner.starts_with(&inside));
            inner.any(|inner| source.path.starts_with(&format!("{inner}/")))
        };
        let sources = sources(folder).into_iter();
        sources.filter(|source| !nested(source)).collect()
    };
    folders
        .iter()
        .map(|folder| (folder.clone(), own(folder)))
        .collect()
}

/// The files of other folders that a file includes as modules.
fn included(source: &Source) -> String {
    let paths = source.text.lines().filter_map(|line| {
        let path = line.strip_prefix("#[path = \"")?.strip_suffix("\"]")?;
        let folder = root().join(&source.path).parent()?.to_owned();
        fs::read_to_string(folder.join(path)).ok()
    });
    paths.collect()
}

/// The resolved graph for this machine, without network access.
pub(super) fn metadata() -> Metadata {
    let options = ["--offline", "--locked", "--filter-platform", "host-tuple"];
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(options.map(str::to_owned))
        .exec()
        .expect("cargo metadata; is Cargo.lock up to date?")
}

/// What our packages are built from: normal and build dependencies, transitively.
fn shipped(metadata: &Metadata) -> Vec<&Package> {
    let resolve = metadata.resolve.as_ref().unwrap();
    let nodes: BTreeMap<&PackageId, _> =
        resolve.nodes.iter().map(|node| (&node.id, node)).collect();
    let mut open: Vec<&PackageId> = metadata.workspace_members.iter().collect();
    let mut reached = BTreeSet::new();
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            let needed = nodes[id].deps.iter().filter(|dependency| {
                dependency
                    .dep_kinds
                    .iter()
                    .any(|kind| kind.kind != DependencyKind::Development)
            });
            open.extend(needed.map(|dependency| &dependency.pkg));
        }
    }
    reached.into_iter().map(|id| &metadata[id]).collect()
}

fn denials() -> String {
    fs::read_to_string(root().join("deny.toml")).unwrap()
}

/// The strings of the one-line list that begins with `start`.
fn quoted_list(text: &str, start: &str) -> Vec<String> {
    let line = text
        .lines()
        .find(|line| line.starts_with(start))
        .expect("the list");
    line.split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}
