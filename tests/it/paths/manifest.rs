//! What a repository closes in `.archway.toml`: no caller sees it, and the manifest opens nothing.

use std::fs;

use e2e::{Client, Harness, Reply, Repo, Tenant};
use serde_json::{Value, json};
use sqlx::PgPool;

use super::by_every_tool;
use crate::serve;

const FILE: &str = ".archway.toml";
/// The closed files: each contains `sesame`.
const CLOSED: [&str; 3] = ["plans/launch.md", "docs/Idea.DRAFT", "src/vault.draft"];

/// A repository whose second commit closes what was open in the first.
fn closing() -> Repo {
    let write = |repo: Repo, word: &str| {
        let repo = repo.file("src/open.txt", format!("{word}\n"));
        CLOSED.into_iter().fold(repo, |repo, path| {
            repo.file(path, format!("sesame {word}\n"))
        })
    };
    let repo = write(Repo::new(), "one").commit();
    let closing = repo.file(
        FILE,
        "deny = ['/plans/', '*.draft']\nallow = ['src/*', '.env']\n",
    );
    write(closing, "two")
        .file("notes.txt", "plain\n")
        .file(".env", "sesame\n")
        .commit()
}

/// Every kind of request about the whole repository.
fn everything() -> Vec<(&'static str, Value)> {
    let all = json!({ "include_hidden": true, "max_depth": 10 });
    vec![
        ("list_files", all),
        ("list_files", json!({ "pattern": "*.draft" })),
        ("get_repo_overview", json!({ "max_depth": 5 })),
        ("grep_codebase", json!({ "pattern": "sesam[e]" })),
        ("search_files", json!({ "pattern": "SESAM" })),
        ("git_log", json!({ "max_count": 100 })),
        ("git_diff", json!({ "ref1": "HEAD~1", "ref2": "HEAD" })),
        ("git_diff", json!({ "ref1": "HEAD", "ref2": "HEAD~1" })),
        ("git_diff", json!({})),
    ]
}

