//! `search_files` and `grep_codebase`: the repo and context contracts. `search_differential` compares the
//! matches with ripgrep.

use e2e::{Client, Repo, Stack};
use serde_json::{Value, json};

use super::{both, column};
use crate::serve;

async fn project() -> (Stack, Client) {
    let repo = Repo::new()
        .file(
            "src/login.ts",
            "one\ntwo\nasync function Login() {\n  validate();\n}\nsix\n",
        )
        .file("src/z.ts", "function z() {}\n")
        .file(".github/ci.yml", "run: function\n")
        .file("a.b.txt", "a.b\naxb\n")
        .file("node_modules/x.js", "function\n")
        .file("dist/x.js", "function\n")
        .file("lib/build/x.js", "function\n")
        .file("x.min.js", "function\n")
        .file("yarn.lock", "function\n")
        .file("x.js.map", "function\n")
        .file(".next/x.js", "function\n")
        .file("blob.bin", b"function\0")
        .file(
            "wide.txt",
            format!("{}needle{}\n", "é".repeat(1500), "x".repeat(1500)),
        )
        .file("crlf.txt", "alpha\r\nomega\r\n")
        .file("utf16.txt", utf16("widefunction\n"));
    serve(repo.commit()).await
}

fn utf16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

async fn search(client: &Client, arguments: Value) -> Value {
    both(&client.call("search_files", arguments).await).clone()
}

async fn grep(client: &Client, arguments: Value) -> Value {
    both(&client.call("grep_codebase", arguments).await).clone()
}

