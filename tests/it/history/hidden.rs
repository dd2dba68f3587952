//! What a history must not reveal: blocked names and their content; and what a repository
//! must not make Archway run.

use std::fs;

use e2e::{Client, Repo, git, sample_calls};
use serde_json::{Value, json};

use super::commit;
use crate::serve;

const ADA: &str = "Ada <ada@example.com>";
const DATE: &str = "2026-01-02T03:04:05Z";
const SECRETS: [&str; 4] = [
    ".env",
    "deploy/server.pem",
    "secrets/plan.txt",
    "app/credentials.json",
];

/// Every kind of request about a whole history.
fn everything() -> Vec<(&'static str, Value)> {
    vec![
        ("git_log", json!({ "max_count": 100 })),
        (
            "git_log",
            json!({ "max_count": 100, "file_path": "deploy" }),
        ),
        ("git_log", json!({ "max_count": 100, "file_path": "." })),
        (
            "git_log",
            json!({ "max_count": 100, "file_path": "open.txt" }),
        ),
        ("git_blame", json!({ "file_path": "open.txt" })),
        (
            "git_blame",
            json!({ "file_path": "open.txt", "ref": "HEAD~1" }),
        ),
        ("git_diff", json!({})),
        ("git_diff", json!({ "ref1": "first" })),
        ("git_diff", json!({ "ref1": "first", "ref2": "HEAD" })),
        ("git_diff", json!({ "ref1": "HEAD", "ref2": "first" })),
        (
            "git_diff",
            json!({ "ref1": "first", "ref2": "HEAD", "summary": true }),
        ),
        ("git_diff", json!({ "ref1": "HEAD~1", "ref2": "HEAD" })),
        ("read_file", json!({ "path": "open.txt", "ref": "HEAD" })),
    ]
}

#[tokio::test]
async fn a_blocked_name_and_its_content_are_in_no_answer() {
    let (stack, client) = serve(Repo::new().file("open.txt", "plain\n")).await;
    let folder = stack.folder("acme", "site");
    git(&folder, &["init", "--quiet"]);
    commit(&folder, ADA, DATE, "one");
    git(&folder, &["tag", "first"]);
    for (number, path) in SECRETS.into_iter().enumerate() {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "sesame\n".repeat(number + 3)).unwrap();
    }
    fs::write(folder.join("open.txt"), "plain\nmore\n").unwrap();
    commit(&folder, ADA, DATE, "two");
    // Changed in the work tree, too, for the diff with it.
    fs::write(folder.join(".env"), "sesame changed\n").unwrap();
    fs::remove_file(folder.join("secrets/plan.txt")).unwrap();

    for (tool, arguments) in everything() {
        let reply = client.call(tool, arguments.clone()).await;
        assert!(!reply.is_error(), "{tool} {arguments}: {}", reply.text());
        let answer = reply.value().to_string();
        for word in SECRETS.into_iter().chain(["sesame"]) {
            assert!(
                !answer.contains(word),
                "{tool} {arguments} reveals {word}: {answer}"
            );
        }
    }
    let diff = client
        .call("git_diff", json!({ "ref1": "first", "ref2": "HEAD" }))
        .await;
    let counts = ["files_changed", "insertions"].map(|name| diff.structured()[name].clone());
    assert_eq!(counts, [1, 1], "what is hidden is not counted either");
}

#[tokio::test]
async fn a_blocked_name_is_denied_by_its_name_alone_by_the_git_tools_too() {
    let (_stack, client) = serve(Repo::new().file(".env", "sesame\n").commit()).await;
    for samples in sample_calls::of_listed(&client).await {
        let tool = samples.tool;
        for path in [
            ".env",
            "no/such/.env",
            "secrets/x",
            ".git/config",
            "a/server.key",
        ] {
            let Some(arguments) = samples.at_path(path) else {
                continue;
            };
            let reply = client.call(tool, arguments).await;
            assert_eq!(
                reply.code(),
                "access_denied",
                "{tool} {path}: {}",
                reply.value()
            );
        }
    }
}

/// A file that was secret first: its history begins where it got an open name.
#[tokio::test]
async fn a_file_that_was_renamed_from_a_blocked_name_begins_at_the_rename() {
    let lines = "one=sesame\ntwo=sesame\nthree=sesame\nfour=sesame\n";
    let (stack, client) = serve(Repo::new().file(".env", lines)).await;
    let folder = stack.folder("acme", "site");
    git(&folder, &["init", "--quiet"]);
    let hidden = commit(&folder, ADA, DATE, "hidden");
    fs::write(folder.join(".env"), lines.replace("sesame", "changed")).unwrap();
    commit(&folder, ADA, DATE, "still hidden");
    git(&folder, &["mv", ".env", "settings.txt"]);
    let renamed = commit(&folder, ADA, DATE, "open");

    let log = client
        .call("git_log", json!({ "file_path": "settings.txt" }))
        .await;
    let expected = json!([{ "path": "settings.txt", "status": "added" }]);
    let commits = &log.structured()["commits"];
    assert_eq!(
        (
            commits[0]["sha"].as_str(),
            commits.as_array().unwrap().len()
        ),
        (Some(&*renamed), 1)
    );
    assert_eq!(commits[0]["files"], expected);
    let blame = client
        .call("git_blame", json!({ "file_path": "settings.txt" }))
        .await;
    for line in blame.structured()["lines"].as_array().unwrap() {
        assert_eq!(line["sha"], json!(renamed), "not {hidden}");
    }
    let diff = client
        .call("git_diff", json!({ "ref1": "HEAD~1", "ref2": "HEAD" }))
        .await;
    let file = &diff.structured()["files"][0];
    assert_eq!(
        (&file["status"], &file["insertions"]),
        (&json!("added"), &json!(4))
    );
    for reply in [log, blame, diff] {
        let answer = reply.value().to_string();
        assert!(
            !answer.contains(".env") && !answer.contains("sesame"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn nothing_that_a_repository_names_is_run_by_the_git_tools() {
    let attributes = "* filter=evil diff=evil merge=evil\n";
    let repo = Repo::new()
        .file("open.txt", "a\n")
        .file(".gitattributes", attributes)
        .commit();
    let (stack, client) = serve(repo.file("open.txt", "a\nb\n").commit()).await;
    let folder = stack.folder("acme", "site");
    git(&folder, &["tag", "first", "HEAD~1"]);
    let marker = stack.repositories().join("ran");
    let run = format!("touch {}", marker.display());
    for setting in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.hooksPath",
        "core.alternateRefsCommand",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "gpg.program",
        "credential.helper",
        "uploadpack.packObjectsHook",
    ] {
        git(&folder, &["config", setting, &run]);
    }
    fs::write(folder.join("open.txt"), "changed\n").unwrap();
    call_all(&client).await;
    assert!(!marker.exists(), "a command of the repository ran");
    // git may well fail, since the command that it ran printed nothing.
    let mut status = std::process::Command::new("git");
    status.arg("status").current_dir(&folder).output().unwrap();
    assert!(marker.exists(), "git itself would have run one");
}

async fn call_all(client: &Client) {
    for (tool, arguments) in everything() {
        let reply = client.call(tool, arguments.clone()).await;
        assert!(!reply.is_error(), "{tool} {arguments}: {}", reply.text());
    }
}
