//! Which files are documents: files of HEAD in the folder of each kind, less those that path rules close.

use std::fs;

use e2e::{Harness, Repo, Tenant, git};
use serde_json::{Value, json};

use super::{documented, results, search, uris};
use crate::serve;

#[tokio::test]
async fn documents_are_those_of_head_and_change_with_it() {
    let (stack, client) = serve(documented().commit()).await;
    let folder = stack.folder("acme", "site");
    let write =
        |name: &str, text: &str| fs::write(folder.join("docs/adr").join(name), text).unwrap();
    assert_eq!(uris(&search(&client, "pineapple").await), [""; 0]);
    write("0003-fruit.md", "# Serve pineapple\n");
    assert_eq!(
        uris(&search(&client, "pineapple").await),
        [""; 0],
        "it is not committed"
    );
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--message", "fruit"]);
    let reply = search(&client, "pineapple").await;
    assert_eq!(uris(&reply), ["architecture://adr/0003-fruit"]);
    assert_eq!(
        reply.meta("commit")["id"],
        git(&folder, &["rev-parse", "HEAD"])
    );
    write("0003-fruit.md", "# Serve figs\n");
    git(
        &folder,
        &["commit", "--quiet", "--all", "--message", "figs"],
    );
    assert_eq!(uris(&search(&client, "pineapple").await), [""; 0]);
    assert_eq!(
        results(&search(&client, "figs").await)[0]["title"],
        "Serve figs"
    );
}

#[tokio::test]
async fn a_file_hidden_by_path_rules_is_no_document() {
    let repo = documented()
        .file(".archway.toml", "deny = ['docs/adr/0001*']\n")
        .file("docs/adr/secrets/0009.md", "# Orders\n")
        .file("docs/adr/.gitignore", "draft.md\n")
        .file("docs/adr/draft.md", "# Orders\n")
        .link("docs/adr/0008-link.md", "0001-orders.md")
        .commit();
    let (stack, client) = serve(repo).await;
    git(
        &stack.folder("acme", "site"),
        &["add", "--force", "docs/adr/draft.md"],
    );
    git(
        &stack.folder("acme", "site"),
        &["commit", "--quiet", "--message", "draft"],
    );
    let reply = search(&client, "orders postgres").await;
    assert_eq!(uris(&reply), ["architecture://adr/0002-events"]);
    assert_eq!(reply.structured()["total_matches"], 1);
    let told = reply.value().to_string();
    for hidden in ["0001", "Postgres", "secrets", "draft", "0008"] {
        assert!(!told.contains(hidden), "{hidden}: {told}");
    }
}

#[tokio::test]
async fn a_repository_configures_its_folders_and_errors_are_reported() {
    let manifest = "[architecture]\nadr = ['decided', '../out', 'docs/adr']\npattern = ['x']\n";
    let repo = documented()
        .file(".archway.toml", manifest)
        .file("decided/0001-orders.md", "# Decided orders\n")
        .commit();
    let (_stack, client) = serve(repo).await;
    let reply = search(&client, "orders").await;
    let mut found = uris(&reply);
    found.sort_unstable();
    let expected = [
        "architecture://adr/0001-orders",
        "architecture://adr/0001-orders~2",
        "architecture://adr/0002-events",
    ];
    assert_eq!(found, expected);
    let first = results(&reply)
        .iter()
        .find(|result| result["uri"] == expected[0])
        .unwrap();
    assert_eq!(
        first["title"], "Decided orders",
        "the first folder has the name"
    );
    let warnings = json!([
        ".archway.toml: entry 2 of `architecture.adr` is no folder beneath the root: \"../out\"",
        ".archway.toml: there is no key `architecture.pattern`; is `architecture.patterns` meant?",
    ]);
    assert_eq!(reply.meta("warnings"), &warnings);
    let pattern = search(&client, "repository pattern").await;
    assert_eq!(
        uris(&pattern)[0],
        "architecture://pattern/repository",
        "the defaults hold"
    );
}

#[tokio::test]
async fn omitted_documents_are_reported() {
    let repo = documented()
        .file("docs/adr/0007-large.md", "orders ".repeat(200_000))
        .file("docs/adr/0008-binary.md", b"# Orders\0")
        .commit();
    let (_stack, client) = serve(repo).await;
    let reply = search(&client, "orders").await;
    assert_eq!(reply.structured()["total_matches"], 2);
    let warnings = json!([
        "docs/adr/0007-large.md is left out: it has more than 1 MiB, or the repository lacks it",
        "docs/adr/0008-binary.md is left out: it is not text",
    ]);
    assert_eq!(reply.meta("warnings"), &warnings);
}

#[tokio::test]
async fn a_folder_without_git_has_the_documents_in_it() {
    let (stack, client) = serve(documented()).await;
    let reply = search(&client, "kafka").await;
    assert_eq!(uris(&reply), ["architecture://adr/0002-events"]);
    assert_eq!(reply.meta("commit"), &Value::Null);
    let path = "docs/adr/0003-fruit.md";
    fs::write(stack.folder("acme", "site").join(path), "# Pineapple\n").unwrap();
    assert_eq!(
        uris(&search(&client, "pineapple").await),
        ["architecture://adr/0003-fruit"]
    );
}

#[tokio::test]
async fn a_bare_repository_has_the_documents_of_its_head() {
    let acme = Tenant::new("acme").project("site", Repo::new());
    let stack = Harness::new().tenant(acme).start().await;
    let (client, folder) = (stack.client("acme"), stack.folder("acme", "site"));
    let origin = tempfile::tempdir().unwrap();
    documented().commit().build(origin.path());
    fs::remove_dir(&folder).unwrap();
    let (from, to) = (origin.path().to_str().unwrap(), folder.to_str().unwrap());
    git(origin.path(), &["clone", "--quiet", "--bare", from, to]);
    let reply = search(&client, "kafka").await;
    assert_eq!(uris(&reply), ["architecture://adr/0002-events"]);
    assert_eq!(
        reply.meta("commit")["id"],
        git(&folder, &["rev-parse", "HEAD"])
    );
}
