//! Revocations without notifications: they take effect within a bound, which is printed, and a valid key
//! is never refused as bad.

use std::time::Duration;

use e2e::{Client, Harness, Issuer, Key, Repo, Stack, Tenant, http::Request};
use futures::future::{join, join_all, join4};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::{REPLICAS, status};

/// The bound while notifications are lost unnoticed: SECURITY says 12 s; this machine may be busy.
const UNHEARD: Duration = Duration::from_secs(15);
/// The grace period of tests that wait for its end.
const GRACE: Duration = Duration::from_secs(6);
/// What a busy machine may add to a bound.
const SLACK: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(40);

async fn replicas(grace: Duration, issuer: &Issuer) -> Stack {
    let repo = || Repo::new().file("a.txt", "a").commit();
    let acme = Tenant::new("acme").project("site", repo());
    let zeta = Tenant::new("zeta").project("site", repo());
    let harness = Harness::new()
        .tenant(acme.key(Key::new("other")))
        .tenant(zeta);
    let harness = harness.issuer(issuer.entry("tenant: acme"));
    let harness = harness.replicas(REPLICAS).relayed();
    let stack = harness.configure(|config| config.auth.key_grace = grace);
    let stack = stack.start().await;
    stack.until_listening().await;
    stack
}

/// Two keys for each gateway: one to revoke, and one to keep.
fn clients(stack: &Stack) -> Vec<(Client, Client)> {
    let both = |gateway| {
        (
            stack.at(gateway, "acme", ""),
            stack.at(gateway, "acme", "other"),
        )
    };
    (0..REPLICAS).map(both).collect()
}

async fn assert_all_good(clients: &[(Client, Client)]) {
    for (first, second) in clients {
        assert_eq!((status(first).await, status(second).await), (200, 200));
    }
}

/// Polls until the answer is no longer good. Returns that answer, and when it was last good.
async fn last_good(ask: impl AsyncFn() -> u16, since: Instant) -> (u16, Duration) {
    let mut last = Duration::ZERO;
    loop {
        let asked = since.elapsed();
        match ask().await {
            200 => last = asked,
            other => return (other, last),
        }
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn revocations_reach_gateways_that_miss_notifications_within_the_bound() {
    let issuer = Issuer::start().await;
    let stack = replicas(UNHEARD, &issuer).await;
    let clients = clients(&stack);
    assert_all_good(&clients).await;
    let handle = open(&stack.keyed("acme", "other")).await;
    let token = issuer.token("a");
    let bearing = |gateway: usize| Client::new(stack.gateways()[gateway], &token);
    for gateway in 0..REPLICAS {
        assert_eq!(status(&stack.at(gateway, "zeta", "")).await, 200);
        assert_eq!(status(&bearing(gateway)).await, 200);
    }
    stack.database().drop_notifications(true);
    let since = Instant::now();
    stack.revoke(&clients[0].0).await;
    stack.set_disabled("zeta", true).await;
    delete(&clients[0].1, &handle).await;
    stack.revoke_principal(&issuer.url(), "a").await;
    let ends = clients
        .iter()
        .enumerate()
        .map(async |(gateway, (revoked, good))| {
            let (disabled, principal) = (stack.at(gateway, "zeta", ""), bearing(gateway));
            let session = good
                .request("ping", json!({}))
                .header("Mcp-Session-Id", &handle);
            let ends = join4(
                last_good(async || status(revoked).await, since),
                last_good(async || status(&disabled).await, since),
                last_good(async || session.send(good.address()).await.status, since),
                last_good(async || status(&principal).await, since),
            );
            let ends = ends.await;
            // Postgres answers, so the valid key must be accepted all the time.
            assert_eq!(status(good).await, 200);
            [ends.0, ends.1, ends.2, ends.3]
        });
    let ends = timeout(PATIENCE, join_all(ends)).await.expect("all end");
    for (number, what) in ["key", "tenant", "session", "principal"]
        .into_iter()
        .enumerate()
    {
        report(what, ends.iter().map(|ends| ends[number]));
    }
    stack.database().drop_notifications(false);
    stack.until_listening().await;
    for (revoked, good) in &clients {
        assert_eq!((status(revoked).await, status(good).await), (401, 200));
    }
}

/// Prints how long something was good at worst, and checks it against the bound.
fn report(what: &str, ends: impl Iterator<Item = (u16, Duration)>) {
    let refused = if what == "session" { 404 } else { 401 };
    let mut worst = Duration::ZERO;
    for (answer, last) in ends {
        assert_eq!(answer, refused, "{what}");
        worst = worst.max(last);
    }
    println!("a {what}, notifications lost: good for {worst:?} at worst of {REPLICAS} gateways");
    assert!(worst <= UNHEARD, "{what}: {worst:?}");
}

async fn delete(client: &Client, handle: &str) {
    let delete = Request::new("DELETE", "/mcp")
        .header("Authorization", &format!("Bearer {}", client.key()))
        .header("Mcp-Session-Id", handle);
    assert_eq!(delete.send(client.address()).await.status, 204);
}

/// The handle of a new session.
async fn open(client: &Client) -> String {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "e2e", "version": "1" },
    });
    let opened = client.rpc("initialize", params).await;
    opened.header("mcp-session-id").unwrap().to_owned()
}

#[tokio::test]
async fn without_postgres_a_revoked_key_ends_within_the_grace_period() {
    let stack = replicas(GRACE, &Issuer::start().await).await;
    let clients = clients(&stack);
    assert_all_good(&clients).await;
    stack.database().shut_out().await;
    let since = Instant::now();
    stack.revoke(&clients[0].0).await;
    let ends = clients.iter().map(async |(revoked, good)| {
        let revoked = last_good(async || status(revoked).await, since);
        join(revoked, last_good(async || status(good).await, since)).await
    });
    let ends = timeout(PATIENCE, join_all(ends))
        .await
        .expect("the grace ends");
    let worst = ends.iter().map(|(revoked, _)| revoked.1).max().unwrap();
    println!(
        "a key, revoked, Postgres shut: good for {worst:?} at worst with a grace of {GRACE:?}"
    );
    for ((answer, last), (good_answer, _)) in &ends {
        // Neither can be verified now.
        assert_eq!((*answer, *good_answer), (503, 503));
        assert!(*last <= GRACE + SLACK, "{ends:?}");
    }
    stack.database().let_in().await;
    for (revoked, good) in &clients {
        let told = async || (status(good).await == 200).then_some(());
        stack.eventually(told).await;
        let told = async || {
            let answer = status(revoked).await;
            assert_ne!(answer, 200, "a revoked key stays revoked");
            (answer == 401).then_some(())
        };
        stack.eventually(told).await;
    }
}
