//! Submodules and files of Git LFS: what tools say of them in work trees and in bare repositories.

use std::{fs, path::Path};

use e2e::{Client, Repo, git};
use serde_json::{Value, json};

use super::both;
use crate::serve;

const COMMIT: &str = "1234567890123456789012345678901234567890";

/// Makes a repository with the submodule `lib/one`, whose files are not there.
fn build(folder: &Path) {
    let list = "[submodule \"one\"]\n\tpath = lib/one\n\turl = https://host/one\n";
    let repo = Repo::new().file("a.txt", "needle\n");
    repo.file(".gitmodules", list).commit().build(folder);
    let entry = format!("160000,{COMMIT},lib/one");
    git(folder, &["update-index", "--add", "--cacheinfo", &entry]);
    git(folder, &["commit", "-qm", "a submodule"]);
    fs::create_dir_all(folder.join("lib/one")).unwrap();
}

/// Paths of what is listed, and the commits of submodules.
async fn listed(client: &Client) -> Vec<(String, String, Value)> {
    let listed = client.call("list_files", json!({})).await;
    let files = both(&listed)["files"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let files = files.iter();
    files
        .map(|it| {
            (
                text(&it["path"]),
                text(&it["type"]),
                it["submodule"].clone(),
            )
        })
        .collect()
}

fn row(path: &str, kind: &str, submodule: Value) -> (String, String, Value) {
    (path.to_owned(), kind.to_owned(), submodule)
}

async fn assert_shown(client: &Client) {
    let expected = [
        row("a.txt", "file", Value::Null),
        row("lib", "directory", Value::Null),
        row("lib/one", "directory", json!(COMMIT)),
    ];
    assert_eq!(listed(client).await, expected);
    let overview = client.call("get_repo_overview", json!({})).await;
    let lib = &both(&overview)["structure"]["children"][1];
    assert_eq!(
        lib["children"],
        json!([{ "name": "one", "type": "directory" }])
    );
    let found = client
        .call("grep_codebase", json!({ "pattern": "needle" }))
        .await;
    let found = found.structured();
    let searched = (&found["totalMatches"], &found["filesSearched"]);
    assert_eq!(searched, (&json!(1), &json!(2)), "a submodule is no file");
    assert_refused(client).await;
    let past = json!({ "path": "lib/one", "ref": "HEAD" });
    assert_eq!(
        client.call("read_file", past).await.code(),
        "file_not_found"
    );
}

/// Tools that are asked for a file or folder of the submodule name it.
async fn assert_refused(client: &Client) {
    for (tool, argument, path) in [
        ("read_file", "path", "lib/one"),
        ("read_file", "path", "lib/one/b.rs"),
        ("git_blame", "file_path", "lib/one"),
        ("git_blame", "file_path", "lib/one/b.rs"),
        ("outline", "path", "lib/one"),
        ("outline", "path", "lib/one/b.rs"),
        ("list_files", "directory", "lib/one"),
        ("list_files", "directory", "lib/one/src"),
    ] {
        let reply = client.call(tool, json!({ argument: path })).await;
        let error = reply.error();
        let code = match tool {
            "list_files" => "directory_not_found",
            _ => "file_not_found",
        };
        assert_eq!(error["code"], code, "{tool} {path}: {error}");
        let message = format!("lib/one is a submodule at commit {COMMIT}: its files are not here");
        assert_eq!(error["message"], message, "{tool} {path}");
        let suggestion = error["suggestion"].as_str().unwrap();
        assert!(suggestion.contains("list_projects"), "{suggestion}");
    }
    let misspelt = json!({ "file_path": "lib/ones" });
    let log = client.call("git_log", misspelt.clone()).await;
    let log = log.value().to_string();
    assert!(log.contains("did you mean `lib/one`?"), "{log}");
    let blame = client.call("git_blame", misspelt).await;
    assert_eq!(blame.error()["details"]["nearest"], Value::Null, "no file");
}

#[tokio::test]
async fn a_submodule_is_shown_with_its_commit_until_its_files_are_there() {
    let (stack, client) = serve(Repo::new()).await;
    let folder = stack.folder("acme", "site");
    build(&folder);
    assert_shown(&client).await;
    fs::write(folder.join("lib/one/b.rs"), "fn b() {}\n").unwrap();
    let files = listed(&client).await;
    assert_eq!(files[2], row("lib/one", "directory", Value::Null));
    assert_eq!(files[3], row("lib/one/b.rs", "file", Value::Null));
    let arguments = json!({ "path": "lib/one" });
    let folder = client.call("read_file", arguments).await;
    assert_eq!(folder.error()["message"], "no file lib/one: it is a folder");
}

#[tokio::test]
async fn a_bare_repositorys_submodule_is_shown_with_its_commit() {
    let (stack, client) = serve(Repo::new()).await;
    let source = tempfile::tempdir().unwrap();
    build(source.path());
    let from = source.path().to_str().unwrap();
    let folder = stack.folder("acme", "site");
    git(&folder, &["clone", "-q", "--bare", from, "."]);
    assert_shown(&client).await;
}

#[tokio::test]
async fn a_file_of_git_lfs_is_the_pointer_that_git_has() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:\
        4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    let (_stack, client) = serve(Repo::new().file("large.psd", pointer).commit()).await;
    let read = client
        .call("read_file", json!({ "path": "large.psd" }))
        .await;
    let file = &both(&read)["file"];
    assert_eq!(
        (&file["content"], &file["lines"]),
        (&json!(pointer), &json!(3))
    );
}
