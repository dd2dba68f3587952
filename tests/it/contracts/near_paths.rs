//! Near names of a misspelt path: of what the caller may see, and of nothing else.

use std::fs;

use e2e::{Client, Harness, Key, Repo, Tenant, git};
use serde_json::{Value, json};

use crate::serve;

/// The near paths that a failed call names, which its suggestion names, too.
async fn near(client: &Client, tool: &str, arguments: Value) -> Vec<String> {
    let reply = client.call(tool, arguments.clone()).await;
    let error = reply.error();
    let code = error["code"].as_str().unwrap();
    let says = ["_not_found", "_not_tracked"];
    let is_absent = says.iter().any(|end| code.ends_with(end));
    assert!(is_absent, "{arguments}: {error}");
    let suggestion = error["suggestion"].as_str().unwrap();
    let named = error["details"]["nearest"].as_array();
    assert_eq!(
        suggestion.starts_with("did you mean `"),
        named.is_some(),
        "{arguments}: {error}"
    );
    let named = named.into_iter().flatten();
    let named: Vec<String> = named.map(|it| it.as_str().unwrap().to_owned()).collect();
    for path in &named {
        assert!(suggestion.contains(&format!("`{path}`")), "{error}");
    }
    named
}

async fn near_file(client: &Client, path: &str) -> Vec<String> {
    near(client, "read_file", json!({ "path": path })).await
}

async fn near_folder(client: &Client, path: &str) -> Vec<String> {
    near(client, "list_files", json!({ "directory": path })).await
}

fn shop() -> Repo {
    Repo::new()
        .file("src/auth/session.ts", "export const a = 1;\n")
        .file("src/auth/token.ts", "export const b = 1;\n")
        .file("lib/token.ts", "export const c = 1;\n")
        .file("docs/guide.md", "# Guide\n")
        .file("internal/guide.md", "# Guide\n")
}

#[tokio::test]
async fn a_misspelt_file_or_folder_names_the_near_ones() {
    let (_stack, client) = serve(shop().commit()).await;
    for (path, expected) in [
        ("src/auth/sesion.ts", vec!["src/auth/session.ts"]),
        ("session.ts", vec!["src/auth/session.ts"]),
        ("source/session.ts", vec!["src/auth/session.ts"]),
        ("src/token.ts", vec!["lib/token.ts", "src/auth/token.ts"]),
        ("src/auth/window.rs", vec![]),
        ("nothing/like/it", vec![]),
    ] {
        assert_eq!(near_file(&client, path).await, expected, "{path}");
    }
    for (path, expected) in [
        ("src/auht", vec!["src/auth"]),
        ("auth", vec!["src/auth"]),
        ("doc", vec!["docs"]),
        ("docs/guide.md", vec![]),
        ("nothing/like/it", vec![]),
    ] {
        assert_eq!(near_folder(&client, path).await, expected, "{path}");
    }
    let in_past = json!({ "path": "src/auth/tokn.ts", "ref": "HEAD" });
    let named = near(&client, "read_file", in_past).await;
    assert_eq!(named.first().map(String::as_str), Some("src/auth/token.ts"));
    let blamed = json!({ "file_path": "src/auth/tokn.ts" });
    let named = near(&client, "git_blame", blamed).await;
    assert_eq!(named.first().map(String::as_str), Some("src/auth/token.ts"));
    // `read_repo_file` names what it would serve.
    let allowed = json!({ "path": "docs/guid.md" });
    assert_eq!(
        near(&client, "read_repo_file", allowed).await,
        ["docs/guide.md"]
    );
}

/// The note of an empty log or diff.
async fn note(client: &Client, tool: &str, arguments: Value) -> String {
    let reply = client.call(tool, arguments).await;
    let note = reply.structured()["note"].as_str();
    note.unwrap_or_else(|| panic!("{tool}: {}", reply.value()))
        .to_owned()
}

