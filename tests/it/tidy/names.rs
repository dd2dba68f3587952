//! Names of types and tests: a type's name says what it is in its crate, a test's name is a short claim.

use std::collections::BTreeMap;

use super::{assert_none, dependencies};

/// How often a crate may declare types of one name. With more, the name says too little.
const MOST_OF_A_NAME: usize = 3;
/// Letters of the longest name of a test.
const LONGEST_TEST_NAME: usize = 69;
/// What declares a type.
const DECLARATIONS: [&str; 4] = ["struct ", "enum ", "trait ", "type "];

#[test]
fn no_type_name_occurs_more_than_three_times_in_a_crate() {
    let mut violations = Vec::new();
    for (name, crate_sources) in dependencies::crates(&dependencies::metadata()) {
        let mut files_by_type: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for source in &crate_sources {
            for declared in declared_types(&source.text) {
                files_by_type
                    .entry(declared)
                    .or_default()
                    .push(&source.path);
            }
        }
        let too_often = files_by_type
            .into_iter()
            .filter(|(_, files)| files.len() > MOST_OF_A_NAME);
        violations.extend(too_often.map(|(declared, files)| {
            let count = files.len();
            format!(
                "{name} declares {count} types called {declared}: {}",
                files.join(" ")
            )
        }));
    }
    assert_none(&violations);
}

#[test]
fn test_names_have_fewer_than_seventy_letters() {
    let mut violations = Vec::new();
    let crates = dependencies::crates(&dependencies::metadata());
    for source in crates.into_values().flatten() {
        for name in tests(&source.text) {
            let letters = name.chars().count();
            if letters > LONGEST_TEST_NAME {
                violations.push(format!("{} {name}: {letters} letters", source.path));
            }
        }
    }
    assert_none(&violations);
}

/// The names of the types that a source declares, as often as it does. Associated types of an `impl` or
/// `trait` are not declared by it.
fn declared_types(text: &str) -> Vec<String> {
    let mut declared = Vec::new();
    let mut associated = None;
    for line in text.lines() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let item = without_visibility(code);
        if associated == Some(indent) && code == "}" {
            associated = None;
        }
        let declaration = DECLARATIONS
            .iter()
            .find_map(|kind| Some((*kind, item.strip_prefix(kind)?)));
        if let Some((kind, rest)) = declaration {
            let is_associated = kind == "type " && associated.is_some();
            let mut words = rest.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
            let name = words.next().unwrap_or_default();
            if !is_associated && name.starts_with(char::is_uppercase) {
                declared.push(name.to_owned());
            }
        }
        let opens = ["impl ", "impl<", "trait ", "unsafe impl "]
            .iter()
            .any(|begin| item.starts_with(begin));
        if opens && associated.is_none() && !line.ends_with('}') && !line.ends_with(';') {
            associated = Some(indent);
        }
    }
    declared
}

fn without_visibility(code: &str) -> &str {
    if let Some((_, item)) = code
        .strip_prefix("pub(")
        .and_then(|rest| rest.split_once(") "))
    {
        return item;
    }
    code.strip_prefix("pub ").unwrap_or(code)
}

/// The names of the test functions of a source.
fn tests(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim_start) {
        if line == "#[test]" || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if is_test {
            let function = line.split_once("fn ").map(|(_, rest)| rest);
            if let Some(name) = function.filter(|_| !line.starts_with(['#', '/'])) {
                names.extend(name.split(['(', '<']).next());
                is_test = false;
            }
        }
    }
    names
}

#[test]
fn declared_types_and_tests_are_found() {
    let text = "pub(crate) struct A {\n    type_: B,\n}\nimpl Tool for A {\n    type Args = B;\n}\n\
                trait C<T> {\n    type Item;\n}\ntype Row = (u8,);\nmod tests {\n    enum D {}\n    \
                #[test]\n    #[ignore]\n    fn it_is_short() {}\n    #[tokio::test(a = 1)]\n    \
                async fn it_waits(\n    ) {}\n    fn helper() {}\n}\n// struct E;\n";
    assert_eq!(declared_types(text), ["A", "C", "Row", "D"]);
    assert_eq!(tests(text), ["it_is_short", "it_waits"]);
    let crates = dependencies::crates(&dependencies::metadata());
    for folder in ["proto", "resilience", "gateway", "cli", "tests", "benches"] {
        assert!(!crates[folder].is_empty(), "{folder}");
    }
}
