//! Which way crates and modules point: what each crate may use of the others, and that no modules of
//! a crate use one another in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::{Source, assert_none, dependencies, root, sources, words};

/// What each crate uses of the others, dev-dependencies included. Tests and benches may use all.
const USES: [(&str, &[&str]); 13] = [
    ("archway-proto", &[]),
    ("archway-resilience", &[]),
    ("archway-gateway", &["archway-proto", "archway-resilience"]),
    ("archway-sync", &["archway-proto", "archway-resilience"]),
    ("archway-trigrams", &[]),
    ("archway-repo", &["archway-proto", "archway-trigrams"]),
    (
        "archway-store",
        &["archway-proto", "archway-repo", "archway-resilience"],
    ),
    ("archway-history", &["archway-proto", "archway-repo"]),
    (
        "archway-index",
        &[
            "archway-proto",
            "archway-repo",
            "archway-resilience",
            "archway-store",
        ],
    ),
    ("archway-symbols", &["archway-repo"]),
    (
        "archway-architecture",
        &[
            "archway-history",
            "archway-index",
            "archway-proto",
            "archway-repo",
        ],
    ),
    (
        "archway-workers",
        &[
            "archway-architecture",
            "archway-history",
            "archway-index",
            "archway-proto",
            "archway-repo",
            "archway-resilience",
            "archway-store",
            "archway-symbols",
        ],
    ),
    (
        "archway",
        &[
            "archway-gateway",
            "archway-index",
            "archway-proto",
            "archway-repo",
            "archway-resilience",
            "archway-store",
            "archway-sync",
            "archway-workers",
        ],
    ),
];
const MAY_USE_ALL: [&str; 2] = ["archway-benches", "e2e"];

#[test]
fn a_crate_uses_the_crates_that_are_listed_and_no_others() {
    let metadata = dependencies::metadata();
    let mut violations = Vec::new();
    for package in metadata.workspace_packages() {
        if MAY_USE_ALL.contains(&package.name.as_str()) {
            continue;
        }
        let local = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.path.is_some());
        let used: BTreeSet<&str> = local
            .map(|dependency| dependency.name.as_str())
            .filter(|name| !MAY_USE_ALL.contains(name))
            .collect();
        let listed = USES.iter().find(|(name, _)| *name == package.name.as_str());
        let listed: Option<BTreeSet<&str>> =
            listed.map(|(_, listed)| listed.iter().copied().collect());
        if listed.as_ref() != Some(&used) {
            violations.push(format!("{} uses {used:?}, not {listed:?}", package.name));
        }
    }
    assert_none(&violations);
}

/// What the crate's root defines is used by its modules and uses them, so the root is no module here.
#[test]
fn modules_of_a_crate_use_one_another_in_no_circle() {
    let metadata = dependencies::metadata();
    let mut violations = Vec::new();
    for package in metadata.workspace_packages() {
        let folder = dependencies::folder(package) + "/src";
        if !root().join(&folder).is_dir() {
            continue;
        }
        let uses = uses(&sources(&folder), &folder);
        if let Some(circle) = circle(&uses) {
            violations.push(format!("{folder}: {}", circle.join(" -> ")));
        }
    }
    assert_none(&violations);
}

/// What each module that the crate's root declares uses of the others, and in which file first.
type Uses = BTreeMap<String, BTreeMap<String, String>>;

fn uses(sources: &[Source], folder: &str) -> Uses {
    let mut found = Uses::new();
    let root = ["lib.rs", "main.rs"].map(|name| format!("{folder}/{name}"));
    let Some(lib) = sources.iter().find(|source| root.contains(&source.path)) else {
        return found;
    };
    let lib = lib.code();
    let names = names(&lib);
    for source in sources {
        let inside = source.path.trim_start_matches(folder);
        let inside = inside.trim_start_matches('/').trim_end_matches(".rs");
        let parts: Vec<&str> = inside.split('/').collect();
        let own = parts[0];
        let is_for_tests = parts
            .iter()
            .any(|part| *part == "tests" || *part == "testing");
        if names.get(own).is_none_or(|module| module != own) || is_for_tests {
            continue;
        }
        let code = source.code();
        let climbing = "super::".repeat(parts.len());
        let climbs = |at: &usize| !code.as_bytes()[..*at].ends_with(b"super::");
        let climbs = code.match_indices(&climbing).filter(|(at, _)| climbs(at));
        let absolute = code.match_indices("crate::");
        for (at, prefix) in absolute.chain(climbs) {
            for name in first_segments(code.get(at + prefix.len()..).unwrap_or_default()) {
                let Some(module) = names.get(&name).filter(|module| *module != own) else {
                    continue;
                };
                let module_uses = found.entry(own.to_owned()).or_default();
                let file = module_uses.entry(module.clone()).or_default();
                if file.is_empty() {
                    file.clone_from(&source.path);
                }
            }
        }
    }
    found
}

