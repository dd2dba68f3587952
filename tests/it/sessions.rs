//! Sessions of older clients on three gateways that share nothing but Postgres and a secret; and the
//! session labels of newer clients.

use std::time::Duration;

use e2e::{
    Client, Harness, Key, Repo, Stack, Tenant,
    http::{Request, Response},
};
use serde_json::json;
use sqlx::PgPool;
use tokio::time::timeout;

const REPLICAS: usize = 3;
/// How soon an ended session must be refused everywhere: a second is promised (`revocation/measured.rs`),
/// and this bound is for a busy machine. A gateway that misses the notification would never check.
const EVERYWHERE: Duration = Duration::from_secs(10);

async fn replicas() -> Stack {
    let repo = || Repo::new().file("a.txt", "a").commit();
    let stack = Harness::new()
        .replicas(REPLICAS)
        .tenant(
            Tenant::new("acme")
                .project("site", repo())
                .key(Key::new("other")),
        )
        .tenant(Tenant::new("zeta").project("site", repo()))
        .start()
        .await;
    stack.until_listening().await;
    stack
}

async fn initialize(client: &Client) -> Response {
    let client_info = json!({ "name": "e2e", "version": "1" });
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client_info,
    });
    client.rpc("initialize", params).await
}

/// The handle of a new session.
async fn open(client: &Client) -> String {
    let answer = initialize(client).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.header("mcp-session-id").unwrap().to_owned()
}

/// The status of a call with this session handle.
async fn status(client: &Client, handle: &str) -> u16 {
    hello(client)
        .header("Mcp-Session-Id", handle)
        .send(client.address())
        .await
        .status
}

fn hello(client: &Client) -> Request {
    client.request("tools/call", json!({ "name": "hello", "arguments": {} }))
}

fn delete(client: &Client) -> Request {
    Request::new("DELETE", "/mcp").header("Authorization", &format!("Bearer {}", client.key()))
}

async fn end(client: &Client, handle: &str) -> Response {
    let request = delete(client).header("Mcp-Session-Id", handle);
    request.send(client.address()).await
}

/// Waits until every gateway gives this status to the handle.
async fn everywhere(stack: &Stack, handle: &str, expected: u16) {
    let waiting = async {
        for replica in 0..REPLICAS {
            while status(&stack.at(replica, "acme", ""), handle).await != expected {}
        }
    };
    let waited = timeout(EVERYWHERE, waiting).await;
    assert!(
        waited.is_ok(),
        "not everywhere {expected} within {EVERYWHERE:?}"
    );
}

#[tokio::test]
async fn a_handle_from_one_gateway_is_good_at_all() {
    let stack = replicas().await;
    let handle = open(&stack.client("acme")).await;
    assert!(handle.bytes().all(|byte| byte.is_ascii_graphic()));
    for replica in 0..REPLICAS {
        assert_eq!(status(&stack.at(replica, "acme", ""), &handle).await, 200);
    }
    assert_ne!(open(&stack.client("acme")).await, handle);
}

#[tokio::test]
async fn a_handle_outlives_the_gateway_that_gave_it() {
    let mut stack = replicas().await;
    let handle = open(&stack.client("acme")).await;
    stack.restart(0).await;
    assert_eq!(status(&stack.client("acme"), &handle).await, 200);
}

#[tokio::test]
async fn a_forged_or_foreign_handle_is_not_found() {
    let stack = replicas().await;
    let acme = stack.client("acme");
    let handle = open(&acme).await;
    let mut forged = handle.clone().into_bytes();
    forged[10] ^= 1;
    let forged = String::from_utf8(forged).unwrap();
    for bad in [&*forged, "x", "", "00000000-0000-4000-8000-000000000000"] {
        assert_eq!(status(&acme, bad).await, 404, "{bad:?}");
    }
    for other in [stack.keyed("acme", "other"), stack.client("zeta")] {
        let request = hello(&other).header("Mcp-Session-Id", &handle);
        let answer = request.send(other.address()).await;
        assert_eq!(answer.status, 404);
        let message = answer.json();
        assert_eq!(
            (&message["id"], &message["error"]["code"]),
            (&json!(1), &json!(-32600))
        );
        assert_eq!(end(&other, &handle).await.status, 404);
    }
    assert_eq!(status(&acme, &handle).await, 200);
}

#[tokio::test]
async fn an_ended_session_is_refused_by_every_gateway_and_no_other_is() {
    let stack = replicas().await;
    let acme = stack.client("acme");
    let (ended, kept) = (open(&acme).await, open(&acme).await);
    let answer = end(&stack.at(1, "acme", ""), &ended).await;
    assert_eq!((answer.status, answer.body.len()), (204, 0));
    assert_eq!(status(&stack.at(1, "acme", ""), &ended).await, 404);
    everywhere(&stack, &ended, 404).await;
    everywhere(&stack, &kept, 200).await;
    assert_eq!(end(&acme, &ended).await.status, 404);
}

