//! The git tools after an agent's wrong guess: which revision, path or cursor the error suggests.

use std::fs;

use e2e::{Client, Reply, git};
use serde_json::{Value, json};

use super::git::project;

fn suggestion(reply: &Reply) -> &str {
    reply.error()["suggestion"].as_str().unwrap()
}

async fn refused(client: &Client, revision: &str) -> Reply {
    client.call("git_log", json!({ "ref": revision })).await
}

#[tokio::test]
async fn a_misspelt_revision_suggests_the_nearest_served_names() {
    let (_stack, client, folder) = project().await;
    git(&folder, &["branch", "--move", "trunk"]);
    for (place, of) in [
        ("refs/remotes/origin/feature-login", "HEAD"),
        ("refs/tags/v2.0.1", "HEAD"),
        ("refs/tags/v2.0.2", "HEAD"),
        ("refs/tags/v2.0.3", "HEAD:auth.test.ts"),
        ("refs/pull/1/feature-logon", "HEAD"),
    ] {
        git(&folder, &["update-ref", place, of]);
    }
    for (given, told) in [
        ("V1.0.0", "did you mean `v1.0.0`? Or give "),
        ("1.0.0", "did you mean `v1.0.0`? Or give "),
        ("v1.0", "did you mean `v1.0.0`? Or give "),
        ("trnuk~1", "did you mean `trunk`? Or give "),
        (
            "feature-login",
            "did you mean `origin/feature-login`? Or give ",
        ),
        (
            "v2.0",
            "did you mean `v2.0.0` or `v2.0.1` or `v2.0.2`? Or give ",
        ),
        ("main", "HEAD's branch is `trunk`. Or give "),
        ("master~2", "HEAD's branch is `trunk`. Or give "),
        ("pull/1/feature-logan", "give a commit that HEAD, "),
        ("nothing-like-it", "give a commit that HEAD, "),
    ] {
        let reply = refused(&client, given).await;
        assert_eq!(reply.code(), "revision_not_found", "{given}");
        let said = suggestion(&reply);
        assert!(said.starts_with(told), "{given}: {said}");
    }
    let ends = client.call("git_log", json!({ "since": "V1.0.0" })).await;
    let told = "did you mean `v1.0.0`? Or give a date, ";
    assert!(suggestion(&ends).starts_with(told), "{}", suggestion(&ends));
    git(&folder, &["checkout", "--quiet", "--detach"]);
    let detached = refused(&client, "main").await;
    let told = "No branch is checked out: HEAD is called \"HEAD\". Or give ";
    assert!(
        suggestion(&detached).starts_with(told),
        "{}",
        suggestion(&detached)
    );
}

#[tokio::test]
async fn a_missing_parent_is_explained_unless_the_commit_is_not_served() {
    let (_stack, client, folder) = project().await;
    let short = |revision: &str| git(&folder, &["rev-parse", "--short", revision]);
    let (head, root) = (short("HEAD"), short("HEAD~2"));
    let no_merge = format!("commit {head} is no merge: it has one parent, \"^1\".");
    let no_more = format!("history begins there: there is no parent of commit {root}.");
    let lost = git(&folder, &["commit-tree", "-m", "lost", "HEAD^{tree}"]);
    for (given, told) in [
        ("HEAD^2", no_merge.as_str()),
        ("v2.0.0^3", &no_merge),
        ("HEAD~3", &no_more),
        ("HEAD~2^", &no_more),
        (&format!("{lost}~1"), "give a commit that HEAD, "),
        (&format!("{lost}^2"), "give a commit that HEAD, "),
    ] {
        let reply = refused(&client, given).await;
        assert_eq!(reply.code(), "revision_not_found", "{given}");
        let said = suggestion(&reply);
        assert!(said.starts_with(told), "{given}: {said}");
    }
}

#[tokio::test]
async fn a_range_error_names_the_arguments_for_its_ends() {
    let (_stack, client, _folder) = project().await;
    for (tool, argument) in [
        ("git_diff", "ref1"),
        ("git_log", "ref"),
        ("git_log", "since"),
    ] {
        let reply = client
            .call(tool, json!({ argument: "v1.0.0..v2.0.0" }))
            .await;
        assert_eq!(reply.code(), "invalid_arguments", "{tool}.{argument}");
        let error = reply.error().to_string();
        assert!(
            error.contains("ref1 and ref2 (git_diff), or into since and ref (git_log)"),
            "{error}"
        );
        assert!(!error.contains("main"), "{error}");
    }
}

#[tokio::test]
async fn a_log_can_be_paged_by_its_text_alone() {
    let (_stack, client, _folder) = project().await;
    let mut arguments = json!({ "max_count": 1 });
    let mut subjects = Vec::new();
    loop {
        let page = client.call("git_log", arguments.clone()).await;
        let line = |begin: &str| {
            page.text()
                .lines()
                .find_map(|line| line.strip_prefix(begin))
        };
        subjects.push(line("**Message**: ").unwrap().to_owned());
        let cursor = line("cursor: ").map(str::to_owned);
        assert_eq!(page.structured()["cursor"].as_str(), cursor.as_deref());
        match cursor {
            Some(cursor) => arguments["cursor"] = json!(cursor),
            None => break,
        }
    }
    let all = [
        "tidy up",
        "fix(auth): add token validation",
        "feat(auth): add JWT verification",
    ];
    assert_eq!(subjects, all);
}

