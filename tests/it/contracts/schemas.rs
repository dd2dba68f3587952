//! `tools/list` as strict clients read it: schemas of arguments and results.

use std::collections::BTreeSet;

use e2e::{Client, Repo};
use serde_json::{Value, json};

use crate::serve;

/// Optional arguments without a default, by tool; `*` means every tool.
const WITHOUT_DEFAULT: [(&str, &str); 38] = [
    ("*", "project"),
    ("*", "cursor"),
    ("list_projects", "query"),
    ("list_files", "pattern"),
    // Without a pattern as many levels as fit, with one all.
    ("list_files", "max_depth"),
    ("read_file", "start_line"),
    ("read_file", "end_line"),
    // Not HEAD: without it the work tree is read.
    ("read_file", "ref"),
    ("search_files", "glob"),
    ("grep_codebase", "file_pattern"),
    ("find_symbol", "kind"),
    ("find_symbol", "path_glob"),
    ("find_references", "path_glob"),
    ("git_log", "file_path"),
    ("git_log", "since"),
    ("git_log", "until"),
    ("git_log", "author"),
    ("git_log", "grep"),
    ("git_log", "changed"),
    ("git_blame", "start_line"),
    ("git_blame", "end_line"),
    // Not HEAD: without it local modifications are included.
    ("git_blame", "ref"),
    ("git_diff", "ref1"),
    ("git_diff", "ref2"),
    ("git_diff", "file_path"),
    ("context_search", "module"),
    ("context_search", "chunk_type"),
    ("context_search", "path_glob"),
    ("record_discovery", "module"),
    ("record_discovery", "paths"),
    ("record_discovery", "supersedes"),
    ("search_architecture", "query"),
    ("search_memory", "file"),
    ("search_memory", "query"),
    ("search_memory", "since"),
    ("search_memory", "until"),
    ("check_adr_alignment", "decision_context"),
    // Without it the language is guessed.
    ("validate_pattern", "language"),
];

async fn tools(client: &Client) -> Vec<Value> {
    let list = client.rpc("tools/list", json!({})).await.json();
    list["result"]["tools"].as_array().unwrap().clone()
}

#[tokio::test]
async fn every_optional_argument_states_its_default_if_it_has_one() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a\n")).await;
    let mut wrong = Vec::new();
    let mut stale = BTreeSet::from(WITHOUT_DEFAULT);
    for tool in tools(&client).await {
        let (name, schema) = (tool["name"].as_str().unwrap(), &tool["inputSchema"]);
        let is_required = |argument: &str| {
            let required = schema["required"].as_array().into_iter().flatten();
            required.into_iter().any(|name| name == argument)
        };
        for (argument, about) in schema["properties"].as_object().unwrap() {
            let rows = ["*", name].map(|of| (of, argument.as_str()));
            let is_without = rows.iter().any(|row| WITHOUT_DEFAULT.contains(row));
            stale.retain(|row| !rows.contains(row));
            match about.get("default") {
                None if !is_required(argument) && !is_without => {
                    wrong.push(format!(
                        "{name}.{argument} says no default: give it one, or a row in WITHOUT_DEFAULT"
                    ));
                }
                Some(default) if is_required(argument) || is_without => {
                    wrong.push(format!("{name}.{argument} says the default {default}"));
                }
                Some(default) if !jsonschema::is_valid(about, default) => {
                    wrong.push(format!("{name}.{argument}: {default} is no value of it"));
                }
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(stale.is_empty(), "no such argument: {stale:#?}");
}

#[tokio::test]
async fn the_defaults_that_are_advertised_are_those_that_hold() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a\n")).await;
    let tools = tools(&client).await;
    for (tool, argument, default) in [
        ("context_search", "type", json!("all")),
        ("context_search", "project_scope", json!("current")),
        ("context_search", "limit", json!(5)),
        ("search_architecture", "resource_type", json!("all")),
        ("read_file", "encoding", json!("utf-8")),
        ("read_file", "include_deps", json!(false)),
        ("list_files", "directory", json!(".")),
        ("git_log", "ref", json!("HEAD")),
        ("git_diff", "context_lines", json!(3)),
    ] {
        let tool = tools.iter().find(|it| it["name"] == tool).unwrap();
        let about = &tool["inputSchema"]["properties"][argument];
        assert_eq!(about["default"], default, "{tool} {argument}");
    }
}

#[tokio::test]
async fn no_schema_has_true_or_false_where_strict_clients_want_an_object() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "a\n")).await;
    let mut wrong = Vec::new();
    for tool in tools(&client).await {
        let name = tool["name"].as_str().unwrap();
        for which in ["inputSchema", "outputSchema"] {
            let schema = &tool[which];
            let meta = jsonschema::meta::validate(schema);
            assert!(meta.is_ok(), "{name} {which}: {meta:?}");
            find_booleans(schema, &format!("{name}.{which}"), &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Collects the places of `schema` where a boolean stands in for a schema.
fn find_booleans(schema: &Value, place: &str, found: &mut Vec<String>) {
    let Value::Object(members) = schema else {
        return found.extend(schema.is_boolean().then(|| place.to_owned()));
    };
    for (key, value) in members {
        let place = format!("{place}.{key}");
        match (key.as_str(), value) {
            ("additionalProperties", Value::Bool(false)) => {}
            ("items" | "additionalProperties" | "not" | "contains" | "propertyNames", _) => {
                find_booleans(value, &place, found);
            }
            ("properties" | "$defs" | "patternProperties", Value::Object(named)) => {
                for (name, schema) in named {
                    find_booleans(schema, &format!("{place}.{name}"), found);
                }
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                for (at, schema) in schemas.iter().enumerate() {
                    find_booleans(schema, &format!("{place}.{at}"), found);
                }
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn the_tree_of_an_overview_is_described_to_any_depth() {
    let (_stack, client) = serve(Repo::new().file("a/b/c/d.txt", "d\n")).await;
    let tools = tools(&client).await;
    let overview = tools.iter().find(|it| it["name"] == "get_repo_overview");
    let schema = &overview.unwrap()["outputSchema"];
    let arguments = json!({ "max_depth": 5 });
    let reply = client.call("get_repo_overview", arguments).await;
    let mut answer = reply.structured().clone();
    assert!(jsonschema::is_valid(schema, &answer));
    let deepest = "/structure/children/0/children/0/children/0/children/0/type";
    let kind = answer.pointer_mut(deepest).unwrap();
    assert_eq!(*kind, "file");
    *kind = json!(7);
    assert!(!jsonschema::is_valid(schema, &answer), "{schema}");
}
