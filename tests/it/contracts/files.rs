//! `list_files`: the repo contract.

use e2e::{Client, Repo, Stack};
use serde_json::{Value, json};

use super::{both, column};
use crate::serve;

pub(super) async fn project() -> (Stack, Client) {
    let repo = Repo::new()
        .file(".gitignore", "ignored/\n*.log\n")
        .file(".github/ci.yml", "on: push\n")
        .file("README.md", "# Site\n")
        .file("src/index.ts", "export {}\n")
        .file("src/utils/helpers.ts", "export const a = 1;\n")
        .file("src/utils/deep/er/most.ts", "x\n")
        .file("ignored/x.ts", "x\n")
        .file("debug.log", "x\n")
        .file("dist/bundle.js", "bundled\n");
    serve(repo.commit()).await
}

fn paths(data: &Value) -> Vec<&str> {
    column(&data["files"], "path")
}

#[tokio::test]
async fn a_list_has_folders_first_and_omits_hidden_and_ignored_files() {
    let (_stack, client) = project().await;
    let reply = client.call("list_files", json!({})).await;
    let data = both(&reply);
    let expected = [
        "README.md",
        "dist",
        "dist/bundle.js",
        "src",
        "src/index.ts",
        "src/utils",
        "src/utils/deep",
        "src/utils/helpers.ts",
    ];
    assert_eq!(paths(data), expected);
    assert_eq!(
        (&data["total_count"], &data["truncated"]),
        (&json!(8), &json!(false))
    );
    assert!(data.get("cursor").is_none());
    let (folder, file) = (&data["files"][3], &data["files"][4]);
    assert_eq!(
        (&folder["type"], folder.get("size")),
        (&json!("directory"), None)
    );
    assert_eq!((&file["type"], &file["size"]), (&json!("file"), &json!(10)));
    assert!(
        file["modified_at"].as_str().unwrap().ends_with('Z'),
        "{file}"
    );
    assert_eq!(reply.meta("untrusted"), true);
}

#[tokio::test]
async fn depth_counts_from_the_directory() {
    let (_stack, client) = project().await;
    let list = async |arguments: Value| client.call("list_files", arguments).await;
    let top = list(json!({ "max_depth": 1 })).await;
    assert_eq!(paths(top.structured()), ["README.md", "dist", "src"]);
    let src = list(json!({ "directory": "src", "max_depth": 1 })).await;
    assert_eq!(paths(src.structured()), ["src/index.ts", "src/utils"]);
    let deep = list(json!({ "directory": "src/utils/deep", "max_depth": 2 })).await;
    assert_eq!(
        paths(deep.structured()),
        ["src/utils/deep/er", "src/utils/deep/er/most.ts"]
    );
}

