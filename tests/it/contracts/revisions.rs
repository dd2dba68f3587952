//! `ref` of `read_file`: the file as of a revision, and the refusal of each revision that names nothing.

use e2e::{Client, Repo, Stack, git};
use serde_json::json;

use crate::serve;

/// A file that was changed and moved, with a tag before that.
async fn project() -> (Stack, Client, String) {
    let repo = Repo::new()
        .file("a.txt", "one\n")
        .file("lib/b.js", "export const b = 1;\n")
        .file("use.js", "import { b } from './lib/b.js';\n")
        .file(".env", "SECRET=sesame\n")
        .link("link.txt", "a.txt")
        .link("out.txt", "../../a.txt");
    let (stack, client) = serve(repo.commit()).await;
    let folder = stack.folder("acme", "site");
    git(&folder, &["tag", "v1.0.0", "-am", "one"]);
    let next = Repo::new()
        .file("a.txt", "two\n")
        .file("lib/b.js", "export const b = 2;\n");
    next.file("late.txt", "").commit().build(&folder);
    let one = git(&folder, &["rev-parse", "v1.0.0^{}"]);
    (stack, client, one)
}

#[tokio::test]
async fn a_file_at_a_revision_names_that_commit() {
    let (_stack, client, one) = project().await;
    let short = one.get(..8).unwrap();
    for revision in [
        "v1.0.0",
        "HEAD~1",
        "main~1",
        "v1.0.0^{}",
        &one,
        short,
        "main@{1}",
    ] {
        let arguments = json!({ "path": "a.txt", "ref": revision });
        let reply = client.call("read_file", arguments).await;
        assert_eq!(reply.structured()["file"]["content"], "one\n", "{revision}");
        assert_eq!(reply.meta("commit"), &json!({ "id": one }), "{revision}");
    }
    let arguments = json!({ "path": "link.txt", "ref": "v1.0.0" });
    let reply = client.call("read_file", arguments).await;
    assert_eq!(reply.structured()["file"]["content"], "one\n");
    assert_eq!(
        reply.structured()["file"]["modified_at"],
        "2026-01-02T03:04:05.000Z"
    );
    let now = client
        .call("read_file", json!({ "path": "a.txt", "ref": null }))
        .await;
    assert_eq!(now.structured()["file"]["content"], "two\n");
    assert_ne!(now.meta("commit")["id"], json!(one));
}

#[tokio::test]
async fn imports_of_a_file_of_the_past_are_of_the_same_commit() {
    let (_stack, client, _) = project().await;
    let arguments = json!({ "path": "use.js", "ref": "v1.0.0", "include_deps": true });
    let reply = client.call("read_file", arguments).await;
    let imported = &reply.structured()["dependencies"][0];
    assert_eq!(
        imported["content"],
        "export const b = 1;\n",
        "{}",
        reply.value()
    );
}

#[tokio::test]
async fn a_path_closed_now_is_closed_in_the_past() {
    let (_stack, client, _) = project().await;
    for (path, revision, code) in [
        (".env", "v1.0.0", "access_denied"),
        (".env", "no-such-revision", "access_denied"),
        ("../a.txt", "v1.0.0", "access_denied"),
        ("out.txt", "v1.0.0", "access_denied"),
        ("late.txt", "v1.0.0", "file_not_found"),
        ("lib", "v1.0.0", "file_not_found"),
    ] {
        let arguments = json!({ "path": path, "ref": revision });
        let reply = client.call("read_file", arguments).await;
        assert_eq!(reply.code(), code, "{path}: {}", reply.value());
    }
}

#[tokio::test]
async fn a_revision_that_names_nothing_is_refused_in_the_contracts_words() {
    let (stack, client, _) = project().await;
    let folder = stack.folder("acme", "site");
    git(
        &folder,
        &["commit", "--quiet", "--allow-empty", "-m", "taken back"],
    );
    let back = git(&folder, &["rev-parse", "HEAD"]);
    git(&folder, &["reset", "--quiet", "--hard", "HEAD~1"]);
    for (revision, code) in [
        ("nothing", "revision_not_found"),
        (&back, "revision_not_found"),
        ("main@{1}", "revision_not_found"),
        ("v1.0.0~1", "revision_not_found"),
        ("--output=x", "invalid_arguments"),
        (":/one", "invalid_arguments"),
        ("HEAD:a.txt", "invalid_arguments"),
        ("main..v1.0.0", "invalid_arguments"),
        ("HEAD^{tree}", "invalid_arguments"),
    ] {
        let arguments = json!({ "path": "a.txt", "ref": revision });
        let reply = client.call("read_file", arguments).await;
        assert_eq!(reply.code(), code, "{revision}: {}", reply.value());
        let message = reply.error()["message"].as_str().unwrap();
        let words = format!("Invalid git reference: {revision}");
        assert!(message.starts_with(&words), "{message}");
    }
    for revision in [json!(""), json!("a".repeat(257)), json!(7)] {
        let arguments = json!({ "path": "a.txt", "ref": revision });
        let reply = client.call("read_file", arguments).await;
        assert_eq!(reply.code(), "invalid_arguments", "{}", reply.value());
    }
}

#[tokio::test]
async fn without_a_repository_there_are_no_revisions() {
    let (stack, client) = serve(Repo::new().file("a.txt", "a\n")).await;
    let ask = async || {
        let arguments = json!({ "path": "a.txt", "ref": "HEAD" });
        let reply = client.call("read_file", arguments).await;
        let message = reply.error()["message"].as_str().unwrap().to_owned();
        (reply.code().to_owned(), message)
    };
    let (code, message) = ask().await;
    assert_eq!(code, "not_a_git_repository");
    assert_eq!(message, "This project is not a git repository");
    let folder = stack.folder("acme", "site");
    git(&folder, &["init", "--quiet", "--object-format=sha256"]);
    let (code, message) = ask().await;
    assert_eq!(code, "not_a_git_repository");
    assert!(message.contains("SHA-256"), "{message}");
    std::fs::remove_dir_all(folder.join(".git")).unwrap();
    git(&folder, &["init", "--quiet"]);
    let (code, message) = stack
        .eventually(async || Some(ask().await).filter(|(code, _)| code == "revision_not_found"))
        .await;
    assert!(message.contains("no commits yet"), "{code}: {message}");
}
