//! Which credentials are accepted: keys of every wrong shape and place, scopes, revocation.

mod admin;
mod failures;
mod first_uses;

use std::time::{Duration, SystemTime};

use archway::tenants::{KeyRequest, Tenants};
use archway_gateway::secrets::RootSecret;
use archway_proto::catalog::Scope;
use e2e::{
    Client, Harness, Key, Repo, Stack, Tenant,
    http::{Request, Response},
};
use secrecy::ExposeSecret;
use serde_json::json;
use sqlx::PgPool;
use tokio::time::Instant;

use crate::serve;

async fn gateway() -> (Stack, Client) {
    serve(Repo::new().file("a.txt", "a").commit()).await
}

fn call() -> Request {
    let params = json!({ "name": "hello", "arguments": {} });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    Request::new("POST", "/mcp")
        .header("Content-Type", "application/json")
        .body(body.to_string())
}

/// The parts of an answer that could inform an attacker.
fn shape(response: &Response) -> (u16, String, Vec<(String, String)>) {
    let mut headers = response.headers.clone();
    headers.retain(|(name, _)| name != "date");
    (response.status, response.text(), headers)
}

/// A key whose text begins with `body`, with a valid checksum, so that it is looked up.
pub(crate) fn checked(body: &str) -> String {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut crc = u32::MAX;
    for byte in body.bytes() {
        crc ^= u32::from(byte);
        for _bit in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 * (crc & 1));
        }
    }
    let mut rest = !crc;
    let mut digits = String::new();
    for _digit in 0..6 {
        digits.insert(0, char::from(ALPHABET[rest as usize % 62]));
        rest /= 62;
    }
    format!("{body}_{digits}")
}

async fn owner(stack: &Stack) -> PgPool {
    PgPool::connect_with(stack.database().owner())
        .await
        .unwrap()
}

/// A valid key, and keys that were valid once.
async fn spoilt() -> (Stack, Client, Vec<String>) {
    let repo = || Repo::new().file("a.txt", "a").commit();
    let acme = Tenant::new("acme")
        .project("site", repo())
        .key(Key::new("revoked"))
        .key(Key::new("expired"));
    let zeta = Tenant::new("zeta").project("shop", repo());
    let stack = Harness::new().tenant(acme).tenant(zeta).start().await;
    let (revoked, expired) = (
        stack.keyed("acme", "revoked"),
        stack.keyed("acme", "expired"),
    );
    let disabled = stack.client("zeta");
    stack.revoke(&revoked).await;
    let owner = owner(&stack).await;
    for statement in [
        "update api_keys set expires_at = now() where label = 'expired'",
        "update tenants set disabled_at = now() where slug = 'zeta'",
    ] {
        let done = sqlx::query(statement).execute(&owner).await.unwrap();
        assert_eq!(done.rows_affected(), 1, "{statement}");
    }
    let bad = [revoked, expired, disabled].map(|client| client.key().to_owned());
    let good = stack.client("acme");
    (stack, good, bad.into())
}

#[tokio::test]
async fn every_bad_key_gets_the_same_answer() {
    let (_stack, client, mut keys) = spoilt().await;
    let good = client.key().to_owned();
    let parts: Vec<&str> = good.split('_').collect();
    let [prefix, id, secret, checksum] = parts[..] else {
        panic!("awy_id_secret_checksum")
    };
    assert_eq!(checked(&format!("{prefix}_{id}_{secret}")), good);
    let swapped: String = secret.chars().rev().collect();
    keys.extend([
        // Well formed.
        checked(&format!("{prefix}_{id}_{swapped}")),
        checked(&format!("{prefix}_000000000000_{secret}")),
        checked(&format!("{prefix}_000000000000_{swapped}")),
        // Malformed.
        checked(&format!("{prefix}_{id}_{secret}0")),
        format!("{prefix}_{id}_{swapped}_{checksum}"),
        format!("{prefix}_{id}_{secret}_000000"),
        good.chars().skip(1).collect(),
        format!("{good}x"),
        "x".to_owned(),
        "é".to_owned(),
    ]);
    let mut shapes = Vec::new();
    for key in keys {
        let response = call()
            .header("Authorization", &format!("Bearer {key}"))
            .send(client.address())
            .await;
        assert_eq!(response.status, 401, "{key}");
        assert!(
            !response.text().contains(&key),
            "the key comes back: {}",
            response.text()
        );
        shapes.push(shape(&response));
    }
    assert!(
        shapes.windows(2).all(|pair| pair[0] == pair[1]),
        "{shapes:#?}"
    );
    assert!(
        shapes[0]
            .2
            .iter()
            .any(|(name, _)| name == "www-authenticate")
    );
    // Other requests succeed, so the database was not the cause.
    let list = client.rpc("tools/list", json!({})).await;
    assert_eq!(list.status, 200, "{}", list.text());
}