#[tokio::test]
async fn a_missing_file_is_reported_with_the_revision_and_a_folder_as_such() {
    let (_stack, client, _folder) = project().await;
    let ask = async |tool: &str, path: &str, revision: Option<&str>| {
        let name = if tool == "read_file" {
            "path"
        } else {
            "file_path"
        };
        let mut arguments = json!({ name: path });
        if let Some(revision) = revision {
            arguments["ref"] = json!(revision);
        }
        let reply = client.call(tool, arguments).await;
        let told = |field: &str| reply.error()[field].as_str().unwrap().to_owned();
        (told("message"), told("suggestion"))
    };
    for (tool, begin) in [
        ("read_file", "no file"),
        ("git_blame", "File not tracked by git:"),
    ] {
        let (message, todo) = ask(tool, "auth.test.ts", Some("v1.0.0")).await;
        assert_eq!(message, format!("{begin} auth.test.ts at v1.0.0"));
        assert!(
            todo.contains("git_log") && !todo.contains("list_files"),
            "{todo}"
        );
        let (message, todo) = ask(tool, "src/auth", Some("v1.0.0")).await;
        assert_eq!(
            message,
            format!("{begin} src/auth at v1.0.0: it is a folder")
        );
        assert!(!todo.contains("list_files"), "{todo}");
        let (message, _) = ask(tool, "src/auth", None).await;
        assert_eq!(message, format!("{begin} src/auth: it is a folder"));
        let (message, todo) = ask(tool, "nope.ts", None).await;
        assert_eq!(message, format!("{begin} nope.ts"));
        assert!(todo.contains("list_files"), "{todo}");
    }
}

/// The note of an empty answer, which must be the same in text and data.
fn note<'a>(reply: &'a Reply, nothing: &str) -> Option<&'a str> {
    let (_title, body) = reply.text().split_once("\n\n").unwrap();
    let rest = body
        .strip_prefix(nothing)
        .unwrap_or_else(|| panic!("{body}"));
    let note = match &reply.structured()["note"] {
        Value::Null => None,
        note => note.as_str(),
    };
    let told = note.map(|note| format!("\n\n**Note**: {note}\n"));
    assert_eq!(rest, told.as_deref().unwrap_or("\n"));
    note
}

#[tokio::test]
async fn a_path_without_history_is_not_found_and_the_nearest_is_suggested() {
    let (_stack, client, folder) = project().await;
    fs::create_dir(folder.join("hidden")).unwrap();
    fs::write(folder.join("hidden/.env"), "SECRET=sesame\n").unwrap();
    fs::write(folder.join("new.ts"), "").unwrap();
    git(&folder, &["add", "--force", "hidden"]);
    git(&folder, &["commit", "--quiet", "--message", "hidden"]);
    let head = git(&folder, &["rev-parse", "--short", "HEAD"]);
    let first = git(&folder, &["rev-parse", "--short", "v1.0.0"]);
    for (path, hint) in [
        ("jwt.ts", ": did you mean `src/auth/jwt.ts`?"),
        ("src/auth/jtw.ts", ": did you mean `src/auth/jwt.ts`?"),
        ("lib/JWT.ts", ": did you mean `src/auth/jwt.ts`?"),
        ("src/auht", ": did you mean `src/auth`?"),
        ("hidden/env", ". Names are compared letter by letter; "),
        ("nothing/like/it", ". Names are compared letter by letter; "),
    ] {
        let log = client.call("git_log", json!({ "file_path": path })).await;
        let said = note(&log, "No commits found.").unwrap();
        let told = format!("{path} is not in commit {head}{hint}");
        assert!(said.starts_with(&told), "{said}");
        let both = json!({ "ref1": "v1.0.0", "ref2": "HEAD", "file_path": path });
        let diff = client.call("git_diff", both).await;
        let said = note(&diff, "No differences.").unwrap();
        let told = format!("{path} is not in commit {head} nor in {first}{hint}");
        assert!(said.starts_with(&told), "{said}");
    }
    let untracked = client
        .call("git_diff", json!({ "file_path": "new.ts" }))
        .await;
    let said = note(&untracked, "No differences.").unwrap();
    assert!(
        said.ends_with(" Files that are not tracked are left out."),
        "{said}"
    );
}

#[tokio::test]
async fn nothing_that_is_a_fact_has_no_note_and_ends_in_wrong_order_have_one() {
    let (_stack, client, _folder) = project().await;
    for arguments in [
        json!({ "author": "nobody" }),
        json!({ "author": "nobody", "file_path": "src/auth/jwt.ts" }),
        json!({ "until": "2020-01-01", "file_path": "src" }),
    ] {
        let log = client.call("git_log", arguments.clone()).await;
        assert_eq!(note(&log, "No commits found."), None, "{arguments}");
    }
    for (argument, said) in [
        ("grep", "For a text in their files use changed."),
        ("changed", "For words of messages use grep."),
    ] {
        let log = client
            .call("git_log", json!({ argument: "nobody wrote this" }))
            .await;
        let note = note(&log, "No commits found.").unwrap();
        assert!(note.ends_with(said), "{argument}: {note}");
    }
    for path in ["src", "src/auth/jwt.ts", "."] {
        let diff = client.call("git_diff", json!({ "file_path": path })).await;
        assert_eq!(note(&diff, "No differences."), None, "{path}");
    }
    let turned = json!({ "since": "2026-02-01", "until": "2026-01-01" });
    let log = client.call("git_log", turned).await;
    let said = note(&log, "No commits found.");
    assert_eq!(
        said,
        Some("since is after until: no commit lies between them.")
    );
}
