//! A key that is revoked, or whose tenant is disabled, is refused by every gateway within a
//! second; one that is made is good as soon.

use std::time::Duration;

use e2e::{Client, Harness, Key, Repo, Stack, Tenant};
use serde_json::json;
use sqlx::PgPool;
use tokio::time::timeout;

const REPLICAS: usize = 3;

async fn replicas() -> Stack {
    let repo = Repo::new().file("a.txt", "a").commit();
    let acme = Tenant::new("acme").project("site", repo);
    let acme = acme.key(Key::new("other"));
    let stack = Harness::new().replicas(REPLICAS).tenant(acme).start().await;
    hearing(&stack).await;
    stack
}

/// Waits until every gateway says that it hears of changes.
async fn hearing(stack: &Stack) {
    let hears = "archway_gateway_listening_for_changes 1\n";
    for admin in stack.admins() {
        stack
            .eventually(async || {
                let asked = e2e::http::Request::new("GET", "/metrics");
                let metrics = asked.send(admin).await.text();
                metrics.contains(hears).then_some(())
            })
            .await;
    }
}

async fn owner(stack: &Stack) -> PgPool {
    PgPool::connect_with(stack.database().owner())
        .await
        .unwrap()
}

async fn status(client: &Client) -> u16 {
    client.rpc("tools/list", json!({})).await.status
}

/// Waits until every gateway answers the key of this label so.
async fn everywhere(stack: &Stack, label: &str, expected: u16, within: Duration) {
    let waiting = async {
        for replica in 0..REPLICAS {
            while status(&stack.at(replica, "acme", label)).await != expected {}
        }
    };
    let waited = timeout(within, waiting).await;
    assert!(
        waited.is_ok(),
        "not everywhere {expected} within {within:?}"
    );
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_revoked_key_is_refused_everywhere_within_a_second_and_no_other() {
    let stack = replicas().await;
    everywhere(&stack, "", 200, SECOND).await;
    everywhere(&stack, "other", 200, SECOND).await;
    stack.revoke(&stack.client("acme")).await;
    everywhere(&stack, "", 401, SECOND).await;
    everywhere(&stack, "other", 200, SECOND).await;
}

#[tokio::test]
async fn a_tenants_keys_follow_its_being_disabled_and_enabled_within_a_second() {
    let stack = replicas().await;
    let owner = owner(&stack).await;
    everywhere(&stack, "", 200, SECOND).await;
    for (statement, expected) in [
        ("update tenants set disabled_at = now()", 401),
        ("update tenants set disabled_at = null", 200),
    ] {
        sqlx::query(statement).execute(&owner).await.unwrap();
        everywhere(&stack, "", expected, SECOND).await;
    }
}

#[tokio::test]
async fn a_key_that_was_unknown_is_good_within_a_second_of_being_made() {
    let stack = replicas().await;
    let owner = owner(&stack).await;
    // As if it were made later: the same row goes away and comes back.
    sqlx::query("create table kept as select * from api_keys where label = 'other'")
        .execute(&owner)
        .await
        .unwrap();
    sqlx::query("delete from api_keys where label = 'other'")
        .execute(&owner)
        .await
        .unwrap();
    everywhere(&stack, "other", 401, SECOND).await;
    sqlx::query("insert into api_keys select * from kept")
        .execute(&owner)
        .await
        .unwrap();
    everywhere(&stack, "other", 200, SECOND).await;
}

#[tokio::test]
async fn what_was_revoked_while_nobody_heard_is_refused_once_they_do() {
    let stack = replicas().await;
    everywhere(&stack, "", 200, SECOND).await;
    stack.database().close().await;
    // Known keys are good while Postgres is away.
    everywhere(&stack, "", 200, SECOND).await;
    stack.database().open().await;
    stack.revoke(&stack.client("acme")).await;
    // Each connects again within two seconds, and looks at everything anew.
    everywhere(&stack, "", 401, Duration::from_secs(10)).await;
}
