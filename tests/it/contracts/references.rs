//! `find_references`: who uses a definition, and how sure that is.

mod mirror;
mod scopes;
mod unresolved;

use e2e::{Client, Repo, Stack};
use serde_json::{Value, json};

use super::both;
use crate::serve;

async fn project() -> (Stack, Client) {
    let repo = Repo::new()
        .file("net/gate.py", "class Gate:\n    def admit(self):\n        return self.admit()\n\n\ndef build():\n    return Gate()\n")
        .file("net/__init__.py", "")
        .file("app.py", "from net.gate import Gate, build\n# Gate in a comment, 'build' in a string\n\ndef main():\n    gate = build()\n    gate.admit()\n    Gate.admit(gate)\n    build = 1\n    return build\n")
        .file("other.py", "class Gate:\n    pass\n\nGate()\ndoor.admit()\n")
        .file("web/gate.ts", "export class Gate {}\nexport function build() { return new Gate(); }\n")
        .file("web/app.ts", "import { Gate } from './gate';\nconst g: Gate = new Gate();\n")
        .file("vendor/app.ts", "new Gate();\n");
    serve(repo.commit()).await
}

async fn references(client: &Client, arguments: Value) -> Value {
    both(&client.call("find_references", arguments).await).clone()
}

/// `path:line:column kind confidence` of each reference.
fn places(found: &Value) -> Vec<String> {
    let references = found["references"].as_array().unwrap();
    let place = |it: &Value| {
        let text = |field: &str| it[field].as_str().unwrap().to_owned();
        let (line, column) = (&it["line"], &it["column"]);
        format!(
            "{}:{line}:{column} {} {}",
            text("path"),
            text("kind"),
            text("confidence")
        )
    };
    references.iter().map(place).collect()
}

#[tokio::test]
async fn the_use_of_another_class_of_the_name_is_not_meant() {
    let (_stack, client) = project().await;
    let found = references(&client, json!({ "symbol": "net/gate.py:1" })).await;
    let expected = [
        "app.py:1:22 import certain",
        "app.py:7:5 other certain",
        "net/gate.py:7:12 call certain",
    ];
    assert_eq!(places(&found), expected);
    assert_eq!(
        found["definitions"],
        json!([{ "path": "net/gate.py", "line": 1 }])
    );
    assert_eq!(found["symbol"], "Gate");
}

#[tokio::test]
async fn a_name_means_all_of_its_definitions() {
    let (_stack, client) = project().await;
    let found = references(&client, json!({ "symbol": "Gate", "path_glob": "**/*.ts" })).await;
    let expected = [
        "web/app.ts:1:10 import certain",
        "web/app.ts:2:10 type certain",
        "web/app.ts:2:21 call certain",
        "web/gate.ts:2:38 call certain",
        "vendor/app.ts:1:5 call name",
    ];
    assert_eq!(places(&found), expected);
    let defined = found["definitions"].as_array().unwrap().len();
    assert_eq!(defined, 3);
    let counts = json!([
        { "path": "web/app.ts", "count": 3 },
        { "path": "vendor/app.ts", "count": 1 },
        { "path": "web/gate.ts", "count": 1 },
    ]);
    assert_eq!(found["by_file"], counts);
    assert_eq!(found["references"][3]["in"], "build");
    assert_eq!(
        found["references"][3]["text"],
        "export function build() { return new Gate(); }"
    );
}

#[tokio::test]
async fn methods_are_certain_by_their_type_alone() {
    let (_stack, client) = project().await;
    let found = references(&client, json!({ "symbol": "Gate.admit" })).await;
    let expected = [
        "app.py:7:10 call certain",
        "net/gate.py:3:21 call certain",
        "app.py:6:10 call likely",
        "other.py:5:6 call likely",
    ];
    assert_eq!(places(&found), expected);
    let sure = json!({ "symbol": "Gate.admit", "confidence": "certain" });
    assert_eq!(places(&references(&client, sure).await), expected[..2]);
}

#[tokio::test]
async fn locals_of_the_name_are_no_references() {
    let (_stack, client) = project().await;
    let symbol = json!({ "symbol": "net/gate.py:6" });
    let found = references(&client, symbol).await;
    assert_eq!(
        places(&found),
        ["app.py:1:28 import certain", "app.py:5:12 call certain"]
    );
}

