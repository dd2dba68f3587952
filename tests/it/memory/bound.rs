//! A tenant's memory has a bound, which the operator sets.

use archway::tenants::{LimitOwner, Tenants};
use archway_gateway::terms::{Level, MEMORY};
use e2e::{Client, Harness, Repo, Stack, Tenant};
use serde_json::json;
use sqlx::PgPool;

use super::entry;

async fn set_room(stack: &Stack, mib: u32) {
    let tenants = Tenants::new(
        PgPool::connect_with(stack.database().owner())
            .await
            .unwrap(),
    );
    let whose = LimitOwner {
        tenant: stack.tenant_id("acme"),
        lineage: None,
    };
    let set = tenants.change(async |tx| tx.set_limit(whose, Level::Tenant, MEMORY, mib).await);
    assert!(set.await.unwrap());
}

/// Writes 9 kB to a project. Returns whether there was room.
async fn fill(client: &Client, project: &str) -> bool {
    let mut large = entry("fill");
    large["text"] = json!("x".repeat(9_000));
    let arguments = json!({ "project": project, "file": "progress_log.jsonl", "entry": large });
    let reply = client.call("write_memory_entry", arguments).await;
    assert!(
        !reply.is_error() || reply.code() == "quota_exceeded",
        "{:?}",
        reply.value()
    );
    !reply.is_error()
}

#[tokio::test]
async fn a_full_memory_refuses_writes_to_all_projects_of_the_tenant() {
    let repo = || Repo::new().file("a.txt", "a");
    let acme = Tenant::new("acme")
        .project("site", repo())
        .project("shop", repo());
    let zeta = Tenant::new("zeta").project("site", repo());
    let stack = Harness::new().tenant(acme).tenant(zeta).start().await;
    let client = stack.client("acme");
    set_room(&stack, 1).await;
    let mut written = 0;
    while fill(&client, "site").await {
        written += 1;
    }
    assert_eq!(
        written,
        (1 << 20) / (9_067 + 256),
        "a MiB of entries as they are stored, each with what a row takes"
    );
    assert!(!fill(&client, "shop").await);
    let discovery = json!({ "project": "shop", "type": "rule", "content": "x".repeat(5000) });
    let refused = client.call("record_discovery", discovery.clone()).await;
    assert_eq!(refused.code(), "quota_exceeded");
    // Smaller entries fit, and another tenant has its own bound.
    let small = json!({ "project": "shop", "type": "rule", "content": "x" });
    client.call("record_discovery", small).await.structured();
    assert!(fill(&stack.client("zeta"), "site").await);
    set_room(&stack, 0).await;
    assert!(fill(&client, "shop").await);
    client
        .call("record_discovery", discovery)
        .await
        .structured();
}
