//! Ownership of documents: a URI names the project unless it is the caller's default, and no tenant finds
//! another's documents.

use e2e::{Harness, Key, Repo, Stack, Tenant};
use serde_json::json;

use super::{ask, documented, search, uris};

fn about(word: &str) -> Repo {
    Repo::new()
        .file("docs/adr/0001-x.md", format!("# Use {word}\n"))
        .commit()
}

async fn two_tenants() -> Stack {
    let acme = Tenant::new("acme")
        .project("site", about("pineapple"))
        .project("shop", about("figs"))
        .key(Key::new("shopkeeper").projects(["shop"]))
        .key(Key::new("builder").default_project("site"));
    let zeta = Tenant::new("zeta").project("site", about("dates"));
    Harness::new().tenant(acme).tenant(zeta).start().await
}

#[tokio::test]
async fn a_uri_names_the_project_unless_it_is_the_callers_default() {
    let stack = two_tenants().await;
    for (client, project, uri) in [
        (
            stack.keyed("acme", "builder"),
            None,
            "architecture://adr/0001-x",
        ),
        (
            stack.keyed("acme", "builder"),
            Some("site"),
            "architecture://adr/0001-x",
        ),
        (
            stack.keyed("acme", "builder"),
            Some("shop"),
            "architecture://shop/adr/0001-x",
        ),
        (
            stack.keyed("acme", "shopkeeper"),
            None,
            "architecture://adr/0001-x",
        ),
        (
            stack.client("acme"),
            Some("site"),
            "architecture://site/adr/0001-x",
        ),
        (stack.client("zeta"), None, "architecture://adr/0001-x"),
    ] {
        let reply = ask(&client, json!({ "query": "use", "project": project })).await;
        assert_eq!(uris(&reply), [uri], "{project:?}");
    }
    let anybody = stack.client("acme");
    let unclear = anybody.call("search_architecture", json!({ "query": "use" }));
    assert_eq!(unclear.await.code(), "project_required");
}

#[tokio::test]
async fn another_tenants_documents_are_never_found_under_equal_slugs() {
    let stack = two_tenants().await;
    let (acme, zeta) = (stack.keyed("acme", "builder"), stack.client("zeta"));
    for _ in 0..2 {
        assert_eq!(uris(&search(&acme, "pineapple").await).len(), 1);
        assert_eq!(uris(&search(&zeta, "pineapple figs").await), [""; 0]);
        assert_eq!(uris(&search(&zeta, "dates").await).len(), 1);
        assert_eq!(uris(&search(&acme, "dates figs").await), [""; 0]);
    }
    let narrowed = stack.keyed("acme", "shopkeeper");
    let arguments = json!({ "query": "pineapple", "project": "site" });
    let refused = narrowed.call("search_architecture", arguments).await;
    assert_eq!(refused.code(), "project_not_found");
}

#[tokio::test]
async fn a_key_without_the_family_may_not_search() {
    let acme = Tenant::new("acme").project("site", documented().commit());
    let acme = acme.key(Key::new("reader").families(["files"]));
    let stack = Harness::new().tenant(acme).start().await;
    let reader = stack.keyed("acme", "reader");
    let listed = reader.rpc("tools/list", json!({})).await.json();
    assert!(
        !listed.to_string().contains("search_architecture"),
        "{listed}"
    );
}
