//! Calls that bypass the gateway: without a current pass for this pool, signed by a known key, a worker
//! reveals nothing of any tenant.

use std::time::{Duration, SystemTime};

use archway_proto::{
    method::Method,
    pass::PassMinter,
    v1::{CallRequest, call_event::Event, worker_client::WorkerClient},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use e2e::Stack;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use tonic::{Code, Request, Status};

use super::projects::two_tenants;

/// Seconds since 1970, with an offset from now.
fn moment(from_now: i64) -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    i64::try_from(since.unwrap().as_secs()).unwrap() + from_now
}

/// The claims of a caller of acme with the scope to read.
pub(super) fn claims(stack: &Stack) -> Value {
    json!({
        "iss": "archway-gateway", "aud": "archway-worker", "exp": moment(30),
        "tenant_id": stack.tenant_id("acme"), "tenant": "acme", "sub": "key:x",
        "projects": null, "default_project": "vault",
        "scopes": ["tools:read", "memory:write"], "pool": "shared",
    })
}

pub(super) fn but(mut claims: Value, name: &str, value: Value) -> Value {
    claims[name] = value;
    claims
}

/// The worker's answer to a call with these headers.
async fn ask(
    stack: &Stack,
    method: Method,
    headers: &[(&'static str, &str)],
) -> Result<String, Status> {
    let params = match method {
        Method::ToolsCall => {
            json!({ "name": "read_file", "arguments": { "path": "treasure.txt" } })
        }
        Method::ResourcesRead => json!({ "uri": "repo://vault/treasure.txt" }),
        _ => json!({}),
    };
    ask_for(stack, (method, params), headers).await
}

pub(super) async fn ask_for(
    stack: &Stack,
    (method, params): (Method, Value),
    headers: &[(&'static str, &str)],
) -> Result<String, Status> {
    let url = format!("http://{}", stack.workers()[0]);
    let mut worker = WorkerClient::connect(url).await.unwrap();
    let mut request = Request::new(CallRequest {
        method: method.name().to_owned(),
        params: params.to_string().into(),
    });
    let id = uuid::Uuid::new_v4().to_string();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (name, value) in [("archway-call-id", id.as_str()), ("traceparent", trace)]
        .iter()
        .chain(headers)
    {
        request.metadata_mut().append(*name, value.parse().unwrap());
    }
    let mut events = worker.call(request).await?.into_inner();
    let mut said = String::new();
    while let Some(event) = events.message().await? {
        if let Some(Event::Result(result)) = event.event {
            said += &String::from_utf8_lossy(&result);
        }
    }
    Ok(said)
}

/// Tokens that a worker must refuse, and what is wrong with each.
fn bad(stack: &Stack) -> Vec<(&'static str, String)> {
    let good = claims(stack);
    let signed = |name, value| stack.signed(&but(good.clone(), name, value));
    let stranger = PassMinter::generate().unwrap();
    let real = stack.signed(&good);
    let (head, rest) = real.split_once('.').unwrap();
    let (body, signature) = rest.split_once('.').unwrap();
    let encoded = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let none = encoded(json!({ "alg": "none", "typ": "JWT" }));
    let other = encoded(but(good.clone(), "tenant", json!("zeta")));
    // Signed with the public key, which everybody may know, as if it were a shared secret.
    let public = stack.minter().public_key();
    let confused = EncodingKey::from_secret(&public);
    let confused = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &good, &confused);
    let mut without_end = good.clone();
    without_end.as_object_mut().unwrap().remove("exp");
    vec![
        ("empty", String::new()),
        ("no token", "x".to_owned()),
        (
            "a catalogue's",
            stack.minter().mint_catalog().unwrap().as_str().to_owned(),
        ),
        (
            "a catalogue's of a stranger",
            stranger.mint_catalog().unwrap().as_str().to_owned(),
        ),
        ("stale", signed("exp", json!(moment(-1)))),
        ("endless", stack.signed(&without_end)),
        (
            "of another audience",
            signed("aud", json!("archway-gateway")),
        ),
        ("of another issuer", signed("iss", json!("archway-worker"))),
        ("of another pool", signed("pool", json!("acme-only"))),
        ("unsigned", format!("{none}.{body}.")),
        (
            "unsigned, with a signature",
            format!("{none}.{body}.{signature}"),
        ),
        ("changed", format!("{head}.{other}.{signature}")),
        ("cut", format!("{head}.{body}")),
        ("signed by the public key", confused.unwrap()),
    ]
}

#[tokio::test]
async fn a_worker_accepts_only_a_fresh_pass_of_its_gateways_for_its_pool() {
    let stack = two_tenants().await;
    let good = stack.signed(&claims(&stack));
    let pass = [("archway-pass", good.as_str())];
    for method in [Method::ToolsCall, Method::ResourcesRead] {
        let answer = ask(&stack, method, &pass).await.unwrap();
        assert!(answer.contains("sesame"), "a good pass reads: {answer}");
    }
    for (what, token) in bad(&stack) {
        for method in [
            Method::ToolsCall,
            Method::ResourcesRead,
            Method::PromptsList,
        ] {
            let refused = ask(&stack, method, &[("archway-pass", &token)])
                .await
                .expect_err(what);
            assert_eq!(refused.code(), Code::Unauthenticated, "{what}: {refused}");
            assert_eq!(refused.message(), "the pass is not valid here", "{what}");
        }
    }
    let none = ask(&stack, Method::ToolsCall, &[]).await.unwrap_err();
    assert_eq!(none.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_pass_of_a_foreign_key_is_refused_whatever_it_claims() {
    let stack = two_tenants().await;
    let key = aws_lc_rs::signature::Ed25519KeyPair::generate().unwrap();
    let key = EncodingKey::from_ed_der(key.to_pkcs8v1().unwrap().as_ref());
    let forged = jsonwebtoken::encode(&Header::new(Algorithm::EdDSA), &claims(&stack), &key);
    let refused = ask(
        &stack,
        Method::ToolsCall,
        &[("archway-pass", &forged.unwrap())],
    )
    .await;
    assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
}

#[tokio::test]
async fn a_once_accepted_pass_is_refused_when_it_expires() {
    let stack = two_tenants().await;
    let brief = stack.signed(&but(claims(&stack), "exp", json!(moment(3))));
    let pass = [("archway-pass", brief.as_str())];
    let answer = ask(&stack, Method::ToolsCall, &pass).await.unwrap();
    assert!(answer.contains("sesame"), "{answer}");
    let stale = stack.eventually(async || ask(&stack, Method::ToolsCall, &pass).await.err());
    let stale = tokio::time::timeout(Duration::from_secs(10), stale)
        .await
        .unwrap();
    assert_eq!(stale.code(), Code::Unauthenticated);
}

#[tokio::test]
async fn a_pass_decides_the_tenant_whatever_the_request_claims() {
    let stack = two_tenants().await;
    let mut zeta = claims(&stack);
    zeta["tenant_id"] = json!(stack.tenant_id("zeta"));
    zeta["tenant"] = json!("zeta");
    zeta["default_project"] = json!("shop");
    let zeta = stack.signed(&zeta);
    let acme = stack.tenant_id("acme").to_string();
    for (name, value) in [
        ("archway-tenant", "acme"),
        ("archway-tenant-id", acme.as_str()),
        ("x-tenant-id", "acme"),
        ("archway-session", "00000000000000000000000000000001"),
    ] {
        for method in [Method::ToolsCall, Method::ResourcesRead] {
            let headers = [("archway-pass", zeta.as_str()), (name, value)];
            match ask(&stack, method, &headers).await {
                Ok(said) => assert!(!said.contains("sesame"), "{name}: {said}"),
                Err(status) => assert!(!status.message().contains("sesame"), "{name}: {status}"),
            }
        }
    }
}

#[tokio::test]
async fn a_pass_for_calls_shows_no_catalogue() {
    let stack = two_tenants().await;
    let good = stack.signed(&claims(&stack));
    let refused = ask(&stack, Method::ToolsList, &[("archway-pass", &good)]).await;
    assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
}

/// Claims that a thief may have, a call that exceeds them, and the refusal.
fn lesser(stack: &Stack) -> Vec<(Value, (Method, Value), &'static str)> {
    let all = claims(stack);
    let reads = but(all.clone(), "scopes", json!(["tools:read"]));
    let writes = || but(claims(stack), "scopes", json!(["memory:write"]));
    let of_git = but(all.clone(), "families", json!(["git"]));
    let of_shop = but(all, "projects", json!(["shop"]));
    let tool = |name: &str, arguments: Value| {
        let params = json!({ "name": name, "arguments": arguments });
        (Method::ToolsCall, params)
    };
    let note = json!({ "file": "progress_log.jsonl", "entry": {
        "timestamp": "2026-11-22T05:31:07Z", "event": "by a thief" } });
    let treasure = || {
        tool(
            "read_file",
            json!({ "path": "treasure.txt", "project": "vault" }),
        )
    };
    let resource = || {
        (
            Method::ResourcesRead,
            json!({ "uri": "repo://vault/treasure.txt" }),
        )
    };
    let variable = json!({ "ref": { "type": "ref/resource", "uri": "repo://{project}/{+path}" },
        "argument": { "name": "project", "value": "" } });
    vec![
        (reads, tool("write_memory_entry", note), "access_denied"),
        (writes(), tool("hello", json!({})), "access_denied"),
        (writes(), treasure(), "access_denied"),
        (writes(), resource(), "access_denied"),
        (
            writes(),
            (Method::ResourcesList, json!({})),
            "access_denied",
        ),
        (
            writes(),
            (Method::ResourceTemplatesList, json!({})),
            "access_denied",
        ),
        (writes(), (Method::PromptsList, json!({})), "access_denied"),
        (writes(), (Method::Complete, variable), "access_denied"),
        (of_git.clone(), treasure(), "access_denied"),
        (of_git, resource(), "there is no resource"),
        (of_shop.clone(), treasure(), "project_not_found"),
        (of_shop, resource(), "there is no resource"),
    ]
}

#[tokio::test]
async fn a_pass_buys_at_a_worker_no_more_than_its_owner_may() {
    let stack = two_tenants().await;
    for (claims, asked, refusal) in lesser(&stack) {
        let pass = stack.signed(&claims);
        let what = format!("{} {}", asked.0.name(), asked.1);
        let said = ask_for(&stack, asked, &[("archway-pass", &pass)]).await;
        let said = said.unwrap();
        assert!(said.contains(refusal), "{what}: {said}");
        assert!(!said.contains("sesame"), "{what}: {said}");
    }
    let good = stack.signed(&claims(&stack));
    let found = json!({ "name": "search_memory", "arguments": { "query": "thief" } });
    let asked = (Method::ToolsCall, found);
    let said = ask_for(&stack, asked, &[("archway-pass", &good)]).await;
    assert!(!said.unwrap().contains("by a thief"));
}