#[tokio::test]
async fn pages_add_up_and_a_default_reply_fits() {
    let calls = (0..300)
        .map(|n| format!("{}admit({n})\n", " ".repeat(n % 3)))
        .collect::<String>();
    let repo = Repo::new().file("a.js", format!("function admit() {{}}\n{calls}"));
    let (_stack, client) = serve(repo.commit()).await;
    let mut arguments = json!({ "symbol": "admit" });
    let mut lines = Vec::new();
    loop {
        let page = references(&client, arguments.clone()).await;
        assert!(page.to_string().len() < 16 << 10);
        assert_eq!(page["total"], 300);
        let references = page["references"].as_array().unwrap();
        lines.extend(references.iter().map(|it| it["line"].as_u64().unwrap()));
        let Some(cursor) = page.get("cursor") else {
            break;
        };
        arguments["cursor"] = cursor.clone();
    }
    assert_eq!(lines, (2..302).collect::<Vec<u64>>());
}

#[tokio::test]
async fn a_place_without_a_definition_is_refused() {
    let (_stack, client) = project().await;
    for (symbol, code) in [
        ("app.py:99", "invalid_line_range"),
        ("missing.py:1", "file_not_found"),
        (".env:1", "access_denied"),
        ("../x.py:1", "access_denied"),
        ("::", "invalid_arguments"),
        ("*a*", "invalid_arguments"),
        ("net/gate.py", "invalid_arguments"),
        ("net/gate.py:1-7", "invalid_arguments"),
        ("net/gate.py:1:6", "file_not_found"),
        ("net/gate.py:1:99", "file_not_found"),
    ] {
        let refused = client
            .call("find_references", json!({ "symbol": symbol }))
            .await;
        assert_eq!(refused.code(), code, "{symbol}");
    }
    let none = references(&client, json!({ "symbol": "nothing_like_it" })).await;
    assert_eq!(
        (&none["total"], &none["definitions"]),
        (&json!(0), &json!([]))
    );
    let message = none["message"].as_str().unwrap();
    assert!(message.contains("grep_codebase"), "{message}");
}

#[tokio::test]
async fn a_place_may_have_a_column_and_a_near_path_is_named() {
    let (_stack, client) = project().await;
    let at_column = references(&client, json!({ "symbol": "net/gate.py:1:7" })).await;
    let at_line = references(&client, json!({ "symbol": "net/gate.py:1" })).await;
    assert_eq!(places(&at_column), places(&at_line));
    // A use stands there: it means the name.
    let use_of = references(&client, json!({ "symbol": "app.py:5:14" })).await;
    assert_eq!(use_of["symbol"], "build");
    let beyond = json!({ "symbol": "net/gate.py:9999" });
    let beyond = client.call("find_references", beyond).await;
    assert_eq!(beyond.code(), "invalid_line_range");
    assert!(
        beyond.text().contains("lines; call outline"),
        "{}",
        beyond.text()
    );
    let misspelt = json!({ "name": "net/gaet.py:1" });
    let refused = client.call("find_references", misspelt).await;
    assert_eq!(refused.code(), "file_not_found");
    let text = refused.text();
    assert!(text.contains("did you mean `net/gate.py`"), "{text}");
}

#[tokio::test]
async fn an_answer_without_uses_or_definitions_says_why() {
    let (_stack, client) = project().await;
    for (arguments, said) in [
        (
            json!({ "symbol": "Door::admit" }),
            "no definition of Door::admit is known",
        ),
        (
            json!({ "symbol": "Gate", "path_glob": "docs/**" }),
            "with any path_glob",
        ),
        (
            json!({ "symbol": "main", "confidence": "certain" }),
            "the confidence `name`",
        ),
        (json!({ "symbol": "main" }), "not used by name"),
        (
            json!({ "symbol": "buildd" }),
            "no use: did you mean `build` (net/gate.py:6)? Or call",
        ),
    ] {
        let found = references(&client, arguments.clone()).await;
        let message = found["message"].as_str().unwrap();
        assert!(message.contains(said), "{arguments}: {message}");
    }
}

#[tokio::test]
async fn a_glob_stands_for_one_name_or_is_refused() {
    let (_stack, client) = project().await;
    let one = references(&client, json!({ "symbol": "admi*" })).await;
    assert_eq!(one["symbol"], "admit");
    let refused = client.call("find_references", json!({ "symbol": "*i*" }));
    let refused = refused.await;
    let text = refused.text();
    assert!(
        text.contains("matches 3 names, such as admit, build, main"),
        "{text}"
    );
}
