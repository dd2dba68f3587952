//! search_files and grep_codebase: the repo and context contracts. What matches at all is
//! compared with ripgrep in `search_differential`.

use e2e::{Client, Harness, Repo, Stack, Tenant};
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
async fn search_files_takes_its_pattern_word_for_word_unless_told_otherwise() {
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
async fn search_files_leaves_out_what_its_contract_names_and_searches_hidden_files() {
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
async fn grep_codebase_leaves_out_what_its_contract_names() {
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

#[tokio::test]
async fn a_page_ends_with_a_cursor_and_counts_stay_whole() {
    let files = (0..30).fold(Repo::new(), |r, n| {
        r.file(&format!("f{n:02}.txt"), "hit\nno\nhit\nhit\n")
    });
    let (_stack, client) = serve(files.commit()).await;
    for (tool, limit, place) in [
        ("search_files", "max_results", "path"),
        ("grep_codebase", "limit", "file"),
    ] {
        let mut arguments = json!({ "pattern": "hit", limit: 40 });
        let mut seen = Vec::new();
        let pages = loop {
            let data = client
                .call(tool, arguments.clone())
                .await
                .structured()
                .clone();
            seen.extend(
                column(&data["matches"], place)
                    .into_iter()
                    .map(str::to_owned),
            );
            let total = data
                .get("total_matches")
                .or(data.get("totalMatches"))
                .unwrap();
            assert_eq!(*total, 90, "{tool}");
            match data.get("cursor") {
                Some(cursor) => arguments["cursor"] = cursor.clone(),
                None => break data["truncated"].clone(),
            }
        };
        assert_eq!(pages, false);
        assert_eq!(seen.len(), 90, "{tool}");
        assert!(seen.is_sorted(), "{tool}");
    }
}

#[tokio::test]
async fn a_result_keeps_to_its_budget_by_dropping_context_then_matches() {
    let line = "hit ".repeat(200);
    let repo = (0..40).fold(Repo::new(), |r, n| {
        r.file(&format!("f{n:02}.txt"), format!("{line}\n").repeat(9))
    });
    let (_stack, client) = serve(repo.commit()).await;
    let arguments = json!({ "pattern": "hit", "max_results": 1000, "context_lines": 4 });
    let reply = client.call("search_files", arguments).await;
    let data = both(&reply);
    assert!(
        reply.text().len() <= 64 << 10,
        "{} bytes",
        reply.text().len()
    );
    assert_eq!(
        (&data["truncated"], &data["total_matches"]),
        (&json!(true), &json!(360))
    );
    assert!(data["cursor"].is_string());
    assert!(
        data["matches"].as_array().unwrap().len() > 50,
        "matches before context"
    );
}

#[tokio::test]
async fn a_star_searches_every_project_in_order_and_names_it() {
    let of = |word: &str| {
        Repo::new()
            .file("a.txt", format!("{word} sesame\n"))
            .commit()
    };
    let acme = Tenant::new("acme")
        .project("one", of("one"))
        .project("two", of("two"));
    let stack = Harness::new().tenant(acme).start().await;
    let client = stack.client("acme");
    let arguments = json!({ "pattern": "sesame", "project": "*" });
    let reply = client.call("grep_codebase", arguments.clone()).await;
    assert_eq!(column(&both(&reply)["matches"], "project"), ["one", "two"]);
    assert_eq!(reply.structured()["totalMatches"], 2);
    assert_eq!(reply.meta("commit"), &Value::Null);
    let reply = client.call("search_files", arguments).await;
    assert_eq!(
        column(&both(&reply)["matches"], "line_content"),
        ["one sesame", "two sesame"]
    );
}
