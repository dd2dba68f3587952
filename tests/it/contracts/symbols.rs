//! `find_symbol`: what is defined where, in the work tree as it stands.

use std::fs;

use e2e::{Client, Harness, Key, Repo, Stack, Tenant};
use serde_json::{Value, json};

use super::{both, column};
use crate::serve;

const CIRCUIT: &str = "//! Breakers.\n\n/// Refuses calls after failures. It is per pool.\npub struct Circuit {\n    \
    open: bool,\n}\n\nimpl Circuit {\n    /// Whether a call may pass.\n    pub fn admit(&self) -> bool {\n        \
    self.open\n    }\n}\n\nfn admit() {}\n";

pub(super) async fn project() -> (Stack, Client) {
    let repo = Repo::new()
        .file("src/circuit.rs", CIRCUIT)
        .file(
            "src/breaker.py",
            "class CircuitBreaker:\n    LIMIT = 5\n    def admit(self): pass\n",
        )
        .file("tests/circuit.rs", "fn circuit() {}\nstruct Circuit;\n")
        .file("vendor/circuit.go", "package v\ntype Circuit struct{}\n")
        .file("secrets.rs", "pub struct Circuit;\n")
        .file("hidden.rs", "pub struct Circuit;\n")
        .file(".gitignore", "hidden.rs\n")
        .file("notes.md", "struct Circuit;\n");
    serve(repo.commit()).await
}

async fn find(client: &Client, arguments: Value) -> Value {
    both(&client.call("find_symbol", arguments).await).clone()
}

/// `name path:line` of each definition that was found.
fn places(found: &Value) -> Vec<String> {
    let symbols = found["symbols"].as_array().unwrap();
    let place = |it: &Value| {
        let text = |field: &str| it[field].as_str().unwrap().to_owned();
        format!("{} {}:{}", text("name"), text("path"), it["start_line"])
    };
    symbols.iter().map(place).collect()
}

#[tokio::test]
async fn a_definition_has_its_signature_doc_and_lines() {
    let (_stack, client) = project().await;
    let found = find(&client, json!({ "name": "Circuit::admit" })).await;
    let expected = json!({
        "name": "admit", "kind": "method", "container": "Circuit", "path": "src/circuit.rs",
        "start_line": 10, "end_line": 12, "signature": "pub fn admit(&self) -> bool",
        "doc": "Whether a call may pass.",
    });
    assert_eq!(found["symbols"], json!([expected]));
    assert_eq!(
        (&found["total"], &found["truncated"]),
        (&json!(1), &json!(false))
    );
}

#[tokio::test]
async fn an_answer_without_definitions_says_what_to_do_next() {
    let (_stack, client) = project().await;
    for (arguments, said) in [
        (
            json!({ "name": "Gate::admit" }),
            "admit is defined elsewhere: `CircuitBreaker` (src/breaker.py:3), `Circuit` (",
        ),
        (
            json!({ "name": "admit", "kind": "class" }),
            "admit is defined as another kind, or elsewhere: `CircuitBreaker` (src/breaker.py:3)",
        ),
        (
            json!({ "name": "nothing_like_it", "path_glob": "src/**" }),
            "leave out path_glob",
        ),
        (json!({ "symbol": "nothing_like_it" }), "call grep_codebase"),
        (
            json!({ "name": "CirciutBreakr" }),
            "of CirciutBreakr: did you mean `CircuitBreaker` (src/breaker.py:1)? Or call",
        ),
        (
            json!({ "name": "CircuitBreaker.admti" }),
            "of CircuitBreaker.admti: did you mean `CircuitBreaker.admit` (src/breaker.py:3)? Or call",
        ),
        (
            json!({ "name": "circuit_breaker" }),
            "did you mean `CircuitBreaker` (src/breaker.py:1)?",
        ),
        (
            json!({ "query": "Gate::admit", "project": "*" }),
            "elsewhere: `CircuitBreaker` (site/src/breaker.py:3)",
        ),
    ] {
        let found = find(&client, arguments.clone()).await;
        assert_eq!(found["symbols"], json!([]), "{arguments}");
        let message = found["message"].as_str().unwrap();
        assert!(message.contains(said), "{arguments}: {message}");
    }
}

#[tokio::test]
async fn exact_names_come_first_then_code_before_tests_and_copies() {
    let (_stack, client) = project().await;
    let found = find(&client, json!({ "name": "Circuit" })).await;
    let expected = [
        "Circuit src/circuit.rs:4",
        "Circuit tests/circuit.rs:2",
        "circuit tests/circuit.rs:1",
        "Circuit vendor/circuit.go:2",
    ];
    assert_eq!(places(&found), expected);
    assert_eq!(found["symbols"][3]["generated"], true);
    let found = find(
        &client,
        json!({ "name": "*circuit*", "path_glob": "src/**" }),
    )
    .await;
    let expected = [
        "Circuit src/circuit.rs:4",
        "CircuitBreaker src/breaker.py:1",
    ];
    assert_eq!(places(&found), expected);
    let found = find(&client, json!({ "name": "admit", "kind": "method" })).await;
    let expected = ["admit src/breaker.py:3", "admit src/circuit.rs:10"];
    assert_eq!(places(&found), expected);
    let found = find(&client, json!({ "name": "nothing_like_it" })).await;
    let none = (&found["symbols"], &found["total"], &found["truncated"]);
    assert_eq!(none, (&json!([]), &json!(0), &json!(false)));
}

