//! The page of calls finds those of all keys with a label, and says what may be wrong with a filter.

use e2e::{Harness, Key, Repo, Stack, Tenant, http::Request};
use serde_json::json;

use super::{
    has_row,
    pages::{at, link, once, owner},
};

/// `acme` has two keys with the label `ci`, as after a rotation, and one with another.
async fn stack() -> Stack {
    stack_with(0).await
}

/// The same, with more keys of that label.
async fn stack_with(more: usize) -> Stack {
    let repo = || Repo::new().file("a", "a").commit();
    let acme = Tenant::new("acme")
        .project("site", repo())
        .key(Key::new("older"))
        .key(Key::new("other"));
    let acme = (0..more).fold(acme, |acme, number| {
        acme.key(Key::new(&format!("k{number}")))
    });
    let zeta = Tenant::new("zeta").project("shop", repo());
    let harness = Harness::new().tenant(acme).tenant(zeta);
    let harness = harness.configure(|config| config.console.console = true);
    let stack = harness.start().await;
    let labelled = "update api_keys set label = 'ci' where tenant_id = $1 and label <> 'other'";
    let labelled = sqlx::query(labelled).bind(stack.tenant_id("acme"));
    labelled.execute(&owner(&stack).await).await.unwrap();
    stack
}

#[tokio::test]
async fn calls_of_all_keys_with_a_label_are_one_list() {
    let stack = stack().await;
    let (older, other) = (stack.keyed("acme", "older"), stack.keyed("acme", "other"));
    other.call("git_log", json!({})).await.structured();
    let list = json!({ "query": "site" });
    older.call("list_projects", list).await.structured();
    let client = stack.client("acme");
    client.call("hello", json!({})).await.structured();
    once(&stack, "/console/calls?tenant=acme", &["hello", "git_log"]).await;
    let path = "/console/calls?tenant=acme&key=ci";
    let page = once(&stack, path, &["hello", "list_projects"]).await;
    assert!(page.contains("2 keys have this label:"), "{page}");
    for (client, tool) in [(&client, "hello"), (&older, "list_projects")] {
        let id = client.key().split('_').nth(1).unwrap();
        assert!(has_row(&page, &["acme", id, tool, "ok"]), "{page}");
        let key = format!("/console/tenants/acme/keys/{id}");
        assert_eq!(link(&page, id), Some(&*key));
    }
    assert!(!page.contains("git_log"), "of another label: {page}");
}

#[tokio::test]
async fn keys_beyond_a_page_with_one_label_are_not_counted() {
    let stack = stack_with(50).await;
    let page = at(&stack, "/console/calls?tenant=acme&key=ci").await;
    assert!(page.contains("At least 50 keys have this label:"), "{page}");
    assert!(page.contains("of the first 10."), "{page}");
}

#[tokio::test]
async fn a_mistake_in_the_filter_of_calls_is_named() {
    let stack = stack().await;
    let client = stack.client("acme");
    let id = client.key().split('_').nth(1).unwrap();
    let unknown = "No key of acme has the label or the id";
    for (query, hint) in [
        ("key=ci", "only together with its tenant"),
        ("tenant=nobody", "There is no tenant nobody"),
        ("tenant=nobody&key=ci", "There is no tenant nobody"),
        ("tenant=acme&key=cd", unknown),
        (
            "tenant=zeta&key=ci",
            "No key of zeta has the label or the id",
        ),
    ] {
        let page = at(&stack, &format!("/console/calls?{query}")).await;
        assert!(page.contains(hint), "{query}: {page}");
    }
    for known in ["key=ci", "key=other", &*format!("key={id}")] {
        let page = at(&stack, &format!("/console/calls?tenant=acme&{known}")).await;
        assert!(!page.contains(unknown), "{known}: {page}");
    }
    let page = at(&stack, "/console/calls?tenant=zeta").await;
    assert!(!page.contains("There is no tenant"), "{page}");
    let answer = Request::new("GET", "/console/").send(stack.admin()).await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (308, Some("/console"))
    );
}