/// Requests for the committed content of one file.
fn in_past(path: &str) -> [(&'static str, Value); 3] {
    [
        ("read_file", json!({ "path": path, "ref": "HEAD~1" })),
        ("git_blame", json!({ "file_path": path, "ref": "HEAD~1" })),
        ("git_diff", json!({ "ref1": "HEAD~1", "file_path": path })),
    ]
}

/// The number of files in which a search finds this word.
async fn holding(client: &Client, project: &str, word: &str) -> u64 {
    let search = json!({ "pattern": word, "project": project });
    let reply = client.call("search_files", search).await;
    reply.structured()["total_matches"].as_u64().unwrap()
}

#[tokio::test]
async fn paths_closed_by_a_repository_are_in_no_answer_past_included() {
    let (stack, client) = serve(closing()).await;
    for path in CLOSED {
        fs::write(stack.folder("acme", "site").join(path), "sesame three\n").unwrap();
    }
    for (tool, arguments) in everything() {
        let reply = client.call(tool, arguments.clone()).await;
        assert!(!reply.is_error(), "{tool} {arguments}: {}", reply.text());
        let answer = reply.value().to_string();
        for word in ["launch", "Idea", "vault", "sesame"] {
            assert!(
                !answer.contains(word),
                "{tool} {arguments} reveals {word}: {answer}"
            );
        }
    }
    for path in CLOSED {
        let mut replies = by_every_tool(&client, path).await;
        for (tool, arguments) in in_past(path) {
            replies.push((tool, client.call(tool, arguments).await));
        }
        for (tool, reply) in replies {
            assert_eq!(
                reply.code(),
                "access_denied",
                "{tool} {path}: {}",
                reply.value()
            );
        }
    }
    let folder = client
        .call("list_files", json!({ "directory": "plans" }))
        .await;
    assert_eq!(folder.code(), "access_denied", "{}", folder.value());
}

#[tokio::test]
async fn a_closed_name_is_denied_by_its_name_alone_whether_it_exists_or_not() {
    let (_stack, client) = serve(closing()).await;
    let same = |reply: &Reply, path: &str| reply.error().to_string().replace(path, "…");
    for path in CLOSED {
        let invented = path.replace('.', "-7.");
        let real = by_every_tool(&client, path).await;
        for ((tool, real), (_, other)) in real.iter().zip(by_every_tool(&client, &invented).await) {
            assert_eq!(same(real, path), same(&other, &invented), "{tool} {path}");
        }
    }
}

#[tokio::test]
async fn a_manifest_widens_read_repo_file_but_opens_no_blocked_path() {
    let manifest = "allow = ['**']\nopen = ['.env', 'shut/']\n";
    let repo = ["src/a.txt", ".env", "shut/b.txt", "secrets/c.txt"]
        .into_iter()
        .fold(Repo::new().file(FILE, manifest), |repo, path| {
            repo.file(path, "text\n")
        });
    let (stack, client) = serve(repo.commit()).await;
    let owner = PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    let close = "update projects set close_globs = '{shut/}'";
    sqlx::query(close).execute(&owner).await.unwrap();

    let wide = client
        .call("read_repo_file", json!({ "path": "src/a.txt" }))
        .await;
    assert_eq!(wide.structured()["content"], "text\n", "{}", wide.value());
    for path in [".env", "shut/b.txt", "secrets/c.txt"] {
        for (tool, reply) in by_every_tool(&client, path).await {
            assert_eq!(
                reply.code(),
                "access_denied",
                "{tool} {path}: {}",
                reply.value()
            );
        }
    }
    assert_eq!(holding(&client, "site", "text").await, 1);
}

#[tokio::test]
async fn a_manifest_binds_its_own_project_from_the_next_call_on() {
    let repo = |closed: &str| {
        let repo = Repo::new().file(FILE, format!("deny = ['{closed}']\n"));
        repo.file("a.txt", "in a\n")
            .file("b.txt", "in b\n")
            .commit()
    };
    let acme = Tenant::new("acme")
        .project("one", repo("a.txt"))
        .project("two", repo("b.txt"));
    let stack = Harness::new().tenant(acme).start().await;
    let client = stack.client("acme");
    let finds = async |project| {
        (
            holding(&client, project, "in a").await,
            holding(&client, project, "in b").await,
        )
    };
    assert_eq!((finds("one").await, finds("two").await), ((0, 1), (1, 0)));
    let file = stack.folder("acme", "one").join(FILE);
    for (closed, found) in [("b.txt", (1, 0)), ("a.txt", (0, 1)), ("*.txt", (0, 0))] {
        fs::write(&file, format!("deny = ['{closed}']\n")).unwrap();
        assert_eq!(finds("one").await, found, "{closed}");
    }
    fs::remove_file(&file).unwrap();
    assert_eq!((finds("one").await, finds("two").await), ((1, 1), (1, 0)));
}

#[tokio::test]
async fn errors_in_a_manifest_are_reported_and_break_nothing_else() {
    let repo = Repo::new()
        .file("src/a.txt", "in a\n")
        .file("src/b.txt", "in b\n");
    let (stack, client) = serve(repo.commit()).await;
    let file = stack.folder("acme", "site").join(FILE);
    let large = format!("deny = ['a.txt']\n#{}", "x".repeat(64 << 10));
    for (text, a_is_closed, warning) in [
        (
            "deny = ['a.txt']\nalow = ['src/**']\n",
            true,
            "there is no key `alow`; is `allow` meant?",
        ),
        (
            "deny = ['[', 'a.txt']\n",
            true,
            "entry 1 of `deny` is no glob",
        ),
        (
            "allow = ['src/**']\n<<<<<<< ours\ndeny = ['a.txt']\n",
            true,
            "it is not TOML at line 2",
        ),
        (large.as_str(), true, "it is larger than 64 KiB"),
    ] {
        fs::write(&file, text).unwrap();
        let read = client
            .call("read_file", json!({ "path": "src/a.txt" }))
            .await;
        assert_eq!(read.is_error(), a_is_closed, "{}", read.value());
        let read = client
            .call("read_file", json!({ "path": "src/b.txt" }))
            .await;
        let told = read.meta("warnings")[0].as_str().unwrap_or_default();
        assert!(
            told.starts_with(&format!("{FILE}: {warning}")),
            "{}",
            read.value()
        );
        // The list that the misspelt key may have meant.
        let refused = client
            .call("read_repo_file", json!({ "path": "src/b.txt" }))
            .await;
        assert_eq!(refused.code(), "access_denied");
        assert_eq!(refused.error()["details"]["warnings"][0], told);
    }
    fs::write(&file, "deny = ['a.txt']\n").unwrap();
    let read = client
        .call("read_file", json!({ "path": "src/b.txt" }))
        .await;
    assert!(read.meta("warnings").is_null(), "{}", read.value());
}
