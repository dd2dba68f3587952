//! `project_scope: all`: every project that the key may read is searched, and answers name the others.

use std::fs;

use e2e::{Client, Harness, Key, Reply, Repo, Stack, Tenant};
use serde_json::{Value, json};

use super::{results, search};

const QUERY: &str = "treasure under the sesame tree";

fn repo(name: &str) -> Repo {
    let text = format!("the treasure of {name} is under the sesame tree\n");
    Repo::new().file(&format!("{name}.txt"), text).commit()
}

/// Four indexed projects of `acme`, with a key for two of them and one with a default project, and
/// one of another tenant.
async fn four() -> Stack {
    let acme = ["deep", "lib", "other", "site"]
        .into_iter()
        .fold(Tenant::new("acme"), |tenant, slug| {
            tenant.project(slug, repo(slug))
        })
        .key(Key::new("narrow").projects(["site", "deep"]))
        .key(Key::new("lib").default_project("lib"));
    let zeta = Tenant::new("zeta").project("site", repo("zeta"));
    let harness = Harness::new().tenant(acme).tenant(zeta);
    let stack = harness.indexing().start().await;
    let client = stack.client("acme");
    for project in ["deep", "lib", "other", "site"] {
        let query = json!({ "query": "treasure", "project": project });
        let reply = search(&stack, &client, query).await;
        assert!(!reply.is_error(), "{}", reply.text());
    }
    stack
}

async fn ask(client: &Client, project: Option<&str>) -> Reply {
    let mut query = json!({ "query": QUERY, "limit": 20, "project_scope": "all" });
    if let Some(project) = project {
        query["project"] = project.into();
    }
    client.call("context_search", query).await
}

/// The projects of the results, each of which has its own text.
fn places(reply: &Reply) -> Vec<String> {
    let places = results(reply).iter().map(|result| {
        let project = result["project"].as_str().unwrap().to_owned();
        assert_eq!(result["path"], format!("{project}.txt"));
        project
    });
    let mut places: Vec<String> = places.collect();
    places.sort();
    places
}

#[tokio::test]
async fn every_readable_project_is_searched_and_none_need_be_named() {
    let stack = four().await;
    let reply = ask(&stack.client("acme"), None).await;
    assert_eq!(places(&reply), ["deep", "lib", "other", "site"]);
    assert_eq!(
        reply.meta("projects"),
        &json!({ "searched": 4, "remaining": 0, "skipped": [] })
    );
    let index = &reply.structured()["index"];
    assert_eq!(index["commit"], Value::Null, "none is the current one");
    assert!(!reply.text().contains("zeta"), "{}", reply.text());
    assert!(reply.structured().get("note").is_none());
}

#[tokio::test]
async fn a_current_project_is_the_one_whose_commit_is_named() {
    let stack = four().await;
    for (client, project) in [
        (stack.client("acme"), Some("lib")),
        (stack.keyed("acme", "lib"), None),
    ] {
        let reply = ask(&client, project).await;
        assert_eq!(places(&reply), ["deep", "lib", "other", "site"]);
        let head = e2e::git(&stack.folder("acme", "lib"), &["rev-parse", "HEAD"]);
        assert_eq!(reply.structured()["index"]["commit"], head.trim());
        assert!(!reply.meta("commit").is_object(), "several projects answer");
    }
}

#[tokio::test]
async fn a_key_gets_only_the_projects_that_it_may_read() {
    let stack = four().await;
    let narrow = stack.keyed("acme", "narrow");
    let reply = ask(&narrow, None).await;
    assert_eq!(places(&reply), ["deep", "site"]);
    assert_eq!(reply.meta("projects")["searched"], 2);
    assert!(!reply.text().contains("other"), "{}", reply.text());
    assert_eq!(ask(&narrow, Some("lib")).await.code(), "project_not_found");
}

#[tokio::test]
async fn a_project_that_cannot_be_read_is_named_and_the_others_answer() {
    let stack = four().await;
    let folder = stack.folder("acme", "other");
    fs::rename(&folder, folder.with_extension("away")).unwrap();
    let client = stack.client("acme");
    let reply = stack
        .eventually(async || {
            let reply = ask(&client, None).await;
            (reply.meta("projects")["searched"] == 3).then_some(reply)
        })
        .await;
    assert_eq!(places(&reply), ["deep", "lib", "site"]);
    assert_eq!(reply.meta("projects")["skipped"][0]["project"], "other");
    let note = reply.structured()["note"].as_str().unwrap();
    assert!(note.ends_with(": other"), "{note}");
    assert!(reply.text().contains(note), "{}", reply.text());
}
