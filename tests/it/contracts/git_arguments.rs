//! `git_log`, `git_blame` and `git_diff`: what they refuse and in which words, and the spellings of their
//! arguments in the git contract.

use e2e::Repo;
use serde_json::{Value, json};

use super::git::project;
use crate::serve;

#[tokio::test]
async fn refusals_use_the_contracts_words() {
    let (_stack, client, _folder) = project().await;
    for (tool, arguments, code, message) in [
        (
            "git_log",
            json!({ "ref": "nope" }),
            "revision_not_found",
            "Invalid commit reference: nope",
        ),
        (
            "git_blame",
            json!({ "file_path": "src/auth/jwt.ts", "ref": "nope" }),
            "revision_not_found",
            "Invalid git reference: nope",
        ),
        (
            "git_diff",
            json!({ "ref1": "nope" }),
            "revision_not_found",
            "Invalid git reference: nope",
        ),
        (
            "git_blame",
            json!({ "file_path": "nope.ts" }),
            "file_not_tracked",
            "File not tracked by git: nope.ts",
        ),
        (
            "git_blame",
            json!({ "file_path": "src" }),
            "file_not_tracked",
            "File not tracked by git: src",
        ),
        (
            "git_blame",
            json!({ "file_path": "src/auth/jwt.ts", "start_line": 7, "end_line": 11 }),
            "invalid_line_range",
            "Invalid line range: 7-11",
        ),
        (
            "git_blame",
            json!({ "file_path": "src/auth/jwt.ts", "start_line": 9 }),
            "invalid_line_range",
            "Invalid line range: 9-4",
        ),
        (
            "git_diff",
            json!({ "ref2": "HEAD" }),
            "invalid_arguments",
            "",
        ),
        (
            "git_log",
            json!({ "max_count": 101 }),
            "invalid_arguments",
            "",
        ),
        (
            "git_log",
            json!({ "since": ":/fix" }),
            "invalid_arguments",
            "",
        ),
        (
            "git_log",
            json!({ "ref": "--all" }),
            "invalid_arguments",
            "Invalid commit reference: --all: ",
        ),
        (
            "git_diff",
            json!({ "ref1": "v1.0.0^{tree}" }),
            "invalid_arguments",
            "",
        ),
        (
            "git_blame",
            json!({ "file_path": "../jwt.ts" }),
            "access_denied",
            "",
        ),
        (
            "git_blame",
            json!({ "file_path": "logo.png", "ref": "v1.0.0" }),
            "binary_file",
            "",
        ),
    ] {
        let reply = client.call(tool, arguments.clone()).await;
        assert!(reply.is_error(), "{tool} {arguments}: {}", reply.text());
        assert_eq!(reply.code(), code, "{tool} {arguments}: {}", reply.text());
        let said = reply.error()["message"].as_str().unwrap();
        let begins = said.to_lowercase().starts_with(&message.to_lowercase());
        assert!(begins, "{tool} {arguments}: {said}");
    }
    let (_stack, plain) = serve(Repo::new().file("a.txt", "a")).await;
    for (tool, arguments) in [
        ("git_log", json!({})),
        ("git_blame", json!({ "file_path": "a.txt" })),
        ("git_diff", json!({})),
    ] {
        let reply = plain.call(tool, arguments).await;
        assert_eq!(reply.code(), "not_a_git_repository", "{tool}");
        let said = reply.error()["message"].as_str().unwrap();
        assert!(
            said.to_lowercase()
                .contains("project is not a git repository"),
            "{tool}: {said}"
        );
        let text: Value = serde_json::from_str(reply.text()).expect("a refusal is JSON");
        assert_eq!(&text["error"], reply.error());
    }
}

#[tokio::test]
async fn an_invalid_since_or_until_is_refused_with_valid_examples() {
    let (_stack, client, _folder) = project().await;
    for (text, code, more) in [
        ("last tuesday", "revision_not_found", ""),
        ("2025-13-01", "revision_not_found", ""),
        ("v9.9.9", "revision_not_found", ""),
        (
            "2025-01-01T25:00:00Z",
            "invalid_arguments",
            " (as a revision, it names a path",
        ),
        (
            ":/fix",
            "invalid_arguments",
            " (as a revision, commits are not looked up by message",
        ),
    ] {
        for end in ["since", "until"] {
            let reply = client.call("git_log", json!({ end: text })).await;
            assert_eq!(reply.code(), code, "{end} {text}: {}", reply.value());
            let said = reply.error()["message"].as_str().unwrap();
            let words = format!(
                "Invalid commit reference: {text}: neither a date nor a revision here{more}"
            );
            assert!(said.starts_with(&words), "{said}");
            let suggestion = reply.error()["suggestion"].as_str().unwrap();
            for example in ["\"2025-01-01\"", "\"30 days ago\"", "\"HEAD~3\""] {
                assert!(suggestion.contains(example), "{suggestion}");
            }
        }
    }
}

#[tokio::test]
async fn arguments_may_be_spelled_as_the_contract_spells_them() {
    let (_stack, client, _folder) = project().await;
    let arguments = json!({ "filePath": "auth.test.ts", "maxCount": 1, "since": "2025-10-01", "until": "v2.0.0" });
    let log = client.call("git_log", arguments).await;
    assert_eq!(
        log.structured()["commits"][0]["files"][0]["old_path"],
        "tests.ts",
        "{}",
        log.text()
    );
    assert_eq!(log.structured()["truncated"], true);
    let diff = client
        .call(
            "git_diff",
            json!({ "ref1": "HEAD~1", "ref2": "HEAD", "filePath": "tests.ts" }),
        )
        .await;
    assert_eq!(
        diff.structured()["files_changed"],
        1,
        "by the old name: {}",
        diff.text()
    );
}