#[tokio::test]
async fn a_pattern_lists_files_only() {
    let (_stack, client) = project().await;
    for (arguments, expected) in [
        (
            json!({ "pattern": "*.ts", "max_depth": 2 }),
            vec!["src/index.ts"],
        ),
        (
            json!({ "pattern": "*.ts" }),
            vec![
                "src/index.ts",
                "src/utils/deep/er/most.ts",
                "src/utils/helpers.ts",
            ],
        ),
        (json!({ "pattern": "src/*.ts" }), vec!["src/index.ts"]),
        (json!({ "pattern": "/README.md" }), vec!["README.md"]),
        (
            json!({ "pattern": "src/utils/", "max_depth": 9 }),
            vec!["src/utils/deep/er/most.ts", "src/utils/helpers.ts"],
        ),
        (json!({ "pattern": "[!a-h]ndex.*" }), vec!["src/index.ts"]),
        (
            json!({ "pattern": "**/*.{md,js}" }),
            vec!["README.md", "dist/bundle.js"],
        ),
        (json!({ "pattern": "utils" }), vec![]),
    ] {
        let reply = client.call("list_files", arguments.clone()).await;
        assert_eq!(paths(reply.structured()), expected, "{arguments}");
        assert_eq!(
            reply.structured()["total_count"],
            expected.len(),
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn a_glob_that_does_not_parse_says_where() {
    let (_stack, client) = project().await;
    for (pattern, problem) in [
        ("[a", "unclosed character class"),
        ("!*.ts", "a glob can't be negated"),
        ("{a,b", "unclosed alternate group"),
    ] {
        for (tool, argument) in [
            ("list_files", "pattern"),
            ("search_files", "glob"),
            ("grep_codebase", "file_pattern"),
            ("context_search", "path_glob"),
        ] {
            if (tool, pattern) == ("context_search", "!*.ts") {
                continue;
            }
            let mut arguments = match tool {
                "context_search" => json!({ "query": "what is x" }),
                _ => json!({ "pattern": "x" }),
            };
            arguments[argument] = json!(pattern);
            let reply = client.call(tool, arguments).await;
            assert_eq!(
                reply.code(),
                "invalid_pattern",
                "{tool} {pattern}: {}",
                reply.value()
            );
            let said = reply.error()["message"].as_str().unwrap();
            let words = format!("Invalid glob pattern: {pattern}: {problem}");
            assert!(said.starts_with(&words), "{tool}: {said}");
            assert_eq!(reply.error()["details"]["position"], 0, "{tool} {pattern}");
        }
    }
}

#[tokio::test]
async fn hidden_files_are_shown_on_request_and_git_never() {
    let (_stack, client) = project().await;
    let reply = client
        .call(
            "list_files",
            json!({ "include_hidden": true, "max_depth": 2 }),
        )
        .await;
    let shown = paths(reply.structured());
    assert!(
        shown.contains(&".github/ci.yml") && shown.contains(&".gitignore"),
        "{shown:?}"
    );
    assert!(
        !shown
            .iter()
            .any(|path| path.starts_with(".git/") || *path == ".git"),
        "{shown:?}"
    );
    let hidden = client
        .call("list_files", json!({ "directory": ".github" }))
        .await;
    assert_eq!(
        hidden.structured()["total_count"],
        1,
        "requested by name it is no secret"
    );
}

#[tokio::test]
async fn a_file_given_as_directory_is_not_found() {
    let (_stack, client) = project().await;
    for directory in ["nope", "README.md", "src/index.ts/x"] {
        let reply = client
            .call("list_files", json!({ "directory": directory }))
            .await;
        assert_eq!(
            reply.code(),
            "directory_not_found",
            "{directory}: {}",
            reply.value()
        );
        let is_file = reply.text().contains("it is a file: call read_file");
        assert_eq!(is_file, directory == "README.md", "{}", reply.text());
    }
}

#[tokio::test]
async fn five_hundred_entries_are_a_page_and_the_cursor_leads_through_the_rest() {
    let many = (0..1203).fold(Repo::new(), |repo, n| repo.file(&format!("f{n:04}"), "x"));
    let (stack, client) = serve(many.commit()).await;
    let mut seen = Vec::new();
    let mut arguments = json!({});
    loop {
        let reply = client.call("list_files", arguments.clone()).await;
        let data = reply.structured();
        assert_eq!(data["total_count"], 1203, "the whole, on every page");
        seen.extend(paths(data).into_iter().map(str::to_owned));
        let Some(cursor) = data.get("cursor") else {
            assert_eq!(data["truncated"], false);
            break;
        };
        assert_eq!(data["truncated"], true);
        arguments = json!({ "cursor": cursor });
    }
    assert_eq!(
        seen,
        (0..1203).map(|n| format!("f{n:04}")).collect::<Vec<_>>()
    );
    // A cursor belongs to its commit, since its positions may have moved.
    let first = client.call("list_files", json!({})).await;
    e2e::git(
        &stack.folder("acme", "site"),
        &["commit", "--allow-empty", "--message", "next"],
    );
    let late = json!({ "cursor": first.structured()["cursor"] });
    assert_eq!(
        client.call("list_files", late).await.code(),
        "invalid_arguments"
    );
}

#[tokio::test]
async fn files_made_and_removed_between_calls_are_seen() {
    let (stack, client) = project().await;
    let folder = stack.folder("acme", "site");
    let count = async || {
        let reply = client
            .call("list_files", json!({ "pattern": "*.txt", "max_depth": 9 }))
            .await;
        reply.structured()["total_count"].as_u64().unwrap()
    };
    assert_eq!(count().await, 0);
    for n in 1..=20 {
        std::fs::write(folder.join(format!("src/utils/n{n}.txt")), "x").unwrap();
        assert_eq!(count().await, n);
    }
    std::fs::remove_dir_all(folder.join("src/utils")).unwrap();
    assert_eq!(count().await, 0);
    std::fs::write(folder.join("late.txt"), "x").unwrap();
    assert_eq!(count().await, 1);
    std::fs::write(folder.join(".gitignore"), "late.txt\n").unwrap();
    assert_eq!(count().await, 0);
}

#[tokio::test]
async fn a_refusal_repeats_little_of_a_path_and_nothing_unseen() {
    let (_stack, client) = serve(Repo::new().file("a.txt", "one\n").commit()).await;
    for path in ["odd/\u{1b}[31m\u{202e}".to_owned(), "x".repeat(4_000)] {
        for tool in ["read_file", "read_repo_file"] {
            let refused = client.call(tool, json!({ "path": path })).await;
            let message = refused.error()["message"].as_str().unwrap().to_owned();
            assert!(message.len() < 300, "{tool}: {message}");
            assert!(
                !message.contains(['\u{1b}', '\u{202e}']),
                "{tool}: {message}"
            );
        }
    }
}

#[tokio::test]
async fn a_link_on_the_allow_list_does_not_lead_off_it() {
    let repo = Repo::new()
        .file("src/a.txt", "inside, but not on the list\n")
        .file("docs/b.txt", "on the list\n")
        .link("docs/to_a.txt", "../src/a.txt")
        .link("docs/to_b.txt", "b.txt")
        .commit();
    let (_stack, client) = serve(repo).await;
    let read = async |path: &str| client.call("read_repo_file", json!({ "path": path })).await;
    assert_eq!(read("docs/to_a.txt").await.code(), "access_denied");
    assert_eq!(
        read("docs/to_b.txt").await.structured()["content"],
        "on the list\n"
    );
}