#[tokio::test]
async fn a_session_goes_on_under_the_key_that_its_own_was_rotated_to() {
    let stack = replicas().await;
    let older = stack.client("acme");
    let handle = open(&older).await;
    let newer = stack.rotate(&older).await;
    assert_ne!(newer.key(), older.key());
    assert_eq!(status(&newer, &handle).await, 200);
    assert_eq!(end(&newer, &handle).await.status, 204);
    assert_eq!(status(&older, &handle).await, 404);
}

#[tokio::test]
async fn an_ended_session_stays_ended_after_restarts() {
    let mut stack = replicas().await;
    let handle = open(&stack.client("acme")).await;
    assert_eq!(end(&stack.client("acme"), &handle).await.status, 204);
    for replica in 0..REPLICAS {
        stack.restart(replica).await;
    }
    everywhere(&stack, &handle, 404).await;
}

#[tokio::test]
async fn a_request_that_ends_no_session_says_why() {
    let stack = replicas().await;
    let acme = stack.client("acme");
    let bare = delete(&acme).send(acme.address()).await;
    assert_eq!(
        (bare.status, &bare.json()["error"]["code"]),
        (400, &json!(-32600))
    );
    let modern = delete(&acme).header("MCP-Protocol-Version", "2026-07-28");
    let modern = modern.send(acme.address()).await;
    assert_eq!(
        (modern.status, modern.header("allow")),
        (405, Some("POST, DELETE"))
    );
    let keyless = Request::new("DELETE", "/mcp").send(acme.address()).await;
    assert_eq!(keyless.status, 401);

    let handle = open(&acme).await;
    stack.database().close().await;
    let unrecorded = end(&acme, &handle).await;
    assert_eq!(unrecorded.status, 503);
    assert!(unrecorded.header("retry-after").is_some());
    stack.database().open().await;
    stack
        .eventually(async || (end(&acme, &handle).await.status == 204).then_some(()))
        .await;
}

#[tokio::test]
async fn after_a_thousand_ended_sessions_the_next_ends_all_older_ones() {
    let stack = replicas().await;
    let (acme, other) = (stack.client("acme"), stack.keyed("acme", "other"));
    let (first, bystander) = (open(&acme).await, open(&other).await);
    let owner = PgPool::connect_with(stack.database().owner())
        .await
        .unwrap();
    let filled = sqlx::query(
        "insert into sessions (tenant_id, principal, id, ended, expires_at) \
         select tenant_id, 'key:' || lineage, gen_random_uuid(), true, now() + interval '1 hour' \
         from api_keys, generate_series(1, 1000) where label = '' and tenant_id = $1",
    );
    filled
        .bind(stack.tenant_id("acme"))
        .execute(&owner)
        .await
        .unwrap();
    let last = open(&acme).await;
    assert_eq!(end(&acme, &last).await.status, 204);
    everywhere(&stack, &first, 404).await;
    everywhere(&stack, &last, 404).await;
    let later = open(&acme).await;
    everywhere(&stack, &later, 200).await;
    assert_eq!(status(&other, &bystander).await, 200);
    let rows: i64 = sqlx::query_scalar("select count(*) from sessions")
        .fetch_one(&owner)
        .await
        .unwrap();
    assert_eq!(rows, 0);
}

#[tokio::test]
async fn session_handles_are_for_the_older_era_only() {
    let stack = replicas().await;
    let acme = stack.client("acme");
    // Initialize opens another session, whatever it carries.
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "e2e", "version": "1" },
    });
    let again = acme
        .request("initialize", params)
        .header("Mcp-Session-Id", "x");
    let again = again.send(acme.address()).await;
    assert_eq!(again.status, 200, "{}", again.text());
    assert!(again.header("mcp-session-id").is_some());
    // A failed initialize opens none.
    let failed = acme.rpc("initialize", json!({})).await;
    assert!(failed.json()["error"].is_object() && failed.header("mcp-session-id").is_none());
    // A call without a handle is served.
    assert_eq!(acme.rpc("tools/list", json!({})).await.status, 200);

    let modern = acme.clone().modern();
    assert_eq!(status(&modern, "x").await, 200);
    let discovered = modern.rpc("server/discover", json!({})).await;
    assert!(discovered.status == 200 && discovered.header("mcp-session-id").is_none());
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let notified = acme
        .request("ping", json!({}))
        .body(notification.to_string());
    let notified = notified
        .header("Mcp-Session-Id", "x")
        .send(acme.address())
        .await;
    assert_eq!(notified.status, 404);
}

#[tokio::test]
async fn a_label_must_be_one_short_text() {
    let stack = replicas().await;
    let client = stack.client("acme").modern();
    let labelled = async |labels: &[&str]| {
        let request = labels.iter().fold(hello(&client), |request, label| {
            request.header("Archway-Session", label)
        });
        request.send(client.address()).await
    };
    assert_eq!(labelled(&["agent-7"]).await.status, 200);
    assert_eq!(labelled(&["a", "a"]).await.status, 200);
    for bad in [&["a", "b"][..], &[&"x".repeat(129)], &[""]] {
        let refused = labelled(bad).await;
        assert_eq!(refused.status, 400, "{bad:?}");
        assert_eq!(refused.json()["error"]["code"], -32602);
    }
}
