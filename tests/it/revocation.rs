//! Every gateway refuses a revoked key, or the key of a disabled tenant, once it is notified, and accepts
//! a new key as soon. A second is promised, and `measured` prints the measured time: this machine may be
//! busy.

mod measured;
mod missed;

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
    stack.until_listening().await;
    stack
}

async fn owner(stack: &Stack) -> PgPool {
    PgPool::connect_with(stack.database().owner())
        .await
        .unwrap()
}

async fn status(client: &Client) -> u16 {
    client.rpc("tools/list", json!({})).await.status
}

/// Waits until every gateway gives this status to the key of this label.
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
/// How long a gateway may take to act on a notification. Without it, it keeps what it knew for 30 s.
const TOLD: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_revoked_key_is_refused_everywhere_once_notified_and_no_other() {
    let stack = replicas().await;
    everywhere(&stack, "", 200, TOLD).await;
    everywhere(&stack, "other", 200, TOLD).await;
    stack.revoke(&stack.client("acme")).await;
    everywhere(&stack, "", 401, TOLD).await;
    everywhere(&stack, "other", 200, TOLD).await;
}

#[tokio::test]
async fn disabling_a_tenant_ends_its_keys_and_enabling_restores_them() {
    let stack = replicas().await;
    let owner = owner(&stack).await;
    everywhere(&stack, "", 200, TOLD).await;
    for (statement, expected) in [
        ("update tenants set disabled_at = now()", 401),
        ("update tenants set disabled_at = null", 200),
    ] {
        sqlx::query(statement).execute(&owner).await.unwrap();
        everywhere(&stack, "", expected, TOLD).await;
    }
}

#[tokio::test]
async fn an_unknown_key_is_accepted_once_gateways_hear_of_its_creation() {
    let stack = replicas().await;
    let owner = owner(&stack).await;
    // As if the key were created later: the same row is removed and restored.
    sqlx::query("create table kept as select * from api_keys where label = 'other'")
        .execute(&owner)
        .await
        .unwrap();
    sqlx::query("delete from api_keys where label = 'other'")
        .execute(&owner)
        .await
        .unwrap();
    everywhere(&stack, "other", 401, TOLD).await;
    sqlx::query("insert into api_keys select * from kept")
        .execute(&owner)
        .await
        .unwrap();
    // Before gateways would look up an unknown key again.
    everywhere(&stack, "other", 200, 4 * SECOND).await;
}

#[tokio::test]
async fn a_revocation_without_listeners_takes_effect_when_they_return() {
    let stack = replicas().await;
    everywhere(&stack, "", 200, TOLD).await;
    stack.database().close().await;
    // Known keys are good while Postgres is down.
    everywhere(&stack, "", 200, TOLD).await;
    stack.database().open().await;
    stack.revoke(&stack.client("acme")).await;
    // Each reconnects within 2 s and reloads everything.
    everywhere(&stack, "", 401, TOLD).await;
}

#[tokio::test]
async fn without_postgres_a_key_is_good_for_the_grace_and_then_undecided() {
    let repo = Repo::new().file("a.txt", "a").commit();
    let stack = Harness::new()
        .tenant(
            Tenant::new("acme")
                .project("site", repo)
                .key(Key::new("other")),
        )
        .configure(|config| config.auth.key_grace = Duration::from_secs(7))
        .start()
        .await;
    let (known, unseen) = (stack.client("acme"), stack.keyed("acme", "other"));
    assert_eq!(status(&known).await, 200);
    stack.database().close().await;
    assert_eq!(status(&known).await, 200);
    // This key was never looked up, so it is undecided.
    assert_eq!(status(&unseen).await, 503);
    let undecided = stack
        .eventually(async || {
            let answer = known.rpc("tools/list", json!({})).await;
            assert_ne!(answer.status, 401);
            (answer.status != 200).then_some(answer)
        })
        .await;
    assert_eq!(undecided.status, 503);
    assert!(undecided.header("retry-after").is_some());
    stack.database().open().await;
    for client in [&known, &unseen] {
        let good = async || (status(client).await == 200).then_some(());
        stack.eventually(good).await;
    }
}
