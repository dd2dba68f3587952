//! Inline code of pages: commands and options exist in the binary, values in the chart.

use std::collections::BTreeSet;

use archway::command::CommandLine;
use clap::{Arg, Command, CommandFactory};
use serde_json::Value;

use crate::pages::{Page, pages, root};

/// Pages about past versions, which may name what no longer exists.
const HISTORY: &str = "CHANGELOG.md";
/// Options of other programs, each with the program.
const OF_OTHERS: [(&str, &str); 12] = [
    ("--all-containers", "kubectl"),
    ("--bench", "cargo"),
    ("--build", "docker compose up"),
    ("--context", "kubectl"),
    ("--follow", "git log"),
    ("--force-conflicts", "helm"),
    ("--release", "archway-admin"),
    ("--rollback-on-failure", "helm"),
    ("--scale", "docker compose up"),
    ("--timeout", "helm"),
    ("--volumes", "docker compose down"),
    ("--wait", "helm"),
];

#[test]
fn commands_and_options_within_sentences_are_those_of_the_binary() {
    let whole = CommandLine::command();
    let mut known = Vec::new();
    options(&whole, &mut known);
    let mut wrong = Vec::new();
    let mut held = 0;
    let mut excused: BTreeSet<&str> = BTreeSet::new();
    for page in pages().iter().filter(|page| page.path != HISTORY) {
        for said in page.code() {
            let words: Vec<&str> = said.split_whitespace().collect();
            let why = match words.as_slice() {
                ["archway", rest @ ..] if !rest.is_empty() => unknown(&whole, rest),
                [option, ..] if option.len() > 2 && option.starts_with("--") => {
                    let option = option.split('=').next().unwrap_or(option);
                    let foreign = OF_OTHERS.iter().find(|(it, _)| *it == option);
                    excused.extend(foreign.map(|(it, _)| *it));
                    let is_known = foreign.is_some() || known.iter().any(|it| it == option);
                    (!is_known).then(|| format!("nobody has {option}"))
                }
                _ => continue,
            };
            held += 1;
            wrong.extend(why.map(|why| format!("{}: `{said}`: {why}", page.path)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(
        excused.len(),
        OF_OTHERS.len(),
        "only these are named: {excused:?}"
    );
    assert!(held > 100, "pages name commands and options: {held}");
}

/// All options of a command and its subcommands.
fn options(command: &Command, found: &mut Vec<String>) {
    found.extend(command.get_arguments().filter_map(long));
    found.push("--help".to_owned());
    for inner in command.get_subcommands() {
        options(inner, found);
    }
}

fn long(arg: &Arg) -> Option<String> {
    arg.get_long().map(|long| format!("--{long}"))
}

/// The first word after `archway` that does not exist, if any.
fn unknown(whole: &Command, words: &[&str]) -> Option<String> {
    let mut command = whole;
    // A group's options are options of each of its commands.
    let mut has: Vec<String> = whole.get_arguments().filter_map(long).collect();
    has.extend(["--help".to_owned(), "--version".to_owned()]);
    for word in words {
        if word.starts_with("--") {
            let option = word.split('=').next().unwrap_or(word);
            if !has.iter().any(|it| it == option) {
                return Some(format!("{} has no {option}", command.get_name()));
            }
        } else if let Some(inner) = command.find_subcommand(word) {
            command = inner;
            has.extend(command.get_arguments().filter_map(long));
        } else if command.has_subcommands() && word.starts_with(|it: char| it.is_lowercase()) {
            let is_value = *word == "help" || command.get_positionals().next().is_some();
            return (!is_value).then(|| format!("{} has no {word}", command.get_name()));
        }
    }
    None
}

#[test]
fn values_within_sentences_are_those_of_the_chart() {
    let schema = std::fs::read(root().join("helm/archway/values.schema.json")).unwrap();
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    let mut wrong = Vec::new();
    let mut held = 0;
    for page in pages().iter().filter(|page| is_about_the_chart(page)) {
        for said in page.code() {
            let path = said.split([':', '=', ' ']).next().unwrap_or_default();
            let path: Vec<&str> = path.split('.').collect();
            let begins = path.len() > 1 && !schema["properties"][path[0]].is_null();
            // A file of that name, or several values.
            if !begins || path.ends_with(&["yaml"]) || said.contains('*') {
                continue;
            }
            held += 1;
            if !is_value(&schema, &schema, &path) {
                wrong.push(format!("{}: `{said}`", page.path));
            }
        }
    }
    assert!(wrong.is_empty(), "no values:\n{}", wrong.join("\n"));
    assert!(held > 100, "pages name values: {held}");
}

fn is_about_the_chart(page: &Page) -> bool {
    page.path.starts_with("docs/src/") || page.path.starts_with("helm/")
}

/// Whether a schema has a value at a path. Keys that the reader chooses count as well.
fn is_value(root: &Value, schema: &Value, path: &[&str]) -> bool {
    if let Some(reference) = schema["$ref"].as_str() {
        let there = root.pointer(reference.trim_start_matches('#'));
        return there.is_some_and(|schema| is_value(root, schema, path));
    }
    let Some((name, rest)) = path.split_first() else {
        return true;
    };
    match (
        &schema["properties"][*name],
        &schema["additionalProperties"],
    ) {
        (Value::Null, Value::Object(_)) => is_value(root, &schema["additionalProperties"], rest),
        (Value::Null, _) => false,
        (inner, _) => is_value(root, inner, rest),
    }
}

#[test]
fn words_that_nobody_has_are_found() {
    let whole = CommandLine::command();
    let says = |words: &str| unknown(&whole, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(says("key rotate ID --overlap 0"), None);
    assert_eq!(says("tenant set acme --pool gold --json"), None);
    assert!(says("key turn ID").is_some());
    assert!(says("key rotate ID --over 0").is_some());
    let schema = serde_json::json!({
        "properties": {"a": {"$ref": "#/$defs/b"}},
        "$defs": {"b": {"properties": {"c": {}}}},
    });
    assert!(is_value(&schema, &schema, &["a", "c"]));
    assert!(!is_value(&schema, &schema, &["a", "d"]));
}
