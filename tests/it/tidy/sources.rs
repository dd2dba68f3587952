//! The form of source files, and the direction of modules.

use std::{collections::BTreeSet, iter};

use super::{Source, assert_none, sources, words};

const CRATES: [&str; 8] = [
    "proto",
    "resilience",
    "gateway",
    "workers",
    "sync",
    "cli",
    "tests",
    "benches",
];
const LONGEST: usize = 300;

#[test]
fn every_file_says_what_it_is_and_is_short() {
    let mut violations = Vec::new();
    for source in CRATES.into_iter().flat_map(sources) {
        if !source.text.starts_with("//! ") {
            violations.push(format!("{} does not open with `//! `", source.path));
        }
        let lines = source.body().count();
        if lines > LONGEST {
            violations.push(format!(
                "{} has {lines} lines before its tests",
                source.path
            ));
        }
    }
    assert_none(&violations);
}

#[test]
fn crates_and_modules_name_only_what_they_may() {
    let mut violations = Vec::new();
    let mut forbid = |source: &Source, name: &str| {
        if words(&source.uncommented()).any(|word| word == name) {
            violations.push(format!("{} names {name}", source.path));
        }
    };
    for source in sources("gateway") {
        forbid(&source, "archway_workers");
        if !source.path.starts_with("gateway/src/mcp") {
            forbid(&source, "rmcp");
        }
        let builds_callers = ["gateway/src/auth", "gateway/src/caller"];
        if !builds_callers
            .iter()
            .any(|module| source.path.starts_with(module))
        {
            forbid(&source, "PrincipalFacts");
        }
    }
    for source in sources("workers") {
        forbid(&source, "archway_gateway");
    }
    for source in sources("proto") {
        forbid(&source, "archway_gateway");
        forbid(&source, "archway_workers");
    }
    assert_none(&violations);
}

#[test]
fn a_module_of_the_gateway_uses_only_what_a_request_meets_later() {
    let gateway = sources("gateway/src");
    let lib = gateway
        .iter()
        .find(|source| source.path == "gateway/src/lib.rs")
        .unwrap();
    let order = modules(lib);
    let place = |name: &str| order.iter().position(|module| module == name);
    let mut violations = Vec::new();
    for source in &gateway {
        let inside = source.path.trim_start_matches("gateway/src/");
        let module = inside.split(['/', '.']).next().unwrap();
        let Some(own) = place(module) else { continue };
        for used in crate_uses(&source.code()) {
            match place(&used) {
                Some(other) if other < own => violations.push(format!(
                    "{} uses {used}, which lib.rs lists above it",
                    source.path
                )),
                // A re-export hides which module it comes from.
                None if !used.is_empty() && used != "path_tests" => violations.push(format!(
                    "{} uses crate::{used}: name its module",
                    source.path
                )),
                _ => {}
            }
        }
    }
    assert_none(&violations);
}

/// The `mod` lines of a file in order, without those of tests, which have no position in it.
fn modules(source: &Source) -> Vec<String> {
    let above = iter::once("").chain(source.body());
    let lines = above.zip(source.body());
    let names = lines.filter_map(|(above, line)| {
        if above == "#[cfg(test)]" {
            return None;
        }
        let line = line.strip_prefix("pub ").unwrap_or(line);
        line.strip_prefix("pub(crate) ")
            .unwrap_or(line)
            .strip_prefix("mod ")?
            .strip_suffix(';')
    });
    names.map(str::to_owned).collect()
}

/// The modules that `crate::…` paths begin with, `crate::{…}` groups included.
fn crate_uses(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        let Some(group) = after.strip_prefix('{') else {
            found.extend(words(after).next().map(str::to_owned));
            continue;
        };
        let mut depth = 0_usize;
        let mut start_of_path = true;
        let mut word = String::new();
        for c in group.chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => start_of_path = true,
                ':' => start_of_path = false,
                c if start_of_path && depth == 0 && !c.is_whitespace() => word.push(c),
                _ => {}
            }
            if !start_of_path || c == ',' {
                found.insert(std::mem::take(&mut word));
            }
        }
        found.insert(word);
    }
    found
}

#[test]
fn uses_are_found_alone_and_in_groups() {
    let code = "use crate::auth::Auth; use crate::{catalog::{Catalog, x::Y}, error, mcp::call};";
    let found = crate_uses(code);
    for name in ["auth", "catalog", "error", "mcp"] {
        assert!(found.contains(name), "{name} in {found:?}");
    }
    assert!(
        !found.contains("x") && !found.contains("Catalog"),
        "{found:?}"
    );
}