#[tokio::test]
async fn a_key_that_is_in_use_expires_at_its_moment() {
    let (stack, client) = gateway().await;
    let owner = owner(&stack).await;
    sqlx::query("update api_keys set expires_at = now() + interval '10 seconds'")
        .execute(&owner)
        .await
        .unwrap();
    let start = Instant::now();
    let first = client.rpc("tools/list", json!({})).await;
    assert_eq!(first.status, 200, "{}", first.text());
    stack
        .eventually(async || {
            let response = client.rpc("tools/list", json!({})).await;
            (response.status == 401).then_some(())
        })
        .await;
    // Before its cached record would have expired.
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn a_key_is_good_for_the_lifetime_it_was_issued_with() {
    let (stack, _client) = gateway().await;
    let tenants = Tenants::new(owner(&stack).await);
    let secret = RootSecret::parse(&RootSecret::generate_line().unwrap()).unwrap();
    for (seconds, good) in [(0, false), (3600, true)] {
        let request = KeyRequest {
            expires_at: Some(SystemTime::now() + Duration::from_secs(seconds)),
            ..KeyRequest::default()
        };
        let acme = stack.tenant_id("acme");
        let key = tenants.issue_key(acme, &secret, request).await.unwrap();
        let found = tenants.key_is_good(&secret, key.api_key.expose_secret());
        assert_eq!(found.await.unwrap(), good.then_some(key.id), "{seconds} s");
    }
}

#[tokio::test]
async fn the_scheme_is_read_in_any_case() {
    let (_stack, client) = gateway().await;
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let request = call().header("Authorization", &format!("{scheme} {}", client.key()));
        assert_eq!(request.send(client.address()).await.status, 200, "{scheme}");
    }
}

#[tokio::test]
async fn a_key_counts_in_one_authorization_header_and_nowhere_else() {
    let (_stack, client) = gateway().await;
    let bearer = format!("Bearer {}", client.key());
    let key = client.key();
    let twice = call()
        .header("Authorization", &bearer)
        .header("Authorization", &bearer);
    let elsewhere = call()
        .header("X-Api-Key", key)
        .header("Cookie", &format!("key={key}"));
    let basic = call().header("Authorization", &format!("Basic {key}"));
    let query = Request::new("POST", &format!("/mcp?key={key}&access_token={key}"));
    for request in [twice, elsewhere, basic, query] {
        assert_eq!(
            request.send(client.address()).await.status,
            401,
            "{request:?}"
        );
    }
}

#[tokio::test]
async fn a_key_lists_tools_of_its_scopes_and_errors_name_missing_ones() {
    let acme = Tenant::new("acme")
        .project("site", Repo::new().file("a.txt", "a").commit())
        .key(Key::new("deaf").scopes(&[Scope::MemoryWrite]))
        .key(Key::new("greeter").families(["basics"]));
    let stack = Harness::new().tenant(acme).start().await;
    let deaf = stack.keyed("acme", "deaf");
    let list = deaf.rpc("tools/list", json!({})).await.json();
    let tools = list["result"]["tools"].as_array().unwrap().iter();
    let mut names: Vec<&str> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["record_discovery", "write_memory_entry"]);
    let response = deaf
        .rpc(
            "tools/call",
            json!({ "name": "list_files", "arguments": {} }),
        )
        .await;
    assert_eq!(response.status, 403, "{}", response.text());
    let challenge = response.header("www-authenticate").unwrap_or_default();
    assert!(challenge.contains("insufficient_scope"), "{challenge}");
    let needed = "scope=\"tools:read memory:write\"";
    assert!(challenge.contains(needed), "{challenge}");

    let greeter = stack.keyed("acme", "greeter");
    let list = greeter.rpc("tools/list", json!({})).await.json();
    let names: Vec<&str> = list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"hello") && !names.contains(&"list_files"),
        "{names:?}"
    );
    let refused = greeter
        .rpc(
            "tools/call",
            json!({ "name": "list_files", "arguments": {} }),
        )
        .await;
    assert_eq!(
        refused.json()["error"]["code"],
        -32602,
        "{}",
        refused.text()
    );
}

#[tokio::test]
async fn a_key_revoked_before_its_first_use_is_refused() {
    let (stack, client) = gateway().await;
    stack.revoke(&client).await;
    let response = client.rpc("tools/list", json!({})).await;
    assert_eq!(response.status, 401, "{}", response.text());
}
