//! A tenant's administration takes effect on every notified gateway, in less than a second on an idle
//! machine: its limits, those of its keys, and the pool that serves it.

use archway::tenants::{LimitOwner, Tenants};
use archway_gateway::terms::Level;
use e2e::{
    Client, Harness, Key, Repo, Stack, Tenant, http::Response, until_enforced, until_limit_enforced,
};
use serde_json::Value;
use sqlx::PgPool;

const REPLICAS: usize = 3;

async fn replicas() -> (Stack, Tenants) {
    let repo = Repo::new().file("a.txt", "a").commit();
    let acme = Tenant::new("acme").project("site", repo).limited();
    let acme = acme.key(Key::new("other"));
    let stack = Harness::new().replicas(REPLICAS).tenant(acme).start().await;
    stack.until_listening().await;
    let owner = PgPool::connect_with(stack.database().owner());
    let tenants = Tenants::new(owner.await.unwrap());
    (stack, tenants)
}

/// This key's clients, one for each gateway.
fn everywhere(stack: &Stack, label: &str) -> Vec<Client> {
    let replicas = 0..REPLICAS;
    replicas
        .map(|replica| stack.at(replica, "acme", label))
        .collect()
}

/// Waits until the tightest limit of `hello` is this many calls per minute for a key, everywhere.
async fn limited(stack: &Stack, label: &str, per_minute: u32) {
    let policy = format!("\"key:hello\";q={per_minute};w=60");
    until_limit_enforced(&everywhere(stack, label), &policy).await;
}

#[tokio::test]
async fn a_changed_limit_holds_on_every_gateway_once_notified() {
    let (stack, tenants) = replicas().await;
    let tenant = stack.tenant_id("acme");
    let id = stack
        .client("acme")
        .key()
        .split('_')
        .nth(1)
        .unwrap()
        .to_owned();
    let found = tenants.change(async |tx| tx.find_key(&id).await).await;
    let one = LimitOwner {
        tenant,
        lineage: Some(found.unwrap().lineage),
    };
    let all = LimitOwner {
        lineage: None,
        ..one
    };
    let set = async |whose: LimitOwner, per_minute| {
        let set =
            tenants.change(async |tx| tx.set_limit(whose, Level::Key, "hello", per_minute).await);
        assert!(set.await.unwrap(), "it was another");
    };
    let unset = async |whose: LimitOwner| {
        let unset = tenants.change(async |tx| tx.unset_limit(whose, Level::Key, "hello").await);
        assert!(unset.await.unwrap(), "it was set");
    };
    limited(&stack, "", 100).await;
    for per_minute in [90, 80] {
        set(all, per_minute).await;
        limited(&stack, "", per_minute).await;
        limited(&stack, "other", per_minute).await;
    }
    set(one, 70).await;
    limited(&stack, "", 70).await;
    limited(&stack, "other", 80).await;
    unset(one).await;
    limited(&stack, "", 80).await;
    unset(all).await;
    limited(&stack, "", 100).await;
    limited(&stack, "other", 100).await;
}

#[tokio::test]
async fn a_tenant_moved_to_another_pool_is_served_by_its_workers_only() {
    let (stack, tenants) = replicas().await;
    let tenant = stack.tenant_id("acme");
    let code = |answer: &Response| -> Value {
        answer.json()["result"]["_meta"]["io.archway/error"]["error"]["code"].clone()
    };
    let served = |answer: &Response| answer.status == 200 && code(answer).is_null();
    until_enforced(&everywhere(&stack, ""), "the shared pool", served).await;
    for (pool, is_served) in [("own", false), ("shared", true)] {
        let moved = tenants.change(async |tx| tx.set_pool(tenant, pool).await);
        assert!(moved.await.unwrap());
        // Its own pool has no workers.
        let is = |answer: &Response| match is_served {
            true => served(answer),
            false => code(answer) == "unavailable",
        };
        until_enforced(&everywhere(&stack, ""), pool, is).await;
    }
}