#[tokio::test]
async fn git_tools_name_three_near_paths_of_the_commit_and_no_closed_one() {
    let closed = "deny = ['/src/a/']\n";
    let repo = ["a", "b", "c", "d", "e"]
        .into_iter()
        .fold(Repo::new(), |repo, folder| {
            repo.file(&format!("src/{folder}/token.ts"), folder)
        });
    let (stack, client) = serve(repo.file(".archway.toml", closed).commit()).await;
    let folder = stack.folder("acme", "site");
    git(&folder, &["rm", "--quiet", "src/b/token.ts"]);
    git(&folder, &["commit", "--quiet", "--message", "without b"]);
    let at = |folders: [&str; 3]| folders.map(|folder| format!("src/{folder}/token.ts"));
    for (revision, expected) in [
        ("HEAD", at(["c", "d", "e"])),
        ("HEAD~1", at(["b", "c", "d"])),
    ] {
        let blamed = json!({ "file_path": "src/tokn.ts", "ref": revision });
        assert_eq!(near(&client, "git_blame", blamed.clone()).await, expected);
        let named = expected.map(|path| format!("`{path}`")).join(" or ");
        let asked = format!(": did you mean {named}?");
        let logged = note(&client, "git_log", blamed).await;
        assert!(logged.ends_with(&asked), "{revision}: {logged}");
        let diffed = json!({ "ref1": revision, "ref2": revision, "file_path": "src/tokn.ts" });
        let diffed = note(&client, "git_diff", diffed).await;
        assert!(diffed.ends_with(&asked), "{revision}: {diffed}");
    }
    // A log may be of a folder, a blame of a file alone.
    let folder = json!({ "file_path": "srcs" });
    assert_eq!(near(&client, "git_blame", folder.clone()).await, [""; 0]);
    let logged = note(&client, "git_log", folder).await;
    assert!(logged.ends_with(": did you mean `src`?"), "{logged}");
}

#[tokio::test]
async fn closed_ignored_and_foreign_paths_are_never_near() {
    let closing = shop()
        .file(".archway.toml", "deny = ['/plans/', '*.draft']\n")
        .file("plans/launching.md", "sesame\n")
        .file("docs/vault.draft", "sesame\n")
        .file(".gitignore", "built/\n")
        .file("built/outcome.ts", "sesame\n")
        .file("docs/credentials.json", "sesame\n")
        .commit();
    let other = Repo::new().file("betas/merger.md", "sesame\n").commit();
    let beside = Repo::new().file("besides/payroll.md", "sesame\n").commit();
    let acme = Tenant::new("acme").project("site", closing);
    let stack = Harness::new()
        .tenant(
            acme.project("hidden", beside)
                .key(Key::new("one").projects(["site"])),
        )
        .tenant(Tenant::new("beta").project("site", other))
        .start()
        .await;
    let client = stack.keyed("acme", "one");
    for file in [
        "lauching.md",
        "plan/launching.md",
        "docs/vault.drafts",
        "outcome.js",
        "outcome.ts",
        "merger.md",
        "betas/merge.md",
        "payroll.md",
        "docs/credential.json",
    ] {
        assert_eq!(near_file(&client, file).await, [""; 0], "{file}");
    }
    for folder in ["plan", "planss", "buit", "beta", "betas", "besides"] {
        assert_eq!(near_folder(&client, folder).await, [""; 0], "{folder}");
    }
    // The same names are near where they are open.
    let beta = stack.client("beta");
    assert_eq!(near_file(&beta, "merge.md").await, ["betas/merger.md"]);
    let manifest = stack.folder("acme", "site").join(".archway.toml");
    fs::remove_file(manifest).unwrap();
    assert_eq!(
        near_file(&client, "lauching.md").await,
        ["plans/launching.md"]
    );
    assert_eq!(near_folder(&client, "plan").await, ["plans"]);
    assert_eq!(near_file(&client, "outcome.js").await, [""; 0], "ignored");
}

#[tokio::test]
async fn a_suggestion_says_which_of_its_tools_the_caller_lacks() {
    let acme = Tenant::new("acme")
        .project("site", shop().commit())
        .key(Key::new("git").families(["git"]));
    let stack = Harness::new().tenant(acme).start().await;
    let suggestion = async |label: &str| {
        let client = stack.keyed("acme", label);
        let blame = json!({ "file_path": "nothing/like/it" });
        let reply = client.call("git_blame", blame).await;
        reply.error()["suggestion"].as_str().unwrap().to_owned()
    };
    let (all, git) = (suggestion("").await, suggestion("git").await);
    assert!(all.contains("list_files"), "{all}");
    assert_eq!(git, format!("{all} (not given to you: list_files)"));
}

#[tokio::test]
async fn a_project_that_a_suggestion_names_is_taken_for_no_tool() {
    let acme = Tenant::new("acme")
        .project("outline", shop().commit())
        .key(Key::new("git").families(["git"]));
    let stack = Harness::new().tenant(acme).start().await;
    let misspelt = json!({ "project": "outlin" });
    let reply = stack.keyed("acme", "git").call("git_log", misspelt).await;
    let suggestion = reply.error()["suggestion"].as_str().unwrap();
    let rest = suggestion.strip_prefix("did you mean `outline`? ");
    assert!(
        rest.is_some_and(|rest| !rest.contains("outline")),
        "{suggestion}"
    );
}
