//! Sample answers in README: those of real calls, on a repository that is always the same.
//!
//! After a change: `ARCHWAY_WRITE_DOCS=1 tests/run -p archway --test docs -- samples`.

use serde_json::{Map, Value};

use crate::pages::{Block, Mark, Page, root};
use crate::stage::Stage;

const PAGE: &str = "README.md";
/// The width of a value on one line, in columns.
const WIDTH: usize = 100;
/// Durations in milliseconds, which differ in each run. Each is shown as 1.
const TIMES: [&str; 2] = ["searchTime", "io.archway/durationMs"];
/// Fields that are known only some time after the first call.
const LATER: &str = "dirty";

#[test]
fn sample_answers_equal_those_of_real_calls() {
    let mut stage = Stage::set("samples").unwrap_or_else(|absent| panic!("{}", absent.0));
    let mut page = Page::read(&root().join(PAGE));
    let samples: Vec<(Block, String)> = page.blocks().into_iter().filter_map(sample).collect();
    assert_eq!(samples.len(), 2, "an answer, and a refusal");
    let mut wrong = Vec::new();
    // From the last block on, so that earlier line numbers stay valid.
    for (block, call) in samples.into_iter().rev() {
        let made = made(&mut stage, &call);
        if made != block.text {
            wrong.push(format!("{PAGE}:{}:\n{made}", block.line));
        }
        page.replace(&block, &made);
    }
    if std::env::var_os("ARCHWAY_WRITE_DOCS").is_some() {
        std::fs::write(root().join(PAGE), &page.text).unwrap();
    } else {
        let what = "set ARCHWAY_WRITE_DOCS=1 and run this test again; a real call says";
        assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
    }
}

fn sample(block: Block) -> Option<(Block, String)> {
    match &block.mark {
        Some(Mark::Sample(call)) => {
            let call = call.clone();
            Some((block, call))
        }
        _ => None,
    }
}

/// The content of a call's block: `TOOL ARGUMENTS`, and its answer.
fn made(stage: &mut Stage, call: &str) -> String {
    let (tool, arguments) = call.split_once(' ').unwrap();
    let url = stage.substitute("http://127.0.0.1:7676/mcp");
    let command = format!("archway call {tool} --json --url {url} --arguments '{arguments}'");
    let said = stage.shell.run(&command).said;
    let result = said
        .lines()
        .find_map(|line| serde_json::from_str(line).ok());
    let mut result: Value = result.unwrap_or_else(|| panic!("{call}: {said}"));
    settle(&mut result);
    let answer = match result["isError"] == true {
        true => laid_out(&result["_meta"]["io.archway/error"], 0),
        false => {
            let data = laid_out(&result["structuredContent"], 0);
            format!("{data}\n_meta: {}", laid_out(&result["_meta"], 0))
        }
    };
    format!("{call}\n\n{answer}\n")
}

/// Replaces what differs in each run.
fn settle(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove(LATER);
            for (name, member) in members {
                match TIMES.contains(&name.as_str()) {
                    true => *member = 1.into(),
                    false => settle(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        _ => {}
    }
}

/// JSON on one line if it fits into the width from this column on, else broken between members or items.
fn laid_out(value: &Value, column: usize) -> String {
    let line = on_one_line(value);
    if column + line.chars().count() <= WIDTH {
        return line;
    }
    let inner = column + 2;
    let (open, parts, close) = match value {
        Value::Object(members) => ("{", named(members, |it| laid_out(it, inner)), "}"),
        Value::Array(items) => {
            let items = items.iter().map(|it| laid_out(it, inner));
            ("[", items.collect(), "]")
        }
        _ => return line,
    };
    let margin = " ".repeat(inner);
    let lines = filled(&parts, inner).join(&format!(",\n{margin}"));
    format!("{open}\n{margin}{lines}\n{}{close}", " ".repeat(column))
}

/// Fills lines with as many short parts as fit.
fn filled(parts: &[String], column: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if column + line.len() + part.len() + 2 <= WIDTH && !part.contains('\n') => {
                line.push_str(", ");
                line.push_str(part);
            }
            _ => lines.push(part.clone()),
        }
    }
    lines
}

fn on_one_line(value: &Value) -> String {
    match value {
        Value::Object(members) => format!("{{{}}}", named(members, on_one_line).join(", ")),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(on_one_line).collect();
            format!("[{}]", items.join(", "))
        }
        _ => value.to_string(),
    }
}

fn named(members: &Map<String, Value>, shown: impl Fn(&Value) -> String) -> Vec<String> {
    let members = members.iter();
    members
        .map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), shown(value)))
        .collect()
}

#[test]
fn what_is_of_one_run_is_settled_and_what_is_long_is_broken() {
    let mut value = serde_json::json!({ "searchTime": 7, "a": [{ "dirty": false, "b": "c" }] });
    settle(&mut value);
    assert_eq!(
        laid_out(&value, 0),
        r#"{"searchTime": 1, "a": [{"b": "c"}]}"#
    );
    let long = "x".repeat(WIDTH);
    let value = serde_json::json!({ "a": long, "b": [1] });
    let expected = format!("{{\n  \"a\": \"{long}\",\n  \"b\": [1]\n}}");
    assert_eq!(laid_out(&value, 0), expected);
}