#[tokio::test]
async fn search_files_shows_lines_with_their_context() {
    let (_stack, client) = project().await;
    let data = search(
        &client,
        json!({ "pattern": "function login", "glob": "*.ts" }),
    )
    .await;
    assert_eq!(
        data["matches"],
        json!([{
            "path": "src/login.ts",
            "line_number": 3,
            "line_content": "async function Login() {",
            "context": { "before": ["one", "two"], "after": ["  validate();", "}"] },
        }])
    );
    assert_eq!(
        (&data["total_matches"], &data["files_searched"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(data["truncated"], false);
    assert!(data["duration_ms"].is_u64());
    let bare = json!({ "pattern": "function login", "context_lines": 0 });
    let bare = search(&client, bare).await;
    assert_eq!(
        bare["matches"][0]["context"],
        json!({ "before": [], "after": [] })
    );
    let none = json!({ "pattern": "function login", "case_sensitive": true });
    assert_eq!(search(&client, none).await["total_matches"], 0);
}

#[tokio::test]
async fn search_files_takes_its_pattern_literally_by_default() {
    let (_stack, client) = project().await;
    assert_eq!(
        search(&client, json!({ "pattern": "a.b" })).await["total_matches"],
        1
    );
    let regex = search(&client, json!({ "pattern": "a.b", "is_regex": true })).await;
    assert_eq!(regex["total_matches"], 2);
    assert_eq!(
        search(&client, json!({ "pattern": "(" })).await["total_matches"],
        3
    );
}

#[tokio::test]
async fn search_files_skips_what_its_contract_names_but_not_hidden_files() {
    let (_stack, client) = project().await;
    let data = search(&client, json!({ "pattern": "function" })).await;
    let expected = [
        ".github/ci.yml",
        ".next/x.js",
        "src/login.ts",
        "src/z.ts",
        "utf16.txt",
    ];
    assert_eq!(column(&data["matches"], "path"), expected);
    let named = search(&client, json!({ "pattern": "function", "glob": "dist/**" })).await;
    assert_eq!(
        named["files_searched"], 0,
        "not even if the glob names them"
    );
}

#[tokio::test]
async fn grep_codebase_finds_lines_with_column_and_context() {
    let (_stack, client) = project().await;
    let data = grep(
        &client,
        json!({ "pattern": r"function\s+login", "file_pattern": "src/**" }),
    )
    .await;
    assert_eq!(
        data["matches"],
        json!([{
            "file": "src/login.ts",
            "line": 3,
            "column": 7,
            "text": "async function Login() {",
            "context": { "before": ["one", "two"], "after": ["  validate();", "}"] },
        }])
    );
    assert_eq!(data["pattern"], r"function\s+login");
    assert_eq!(
        (&data["totalMatches"], &data["filesSearched"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(data["truncated"], false);
    assert!(data["searchTime"].is_u64() && data.get("message").is_none());
}

#[tokio::test]
async fn grep_codebase_skips_what_its_contract_names() {
    let (_stack, client) = project().await;
    let data = grep(&client, json!({ "pattern": "function", "limit": 100 })).await;
    let files = column(&data["matches"], "file");
    let expected = [
        ".github/ci.yml",
        "src/login.ts",
        "src/z.ts",
        "utf16.txt",
        "x.js.map",
        "x.min.js",
        "yarn.lock",
    ];
    assert_eq!(files, expected);
}

#[tokio::test]
async fn finding_nothing_is_a_success_with_a_message() {
    let (_stack, client) = project().await;
    let data = grep(&client, json!({ "pattern": "xyznonexistent123" })).await;
    assert_eq!(
        (&data["matches"], &data["totalMatches"]),
        (&json!([]), &json!(0))
    );
    assert!(data["message"].is_string());
}

#[tokio::test]
async fn a_pattern_that_does_not_parse_or_needs_more_than_a_line_is_refused() {
    let (_stack, client) = project().await;
    for pattern in [
        "(",
        "a{2,1}",
        "[z-a]",
        r"a\nb",
        "(?=a)",
        r"(a)\1",
        "a{1000}{1000}",
    ] {
        for (tool, arguments) in [
            ("grep_codebase", json!({ "pattern": pattern })),
            (
                "search_files",
                json!({ "pattern": pattern, "is_regex": true }),
            ),
        ] {
            let reply = client.call(tool, arguments).await;
            assert_eq!(
                reply.code(),
                "invalid_pattern",
                "{tool} {pattern}: {}",
                reply.value()
            );
        }
    }
    let long = format!("{}[", "é".repeat(150));
    let (start, unseen) = ("é".repeat(100), "a\u{202e}\n(");
    for (pattern, said) in [
        (
            "[invalid(",
            "Invalid regex pattern: [invalid(: unclosed character class".to_owned(),
        ),
        (
            &long,
            format!("Invalid regex pattern: {start}…: unclosed character class"),
        ),
        (
            unseen,
            "Invalid regex pattern: a\\u{202e}\\n(: unclosed group".to_owned(),
        ),
    ] {
        for (tool, more) in [
            ("grep_codebase", json!({})),
            ("search_files", json!({ "is_regex": true })),
        ] {
            let mut arguments = more;
            arguments["pattern"] = json!(pattern);
            let reply = client.call(tool, arguments).await;
            assert_eq!(reply.error()["message"], said, "{tool}");
        }
    }
    let text = json!({ "pattern": "one\ntwo" });
    let reply = client.call("search_files", text).await;
    let said = reply.error()["message"].as_str().unwrap();
    assert!(
        said.starts_with("Invalid search text: one\\ntwo: "),
        "{said}"
    );
    let reply = client
        .call("grep_codebase", json!({ "pattern": "é(" }))
        .await;
    assert_eq!(
        reply.error()["details"]["position"],
        1,
        "a character: {}",
        reply.value()
    );
}

#[tokio::test]
async fn a_line_end_is_no_part_of_a_line() {
    let (_stack, client) = project().await;
    let data = grep(&client, json!({ "pattern": "^alpha$" })).await;
    assert_eq!(data["matches"][0]["text"], "alpha");
    assert_eq!(data["matches"][0]["context"]["after"], json!(["omega"]));
}

#[tokio::test]
async fn a_wide_line_is_cut_around_its_match() {
    let (_stack, client) = project().await;
    let data = grep(&client, json!({ "pattern": "needle" })).await;
    let found = &data["matches"][0];
    assert_eq!(
        (&found["lineTruncated"], &found["column"]),
        (&json!(true), &json!(1501))
    );
    let text = found["text"].as_str().unwrap();
    assert!(
        text.contains("needle") && text.starts_with('…') && text.ends_with('…'),
        "{text}"
    );
    assert!(text.chars().count() <= 1002);
}
