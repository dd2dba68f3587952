//! Tokens of OIDC issuers instead of keys: which are valid, for whom, and how bad ones are answered.
//!
//! The issuers are real: HTTP on loopback, with discovery and key sets that change.

mod bad;
mod keys;
mod metadata;
mod revoked;

use std::time::Duration;

use e2e::{
    Client, Harness, Issuer, Repo, Stack, Tenant,
    http::{Request, Response},
    issuer::{Answer, Signer, now},
    was_admitted,
};
use serde_json::{Value, json};
use tokio::time::Instant;

fn tenant(slug: &str) -> Tenant {
    Tenant::new(slug).project(
        "site",
        Repo::new().file(&format!("{slug}.txt"), "a").commit(),
    )
}

/// A stack with the tenant `acme`, which trusts `issuer`.
async fn acme(issuer: &Issuer) -> Stack {
    let harness = Harness::new().tenant(tenant("acme"));
    harness.issuer(issuer.entry("tenant: acme")).start().await
}

/// A client of the first gateway with this token.
fn bearing(stack: &Stack, token: &str) -> Client {
    Client::new(stack.gateways()[0], token)
}

async fn list(client: &Client) -> Response {
    client.rpc("tools/list", json!({})).await
}

async fn status(stack: &Stack, token: &str) -> u16 {
    list(&bearing(stack, token)).await.status
}

/// The files that a caller sees.
async fn files(client: &Client) -> Value {
    let reply = client.call("list_files", json!({})).await;
    reply.structured()["files"][0]["path"].clone()
}

#[tokio::test]
async fn a_valid_token_works_like_a_key_with_every_signature_algorithm() {
    let issuer = Issuer::start().await;
    let signers = [Signer::rsa("rsa"), Signer::ec("ec"), Signer::ed("ed")];
    let keys = signers.each_ref().map(Signer::public);
    let keys = json!({ "keys": keys }).to_string();
    issuer.answer(e2e::issuer::KEYS, Answer(200, Vec::new(), keys));
    let harness = Harness::new().tenant(tenant("acme")).tenant(tenant("zeta"));
    let entry = issuer.entry("tenant: acme, algorithms: [RS256, ES256, EdDSA]");
    let stack = harness.issuer(entry).start().await;
    for signer in signers {
        let client = bearing(&stack, &signer.sign(&issuer.claims("a")));
        assert_eq!(files(&client).await, "acme.txt", "{signer:?}");
        let entry = json!({ "file": "decisions.jsonl", "entry": {
            "timestamp": "2026-01-01T00:00:00Z", "decision": "x" } });
        let written = client.call("write_memory_entry", entry).await;
        assert_eq!(written.structured()["success"], true, "{signer:?}");
        let reply = client.call("list_projects", json!({})).await;
        assert!(!reply.value().to_string().contains("zeta"));
    }
}

#[tokio::test]
async fn a_token_and_its_issuer_may_have_several_audiences() {
    let issuer = Issuer::start().await;
    let entry = format!(
        "{{issuer: '{}', audience: [archway, 'https://archway.example/mcp'], tenant: acme}}",
        issuer.url()
    );
    let stack = Harness::new()
        .tenant(tenant("acme"))
        .issuer(entry)
        .start()
        .await;
    for (audience, expected) in [
        (json!(["billing", "archway"]), 200),
        (json!("https://archway.example/mcp"), 200),
        (json!(["billing"]), 401),
        (json!([]), 401),
    ] {
        let mut claims = issuer.claims("a");
        claims["aud"] = audience.clone();
        assert_eq!(
            status(&stack, &issuer.sign(&claims)).await,
            expected,
            "{audience}"
        );
    }
}

#[tokio::test]
async fn a_claim_says_the_tenant_and_an_issuer_speaks_for_its_own_only() {
    let (ours, theirs) = (Issuer::start().await, Issuer::start().await);
    let harness = Harness::new().tenant(tenant("acme")).tenant(tenant("zeta"));
    let stack = harness
        .issuer(ours.entry("tenant_claim: [org, id], tenants: {o-1: acme, o-2: zeta}"))
        .issuer(theirs.entry("tenant_claim: org, tenants: [zeta]"))
        .start()
        .await;
    let token = |issuer: &Issuer, org: Value| {
        let mut claims = issuer.claims("a");
        claims["org"] = org;
        issuer.sign(&claims)
    };
    for (id, file) in [("o-1", "acme.txt"), ("o-2", "zeta.txt")] {
        let client = bearing(&stack, &token(&ours, json!({ "id": id })));
        assert_eq!(files(&client).await, file);
    }
    assert_eq!(status(&stack, &token(&theirs, json!("zeta"))).await, 200);
    for bad in [
        token(&theirs, json!("acme")),
        token(&theirs, json!(["zeta"])),
        token(&ours, json!({ "id": "acme" })),
        token(&ours, json!({})),
        ours.token("a"),
    ] {
        assert_eq!(status(&stack, &bad).await, 401);
    }
}