#[tokio::test]
async fn what_is_not_committed_is_found_as_it_stands() {
    let (stack, client) = project().await;
    let folder = stack.folder("acme", "site");
    fs::write(folder.join("src/new.rs"), "\n\npub fn admit_twice() {}\n").unwrap();
    let found = find(&client, json!({ "name": "admit_twice" })).await;
    assert_eq!(places(&found), ["admit_twice src/new.rs:3"]);
    fs::write(folder.join("src/new.rs"), "pub fn admit_twice() {}\n").unwrap();
    let found = find(&client, json!({ "name": "admit_twice" })).await;
    assert_eq!(places(&found), ["admit_twice src/new.rs:1"]);
}

#[tokio::test]
async fn pages_add_up_in_one_project_and_in_all() {
    let functions = |of: &str| {
        (0..30)
            .map(|n| format!("def {of}_{n:02}(): pass\n"))
            .collect::<String>()
    };
    let repo = |of: &str| Repo::new().file("a.py", functions(of)).commit();
    let tenant = Tenant::new("acme")
        .project("b", repo("b"))
        .project("a", repo("a"))
        .project("z", repo("z"))
        .key(Key::new("some").projects(["a", "b"]).default_project("b"));
    let stack = Harness::new().tenant(tenant).start().await;
    let client = stack.keyed("acme", "some");
    for (project, total) in [("a", 30), ("*", 60)] {
        let mut arguments = json!({ "name": "*_??", "project": project, "limit": 7 });
        let mut seen = Vec::new();
        loop {
            let page = find(&client, arguments.clone()).await;
            assert!(page["symbols"].as_array().unwrap().len() <= 7);
            seen.extend(
                column(&page["symbols"], "name")
                    .into_iter()
                    .map(str::to_owned),
            );
            let Some(cursor) = page.get("cursor") else {
                break;
            };
            assert_eq!(page["truncated"], true);
            arguments["cursor"] = cursor.clone();
        }
        assert_eq!(seen.len(), total, "{project}");
        let first = if project == "*" { "b_00" } else { "a_00" };
        assert_eq!(seen[0], first);
        arguments["cursor"] = json!("bad");
        let refused = client.call("find_symbol", arguments).await;
        assert_eq!(refused.code(), "invalid_arguments");
    }
    let reply = client
        .call("find_symbol", json!({ "name": "a_00", "project": "*" }))
        .await;
    assert_eq!(both(&reply)["symbols"][0]["project"], "a");
    let expected = json!({ "searched": 2, "remaining": 0, "skipped": [] });
    assert_eq!(*reply.meta("projects"), expected);
}

#[tokio::test]
async fn a_text_without_a_name_and_a_bad_glob_are_refused() {
    let (_stack, client) = project().await;
    for (arguments, code) in [
        (json!({ "name": "::" }), "invalid_arguments"),
        (json!({ "name": "a", "path_glob": "[" }), "invalid_pattern"),
        (json!({ "name": "a", "kind": "thing" }), "invalid_arguments"),
        (json!({ "name": "a", "cursor": "x" }), "invalid_arguments"),
    ] {
        let refused = client.call("find_symbol", arguments.clone()).await;
        assert_eq!(refused.code(), code, "{arguments}");
    }
}

#[tokio::test]
async fn types_come_before_functions_and_variants_of_the_same_name() {
    let repo = Repo::new()
        .file("src/a.rs", "pub enum Kind {\n    Gate,\n}\n")
        .file("src/b.rs", "pub fn Gate() {}\n")
        .file("src/c.rs", "pub struct Gate;\n");
    let (_stack, client) = serve(repo.commit()).await;
    let found = find(&client, json!({ "name": "Gate" })).await;
    let shown = places(&found).join(", ");
    assert_eq!(shown, "Gate src/c.rs:1, Gate src/b.rs:1, Gate src/a.rs:2");
}

#[tokio::test]
async fn a_whole_name_comes_first_and_tests_and_private_ones_last() {
    let repo = Repo::new()
        .file(
            "src/a.py",
            "def close_gate(): pass\ndef gate(): pass\ndef gate_of(): pass\n",
        )
        .file("tests/b.py", "def gate(): pass\n")
        .file("src/c.rs", "fn admit() {}\n")
        .file("src/d.rs", "pub fn admit() {}\n")
        .file("tests/e.rs", "pub fn admit() {}\n");
    let (_stack, client) = serve(repo.commit()).await;
    for (name, expected) in [
        (
            "*gate*",
            vec![
                "gate src/a.py:2",
                "gate tests/b.py:1",
                "gate_of src/a.py:3",
                "close_gate src/a.py:1",
            ],
        ),
        (
            "admit",
            vec!["admit src/d.rs:1", "admit src/c.rs:1", "admit tests/e.rs:1"],
        ),
    ] {
        let found = find(&client, json!({ "name": name })).await;
        assert_eq!(places(&found), expected, "{name}");
    }
}
