//! `project_scope: all_linked`: linked projects are searched too, as far as the key may read them.

use e2e::{Client, Harness, Key, Repo, Stack, Tenant};
use serde_json::{Value, json};

use super::{results, search};

/// A repository with one text, and links to others.
fn repo(name: &str, links: &str) -> Repo {
    let text = format!("the treasure of {name} is under the sesame tree\n");
    Repo::new()
        .file(&format!("{name}.txt"), text)
        .file(".archway.toml", format!("linked_projects = [{links}]\n"))
        .commit()
}

/// `site` links to `lib`, to a missing project and to itself; `lib` links to `deep`; `other` has no
/// links.
async fn linked() -> Stack {
    let tenant = Tenant::new("acme")
        .project("site", repo("site", "'lib', 'missing', 'site'"))
        .project("lib", repo("lib", "'deep', 'site'"))
        .project("deep", repo("deep", ""))
        .project("other", repo("other", ""))
        .key(Key::new("narrow").projects(["site", "deep"]));
    let stack = Harness::new().tenant(tenant).indexing().start().await;
    let client = stack.client("acme");
    for project in ["site", "lib", "deep", "other"] {
        let query = json!({ "query": "treasure", "project": project });
        let reply = search(&stack, &client, query).await;
        assert!(!reply.is_error(), "{}", reply.text());
    }
    stack
}

async fn ask(client: &Client, project: &str, scope: &str) -> Value {
    let query = json!({
        "query": "treasure under the sesame tree",
        "limit": 20, "project": project, "project_scope": scope,
    });
    let reply = client.call("context_search", query).await;
    let mut places: Vec<(String, String)> = results(&reply)
        .iter()
        .filter(|result| result["path"] != ".archway.toml")
        .map(|result| {
            let text = |field: &str| result[field].as_str().unwrap().to_owned();
            (text("project"), text("path"))
        })
        .collect();
    places.sort();
    json!({
        "places": places,
        "commit": reply.meta("commit").is_object(),
        "note": reply.structured().get("note"),
    })
}

#[tokio::test]
async fn linked_projects_are_searched_one_hop_far_and_dead_links_ignored() {
    let stack = linked().await;
    let client = stack.client("acme");
    let own = json!([["site", "site.txt"]]);
    let with_lib = json!([["lib", "lib.txt"], ["site", "site.txt"]]);
    let alone = ask(&client, "site", "current").await;
    assert_eq!(
        alone,
        json!({ "places": own, "commit": true, "note": null })
    );
    let all = ask(&client, "site", "all_linked").await;
    assert_eq!(
        all,
        json!({ "places": with_lib, "commit": false, "note": null })
    );
    let lonely = ask(&client, "other", "all_linked").await;
    assert_eq!(lonely["places"], json!([["other", "other.txt"]]));
    assert_eq!(lonely["commit"], true, "only one project answers");
}

#[tokio::test]
async fn a_key_gets_nothing_of_linked_projects_that_it_may_not_read() {
    let stack = linked().await;
    let client = stack.keyed("acme", "narrow");
    let found = ask(&client, "site", "all_linked").await;
    assert_eq!(found["places"], json!([["site", "site.txt"]]));
    assert_eq!(found["note"], Value::Null, "nor that they are there");
    let refused = json!({ "query": "treasure", "project": "lib" });
    let refused = client.call("context_search", refused).await;
    assert_eq!(refused.code(), "project_not_found");
}
