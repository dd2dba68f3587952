//! How long a revoked key, and an ended session, still works on three gateways that share only Postgres.
//! The figure is the slowest of the three.
//!
//! Target: under 1 s in each of 50 rounds. Run: `cargo bench -p archway-benches --bench revoke`. It starts a
//! PostgreSQL, or uses that of `ARCHWAY_TEST_DATABASE_URL`.

use archway_benches::{median, quantile};
use e2e::{Client, Harness, Key, Repo, Stack, Tenant, http::Request};
use futures::future::join_all;
use serde_json::json;
use tokio::time::Instant;

const REPLICAS: usize = 3;
const ROUNDS: usize = 50;

#[tokio::main]
async fn main() {
    let repo = Repo::new().file("a.txt", "a").commit();
    let mut acme = Tenant::new("acme").project("site", repo);
    for round in 0..ROUNDS {
        acme = acme.key(Key::new(&round.to_string()));
    }
    let stack = Harness::new().replicas(REPLICAS).tenant(acme);
    let stack = stack.start().await;

    let (mut keys, mut sessions) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        keys.push(revoke_key(&stack, &round.to_string()).await);
        sessions.push(end_session(&stack).await);
    }
    report("key revoked → refused by all", &mut keys);
    report("session ended → refused by all", &mut sessions);
}

fn report(what: &str, taken: &mut [f64]) {
    let longest = quantile(taken, 1.0);
    println!(
        "{what:31} p50 {:6.1} ms   p100 {longest:6.1} ms   of {ROUNDS}, {REPLICAS} gateways (target < 1000)",
        median(taken)
    );
}

/// Milliseconds from the beginning of the revocation to the last gateway's first refusal.
async fn revoke_key(stack: &Stack, label: &str) -> f64 {
    let clients: Vec<_> = (0..REPLICAS)
        .map(|at| stack.at(at, "acme", label))
        .collect();
    for client in &clients {
        assert_eq!(status(client, "").await, 200);
    }
    let started = Instant::now();
    stack.revoke(&clients[0]).await;
    join_all(clients.iter().map(|client| refused(client, "", 401))).await;
    started.elapsed().as_secs_f64() * 1e3
}

/// The same, from a DELETE at the first gateway.
async fn end_session(stack: &Stack) -> f64 {
    let clients: Vec<_> = (0..REPLICAS).map(|at| stack.at(at, "acme", "")).collect();
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "bench", "version": "1" },
    });
    let opened = clients[0].rpc("initialize", params).await;
    let handle = opened.header("mcp-session-id").expect("a session");
    for client in &clients {
        assert_eq!(status(client, handle).await, 200);
    }
    let started = Instant::now();
    let delete = Request::new("DELETE", "/mcp")
        .header("Authorization", &format!("Bearer {}", clients[0].key()))
        .header("Mcp-Session-Id", handle);
    assert_eq!(delete.send(clients[0].address()).await.status, 204);
    join_all(clients.iter().map(|client| refused(client, handle, 404))).await;
    started.elapsed().as_secs_f64() * 1e3
}

async fn refused(client: &Client, handle: &str, with: u16) {
    while status(client, handle).await != with {}
}

async fn status(client: &Client, handle: &str) -> u16 {
    let mut request = client.request("tools/call", json!({ "name": "hello", "arguments": {} }));
    if !handle.is_empty() {
        request = request.header("Mcp-Session-Id", handle);
    }
    request.send(client.address()).await.status
}
