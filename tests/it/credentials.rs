//! What gets in and what does not: keys in every wrong shape and place, scopes, revocation.

use e2e::{
    Client, Harness, Key, Repo, Stack, Tenant,
    http::{Request, Response},
};
use serde_json::json;

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

/// What of an answer a caller could learn from.
fn shape(response: &Response) -> (u16, String, Vec<(String, String)>) {
    let mut headers = response.headers.clone();
    headers.retain(|(name, _)| name != "date");
    (response.status, response.text(), headers)
}

#[tokio::test]
async fn every_bad_key_gets_the_same_answer() {
    let (_stack, client) = gateway().await;
    let good = client.key().to_owned();
    let parts: Vec<&str> = good.split('_').collect();
    let [prefix, id, secret, checksum] = parts[..] else {
        panic!("awy_id_secret_checksum")
    };
    let swapped: String = secret.chars().rev().collect();
    let mut shapes = Vec::new();
    for key in [
        format!("{prefix}_{id}_{swapped}_{checksum}"),
        format!("{prefix}_{id}_{secret}_000000"),
        format!("{prefix}_000000000000_{secret}_{checksum}"),
        good.chars().skip(1).collect(),
        format!("{good}x"),
        "x".to_owned(),
        "é".to_owned(),
    ] {
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
async fn a_key_without_the_scope_lists_nothing_and_is_told_what_it_lacks() {
    let acme = Tenant::new("acme")
        .project("site", Repo::new().file("a.txt", "a").commit())
        .key(Key::new("deaf").scopes(&[]))
        .key(Key::new("greeter").families(["basics"]));
    let stack = Harness::new().tenant(acme).start().await;
    let deaf = stack.keyed("acme", "deaf");
    let list = deaf.rpc("tools/list", json!({})).await.json();
    assert_eq!(list["result"]["tools"], json!([]), "{list}");
    let response = deaf
        .rpc(
            "tools/call",
            json!({ "name": "list_files", "arguments": {} }),
        )
        .await;
    assert_eq!(response.status, 403, "{}", response.text());
    let challenge = response.header("www-authenticate").unwrap_or_default();
    assert!(challenge.contains("insufficient_scope"), "{challenge}");
    assert!(challenge.contains("tools:read"), "{challenge}");

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
async fn a_key_revoked_or_expired_before_its_first_use_is_refused() {
    let (stack, client) = gateway().await;
    stack.revoke(&client).await;
    let response = client.rpc("tools/list", json!({})).await;
    assert_eq!(response.status, 401, "{}", response.text());
}
