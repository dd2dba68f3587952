//! Table ownership: line 1 of a migration names the crate that owns its tables. SQL of other crates must not name them.

use std::{collections::BTreeMap, fs};

use super::{assert_none, root, sources, words};

/// SQL words that precede a table's name.
const BEFORE_A_TABLE: [&str; 6] = ["from", "join", "into", "update", "table", "lock"];
/// The owners, as line 1 of a migration calls them, and the sources that name their tables. The
/// administration of the gateway's tables runs under the database owner's role, which no gateway has,
/// so it is part of the command line.
const OWNERS: [(&str, &str); 6] = [
    ("gateway", "gateway/src/"),
    ("gateway", "cli/src/tenants"),
    ("workers", "workers/store/src/"),
    ("sync", "sync/src/"),
    ("sync", "cli/src/tenants"),
    ("cli", "cli/src/"),
];
/// Tables that another crate may read.
const SHARED: [(&str, &str); 10] = [
    ("projects", "workers"),
    ("sources", "workers"),
    ("mirrors", "workers"),
    ("access_rules", "workers"),
    ("access_editions", "workers"),
    ("host_permissions", "workers"),
    ("host_permissions", "gateway"),
    ("host_readers", "workers"),
    ("host_accounts", "workers"),
    ("worker_mounts", "gateway"),
];

#[test]
fn a_table_is_named_only_by_the_crate_that_owns_it() {
    let tables = tables();
    assert!(tables.contains_key("projects") && tables.contains_key("file_accesses"));
    let mut violations = Vec::new();
    for folder in ["gateway", "workers", "sync", "cli"] {
        for source in sources(folder) {
            if !source.path.contains("/src/") {
                continue;
            }
            let folder = match source.path.starts_with("cli/src/tenants") {
                true => "gateway",
                false => folder,
            };
            let code = source.code().to_lowercase();
            let all: Vec<&str> = words(&code).collect();
            for pair in all.windows(2) {
                let [before, table] = [pair[0], pair[1]];
                let Some(owner) = tables.get(table) else {
                    continue;
                };
                let reads = before == "from" || before == "join";
                let shared = reads && SHARED.contains(&(table, folder));
                let is_owner = OWNERS
                    .iter()
                    .any(|(name, own)| name == owner && source.path.starts_with(own));
                if BEFORE_A_TABLE.contains(&before) && !is_owner && !shared {
                    violations.push(format!("{} says \"{before} {table}\"", source.path));
                }
            }
        }
    }
    assert_none(&violations);
}

/// Each table, and the folder of the crate that owns it.
fn tables() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root().join("migrations")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let owner = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("-- Owned by archway-"));
        let owner = owner.and_then(|rest| Some(rest.split_once(':')?.0));
        let owner = owner.unwrap_or_else(|| {
            panic!(
                "line 1 of {} is not \"-- Owned by archway-…: …\"",
                path.display()
            )
        });
        for line in text.lines().filter_map(|line| line.strip_prefix("create ")) {
            let line = line.strip_prefix("unlogged ").unwrap_or(line);
            if let Some(rest) = line.strip_prefix("table ") {
                found.insert(words(rest).next().unwrap().to_owned(), owner.to_owned());
            }
        }
    }
    found
}