#[tokio::test]
async fn a_verified_token_is_accepted_until_it_expires_and_no_longer() {
    let issuer = Issuer::start().await;
    let harness = Harness::new().tenant(tenant("acme"));
    let entry = issuer.entry("tenant: acme, leeway: 0");
    let stack = harness.issuer(entry).start().await;
    let mut claims = issuer.claims("a");
    let end = now() + 10;
    claims["exp"] = json!(end);
    let token = issuer.sign(&claims);
    let start = Instant::now();
    assert_eq!(status(&stack, &token).await, 200);
    let over = async || (status(&stack, &token).await == 401).then_some(now());
    assert!(stack.eventually(over).await >= end, "before its end");
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test]
async fn scopes_families_and_projects_follow_the_operators_mapping() {
    let issuer = Issuer::start().await;
    let (docs, site) = (
        Repo::new().file("d", "d").commit(),
        Repo::new().file("s", "s").commit(),
    );
    let acme = Tenant::new("acme")
        .project("site", site)
        .project("docs", docs);
    let entry = issuer.entry(
        "tenant: acme, scope_claim: [realm_access, roles], default_scopes: ['tools:read'], \
         scopes: {reader: ['tools:read'], writer: ['tools:read', 'memory:write']}, \
         projects: [docs], default_project: docs, families: [basics, memory]",
    );
    let stack = Harness::new().tenant(acme).issuer(entry).start().await;
    let client = |roles: Option<Value>| {
        let mut claims = issuer.claims("a");
        if let Some(roles) = roles {
            claims["realm_access"] = json!({ "roles": roles });
        }
        bearing(&stack, &issuer.sign(&claims))
    };
    let names = async |client: Client| {
        let list = list(&client).await.json();
        let tools = list["result"]["tools"].as_array().unwrap().clone();
        let names = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    let reads = names(client(None)).await;
    assert!(reads.contains(&"hello".to_owned()), "{reads:?}");
    let closed = ["list_files", "write_memory_entry"];
    assert!(
        !closed
            .iter()
            .any(|name| reads.iter().any(|read| read == name)),
        "{reads:?}"
    );
    assert_eq!(names(client(Some(json!(["reader"])))).await, reads);
    let writes = names(client(Some(json!(["writer", "x"])))).await;
    assert!(
        writes.contains(&"write_memory_entry".to_owned()),
        "{writes:?}"
    );
    assert!(names(client(Some(json!(["tools:read"])))).await.is_empty());
    let projects = client(None).call("list_projects", json!({})).await;
    let projects = projects.structured()["projects"].clone();
    assert_eq!(projects.as_array().unwrap().len(), 1, "{projects}");
    assert_eq!(projects[0]["slug"], "docs");
}

#[tokio::test]
async fn a_session_belongs_to_its_subject_across_tokens() {
    let (issuer, other) = (Issuer::start().await, Issuer::start().await);
    let stack = Harness::new()
        .tenant(tenant("acme"))
        .issuer(issuer.entry("tenant: acme"))
        .issuer(other.entry("tenant: acme"))
        .start()
        .await;
    let opened = bearing(&stack, &issuer.token("a"))
        .rpc(
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": {},
                    "clientInfo": { "name": "e2e", "version": "1" } }),
        )
        .await;
    let handle = opened.header("mcp-session-id").unwrap().to_owned();
    let mut renewed = issuer.claims("a");
    renewed["jti"] = json!("another");
    for (token, expected) in [
        (issuer.sign(&renewed), 200),
        (issuer.token("b"), 404),
        (other.token("a"), 404),
        (stack.client("acme").key().to_owned(), 404),
    ] {
        let client = bearing(&stack, &token);
        let request: Request = client.request("tools/list", json!({}));
        let answer = request
            .header("Mcp-Session-Id", &handle)
            .send(client.address())
            .await;
        assert_eq!(answer.status, expected, "{}", answer.text());
    }
}

#[tokio::test]
async fn a_principal_has_one_bucket_whatever_tokens_it_gets() {
    let issuer = Issuer::start().await;
    let stack = Harness::new().tenant(tenant("acme").limited());
    let stack = stack.issuer(issuer.entry("tenant: acme")).start().await;
    stack.set_limits("acme", None, &[("key", "hello", 3)]).await;
    let mut passes = 0;
    for number in 0..10 {
        let mut claims = issuer.claims("a");
        claims["jti"] = json!(number);
        let client = bearing(&stack, &issuer.sign(&claims));
        let hello = json!({ "name": "hello", "arguments": {} });
        passes += usize::from(was_admitted(&client.rpc("tools/call", hello).await));
    }
    assert_eq!(passes, 3);
    let hello = json!({ "name": "hello", "arguments": {} });
    let other = bearing(&stack, &issuer.token("b"));
    assert!(was_admitted(&other.rpc("tools/call", hello).await));
}
