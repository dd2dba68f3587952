//! Any value for any argument of any tool, beside honest values for the others.

use archway_workers::tools;
use e2e::sample_calls;
use proptest::{prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::{
    cases::{Case, modern_meta},
    mutations::json_value,
};

/// Every argument that a tool advertises, by `TOOL.ARGUMENT`, with calls in which it has any value.
pub(super) fn arguments() -> Vec<(String, BoxedStrategy<Case>)> {
    let registry = tools::registry().unwrap();
    let listed = registry.list();
    let mut all = Vec::new();
    for samples in sample_calls::table() {
        let entry = listed.tools.iter().find(|entry| entry.name == samples.tool);
        let properties = &entry.unwrap().input_schema["properties"];
        for argument in properties.as_object().unwrap().keys() {
            let place = format!("{}.{argument}", samples.tool);
            let calls = calls(samples.tool, samples.arguments.clone(), argument.clone());
            all.push((place, calls));
        }
    }
    all
}

fn calls(tool: &'static str, samples: Vec<Value>, argument: String) -> BoxedStrategy<Case> {
    (select(samples), value())
        .prop_map(move |(mut arguments, value)| {
            arguments[&argument] = value;
            Case::of(true, &message(tool, &arguments))
        })
        .boxed()
}

/// JSON, and texts as they are meant for patterns, globs, names, revisions and paths.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        json_value(),
        r"\PC{0,60}".prop_map(Value::from),
        r"[a-z:./*\[({?|+^$\\@~!#}\])-]{1,40}".prop_map(Value::from),
        (0..100_000_usize).prop_map(|length| json!("a".repeat(length))),
    ]
}

fn message(tool: &str, arguments: &Value) -> Value {
    let mut params = Map::new();
    params.insert("name".to_owned(), json!(tool));
    params.insert("arguments".to_owned(), arguments.clone());
    params.insert("_meta".to_owned(), modern_meta());
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}