/// The modules that a crate's root declares, and the names that it takes from them, each with its
/// module.
fn names(lib: &str) -> BTreeMap<String, String> {
    let item = |line: &str| {
        let line = line.strip_prefix("pub(crate) ").unwrap_or(line);
        line.strip_prefix("pub ").unwrap_or(line).to_owned()
    };
    let declared = lib.lines().map(item).filter_map(|line| {
        let name = line.strip_prefix("mod ")?.strip_suffix(';')?;
        Some((name.to_owned(), name.to_owned()))
    });
    let mut found: BTreeMap<String, String> = declared.collect();
    for statement in lib.split(';') {
        let Some((_, path)) = statement.rsplit_once("use ") else {
            continue;
        };
        let path = path
            .trim_start_matches("self::")
            .trim_start_matches("crate::");
        let mut words = words(path);
        let Some(module) = words.next().filter(|module| found.contains_key(*module)) else {
            continue;
        };
        let module = module.to_owned();
        for word in words {
            let taken = found.entry(word.to_owned());
            taken.or_insert_with(|| module.clone());
        }
    }
    found
}

/// The first names of a path, or of each path of a group in braces.
fn first_segments(path: &str) -> Vec<String> {
    let Some(group) = path.strip_prefix('{') else {
        return words(path).next().map(str::to_owned).into_iter().collect();
    };
    let mut found = vec![String::new()];
    let (mut depth, mut is_first) = (0_usize, true);
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(String::new());
                is_first = true;
            }
            c if depth > 0 || c.is_whitespace() => {}
            c if c.is_alphanumeric() || c == '_' => {
                if let (true, Some(name)) = (is_first, found.last_mut()) {
                    name.push(c);
                }
            }
            _ => is_first = false,
        }
    }
    found
}

/// Modules that use one another in a circle, each but the last with the file that uses the next.
fn circle(uses: &Uses) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    uses.keys()
        .find_map(|module| descend(module, uses, &mut Vec::new(), &mut done))
}

fn descend<'u>(
    module: &'u str,
    uses: &'u Uses,
    above: &mut Vec<&'u str>,
    done: &mut BTreeSet<&'u str>,
) -> Option<Vec<String>> {
    if let Some(at) = above.iter().position(|other| *other == module) {
        let ends = above[at + 1..].iter().chain([&module]);
        let steps = above[at..].iter().zip(ends);
        let steps = steps.map(|(from, to)| format!("{from} ({})", uses[*from][*to]));
        return Some(steps.chain([module.to_owned()]).collect());
    }
    if !done.contains(module) {
        above.push(module);
        let next = uses.get(module).into_iter().flatten();
        for (used, _file) in next {
            if let Some(circle) = descend(used, uses, above, done) {
                return Some(circle);
            }
        }
        above.pop();
        done.insert(module);
    }
    None
}

#[test]
fn a_circle_is_found_through_super_groups_and_names_that_the_root_takes() {
    let source = |path: &str, text: &str| {
        let (path, text) = (format!("x/src/{path}"), text.to_owned());
        Source { path, text }
    };
    let lib = source(
        "lib.rs",
        "mod a;\nmod b;\nmod c;\npub use b::{self, Bee};\n",
    );
    let files = |c: &str| {
        [
            source("a.rs", "use super::Bee;\n"),
            source("b.rs", "use crate::{x::y, c::{Sea, See}};\n"),
            source("c/d.rs", c),
        ]
    };
    let circle_of = |c: &str| {
        let all: Vec<Source> = [source("lib.rs", &lib.text)]
            .into_iter()
            .chain(files(c))
            .collect();
        circle(&uses(&all, "x/src"))
    };
    let circle = circle_of("use super::super::a::A;\n");
    let steps = ["a (x/src/a.rs)", "b (x/src/b.rs)", "c (x/src/c/d.rs)", "a"];
    assert_eq!(circle.as_deref(), Some(&steps.map(str::to_owned)[..]));
    assert_eq!(
        circle_of("use super::a::A;\n"),
        None,
        "c has an a of its own"
    );
}
