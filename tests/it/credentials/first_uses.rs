//! First uses of many keys at once wait their turn at Postgres; few of them are there together.

use std::{net::SocketAddr, time::Duration};

use archway::tenants::KeyRequest;
use e2e::{Harness, Repo, Stack, Tenant, http::Response};
use futures::{StreamExt, stream};
use secrecy::ExposeSecret;
use sqlx::{Connection, Executor, PgConnection};
use tokio::time::timeout;

use super::{call, checked};

/// Keys, and connections that use them together.
const KEYS: usize = 100;
const CONNECTIONS: usize = 64;
/// Look-ups of unconfirmed keys that reach Postgres together: half of its default pool.
const SLOTS: i64 = 4;
/// For how long Postgres answers no look-up. Longer than a busy cold pool takes, and well below what
/// a first use waits.
const SLOW: Duration = Duration::from_millis(600);

/// New keys of a tenant.
async fn issue(stack: &Stack) -> Vec<String> {
    let tenant = stack.tenant_id("acme");
    let mut keys = Vec::new();
    for _ in 0..KEYS {
        let key = stack
            .tenants()
            .issue_key(tenant, stack.secret(), KeyRequest::default());
        keys.push(key.await.unwrap().api_key.expose_secret().to_owned());
    }
    keys
}

/// Calls once with each key, over so many connections at a time.
async fn use_each(to: SocketAddr, keys: Vec<String>) -> Vec<Response> {
    stream::iter(keys)
        .map(|key| async move {
            let request = call().header("Authorization", &format!("Bearer {key}"));
            request.send(to).await
        })
        .buffer_unordered(CONNECTIONS)
        .collect()
        .await
}

/// How many look-ups wait for a lock.
async fn blocked(owner: &mut PgConnection) -> i64 {
    sqlx::query_scalar(
        "select count(*) from pg_stat_activity where datname = current_database()
         and usename = 'archway_gateway' and wait_event_type = 'Lock'",
    )
    .fetch_one(owner)
    .await
    .unwrap()
}

/// Runs `calls` while Postgres answers no look-up for [`SLOW`]; returns what they came to, and how
/// many look-ups were at Postgres meanwhile.
async fn while_slow<T>(stack: &Stack, calls: impl Future<Output = T>) -> (T, i64) {
    let owner = stack.database().owner();
    let mut locks = PgConnection::connect_with(&owner).await.unwrap();
    let mut looks = PgConnection::connect_with(&owner).await.unwrap();
    locks
        .execute("begin; lock table api_keys in access exclusive mode")
        .await
        .unwrap();
    let mut calls = Box::pin(calls);
    assert!(timeout(SLOW, &mut calls).await.is_err(), "it is locked");
    let at_postgres = blocked(&mut looks).await;
    locks.execute("rollback").await.unwrap();
    (calls.await, at_postgres)
}

async fn stack() -> Stack {
    let repo = Repo::new().file("a.txt", "a").commit();
    let acme = Tenant::new("acme").project("site", repo);
    Harness::new().tenant(acme).start().await
}

#[tokio::test]
async fn first_uses_of_a_hundred_keys_wait_while_postgres_is_slow() {
    let stack = stack().await;
    let keys = issue(&stack).await;
    let calls = use_each(stack.client("acme").address(), keys);
    let (answers, at_postgres) = while_slow(&stack, calls).await;
    assert_eq!(answers.len(), KEYS);
    for answer in answers {
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    assert_eq!(at_postgres, SLOTS);
}

#[tokio::test]
async fn made_up_keys_take_no_more_of_postgres_than_their_slots() {
    let stack = stack().await;
    let client = stack.client("acme");
    let first = client.rpc("ping", serde_json::json!({})).await;
    assert_eq!(first.status, 200, "{}", first.text());
    let secret = "0".repeat(32);
    let keys = (0..KEYS).map(|number| checked(&format!("awy_{number:012}_{secret}")));
    let flood = use_each(client.address(), keys.collect());
    let calls = async { tokio::join!(flood, client.rpc("ping", serde_json::json!({}))) };
    let ((answers, good), at_postgres) = while_slow(&stack, calls).await;
    assert!(answers.iter().all(|it| [401, 429].contains(&it.status)));
    assert_eq!(good.status, 200, "{}", good.text());
    assert_eq!(at_postgres, SLOTS);
}
