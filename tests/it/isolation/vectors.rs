//! Requests to Qdrant: each one for chunks demands the tenant of the call, and no answer contains another
//! tenant's chunk, though all are in one collection.

use e2e::{Client, Harness, Qdrant, Repo, Stack, Tenant};
use serde_json::{Value, json};

async fn found(stack: &Stack, client: &Client, arguments: Value) -> String {
    let answered = async || {
        let reply = client.call("context_search", arguments.clone()).await;
        (!reply.is_error()).then(|| reply.value().to_string())
    };
    stack.eventually(answered).await
}

fn tenant(slug: &str) -> Tenant {
    // The same text, hence the same blob and vector, and one of its own.
    let same = "/// Opens the gate.\npub fn open_gate() {}\n";
    let own = format!("/// Opens the gate of {slug}.\npub fn open_{slug}() {{}}\n");
    let repo = Repo::new()
        .file("same.rs", same)
        .file(&format!("{slug}.rs"), own);
    Tenant::new(slug).project("site", repo.commit())
}

#[tokio::test]
async fn every_request_for_chunks_over_the_wire_demands_the_tenant_of_the_call() {
    let qdrant = Qdrant::start().await;
    let harness = Harness::new().tenant(tenant("acme")).tenant(tenant("zeta"));
    let stack = harness.qdrant(&qdrant).start().await;
    for slug in ["acme", "zeta"] {
        found(&stack, &stack.client(slug), json!({ "query": "gate" })).await;
    }
    for (slug, other) in [("acme", "zeta"), ("zeta", "acme")] {
        qdrant.requests();
        let client = stack.client(slug);
        for arguments in [
            json!({ "query": "opens the gate", "limit": 20 }),
            json!({ "query": "opens the gate", "path_glob": "**", "limit": 20 }),
            json!({ "query": "opens the gate", "chunk_type": ["function"] }),
            json!({ "query": format!("open_{other}"), "project_scope": "all_linked", "limit": 20 }),
            json!({ "query": format!("open_{other}"), "project_scope": "all", "limit": 20 }),
        ] {
            let text = found(&stack, &client, arguments.clone()).await;
            assert!(
                !text.contains(&format!("{other}.rs")),
                "{slug} {arguments}: {text}"
            );
        }
        assert_fenced(&stack, slug, &qdrant.requests());
    }
}

/// Asserts that all searches demanded the tenant, and all other requests, which are the indexer's, some
/// tenant.
fn assert_fenced(stack: &Stack, slug: &str, requests: &[(&str, Vec<Option<String>>)]) {
    let own = Some(stack.tenant_id(slug).to_string());
    let known = ["acme", "zeta"].map(|slug| Some(stack.tenant_id(slug).to_string()));
    let mut searches = 0;
    for (method, tenants) in requests {
        if *method == "points.query_batch" {
            assert!(!tenants.is_empty(), "{method} without a filter");
            assert!(
                tenants.iter().all(|tenant| *tenant == own),
                "{slug}: {method} of {tenants:?}"
            );
            searches += 1;
        }
        assert!(
            tenants.iter().all(|tenant| known.contains(tenant)),
            "{method} of {tenants:?}"
        );
    }
    assert!(searches >= 5, "{requests:?}");
}
