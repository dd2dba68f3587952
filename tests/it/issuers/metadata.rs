//! What a client learns that has no token yet, or one with too few scopes (RFC 9728).

use e2e::{Harness, Issuer, RESOURCE, Stack, http::Request};
use serde_json::{Value, json};

use super::{acme, bearing, list, tenant};

const OF_GATEWAY: &str = "/.well-known/oauth-protected-resource";
const OF_ENDPOINT: &str = "/.well-known/oauth-protected-resource/mcp";
const PAGE: &str = "http://localhost:6274";

/// The parts of a challenge, sorted by name.
async fn challenge(stack: &Stack, credential: Option<&str>, call: Option<&str>) -> Value {
    let client = bearing(stack, credential.unwrap_or_default());
    let answer = match (credential, call) {
        (None, _) => Request::new("POST", "/mcp").send(client.address()).await,
        (Some(_), None) => list(&client).await,
        (Some(_), Some(tool)) => {
            let params = json!({ "name": tool, "arguments": {} });
            client.rpc("tools/call", params).await
        }
    };
    let text = answer.header("www-authenticate").unwrap().to_owned();
    let rest = text.strip_prefix("Bearer ").unwrap();
    let mut parts = json!({ "status": answer.status });
    for part in rest.split(", ") {
        let (name, value) = part.split_once('=').unwrap();
        parts[name] = json!(value.trim_matches('"'));
    }
    parts
}

#[tokio::test]
async fn metadata_documents_use_the_configuration_not_the_request() {
    let (issuer, other) = (Issuer::start().await, Issuer::start().await);
    let stack = Harness::new()
        .tenant(tenant("acme"))
        .issuer(issuer.entry("tenant: acme"))
        .issuer(other.entry("tenant: acme, scopes: {read: ['tools:read']}"))
        .configure(|config| config.guard.allowed_hosts = vec!["evil.example".to_owned()])
        .start()
        .await;
    for (path, resource) in [
        (OF_GATEWAY, RESOURCE.to_owned()),
        (OF_ENDPOINT, format!("{RESOURCE}/mcp")),
    ] {
        let request = Request::new("GET", path).header("Host", "evil.example");
        let answer = request.send(stack.gateways()[0]).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert!(answer.header("cache-control").unwrap().contains("max-age"));
        assert_eq!(
            answer.json(),
            json!({
                "resource": resource,
                "authorization_servers": [issuer.url(), other.url()],
                "bearer_methods_supported": ["header"],
                "resource_name": "Archway",
                "scopes_supported": ["tools:read", "read", "memory:write"],
            })
        );
    }
}

#[tokio::test]
async fn the_documents_are_read_by_pages_of_listed_origins_with_get_alone() {
    let issuer = Issuer::start().await;
    let stack = Harness::new()
        .tenant(tenant("acme"))
        .issuer(issuer.entry("tenant: acme"))
        .configure(|config| config.guard.allowed_origins = vec![PAGE.to_owned()])
        .start()
        .await;
    let to = stack.gateways()[0];
    let read = Request::new("GET", OF_ENDPOINT).header("Origin", PAGE);
    let answer = read.send(to).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
    let preflight = Request::new("OPTIONS", OF_ENDPOINT)
        .header("Origin", PAGE)
        .header("Access-Control-Request-Method", "GET")
        .header("Access-Control-Request-Headers", "mcp-protocol-version");
    assert_eq!(preflight.send(to).await.status, 204);
    for (request, expected) in [
        (
            Request::new("GET", OF_ENDPOINT).header("Origin", "https://evil.example"),
            403,
        ),
        (
            Request::new("GET", OF_ENDPOINT).header("Host", "evil.example"),
            403,
        ),
        (Request::new("HEAD", OF_GATEWAY), 200),
        (Request::new("GET", &format!("{OF_GATEWAY}/other")), 404),
        (Request::new("GET", &format!("{OF_GATEWAY}x")), 404),
    ] {
        assert_eq!(request.send(to).await.status, expected, "{request:?}");
    }
    let post = Request::new("POST", OF_GATEWAY).send(to).await;
    assert_eq!(
        (post.status, post.header("allow")),
        (405, Some("GET, HEAD"))
    );
}

#[tokio::test]
async fn without_issuers_there_are_no_documents_and_challenges_name_none() {
    let stack = Harness::new().tenant(tenant("acme")).start().await;
    for path in [OF_GATEWAY, OF_ENDPOINT] {
        for method in ["GET", "OPTIONS"] {
            let answer = Request::new(method, path).send(stack.gateways()[0]).await;
            assert_eq!(answer.status, 404, "{method} {path}");
        }
    }
    let none = challenge(&stack, None, None).await;
    assert_eq!(none, json!({ "status": 401, "realm": "archway" }));
}

#[tokio::test]
async fn challenges_name_the_metadata_and_the_scope_to_request() {
    let issuer = Issuer::start().await;
    let stack = acme(&issuer).await;
    let address = format!("{RESOURCE}{OF_ENDPOINT}");
    let expected = json!({
        "status": 401, "realm": "archway", "resource_metadata": address,
        "scope": "tools:read memory:write",
    });
    assert_eq!(challenge(&stack, None, None).await, expected);
    let mut with_token = expected;
    with_token["error"] = json!("invalid_token");
    for bad in ["awy_x", "a.b.c"] {
        assert_eq!(
            challenge(&stack, Some(bad), None).await,
            with_token,
            "{bad}"
        );
    }
    let mut claims = issuer.claims("a");
    claims["scope"] = json!("tools:read");
    let token = issuer.sign(&claims);
    assert_eq!(
        challenge(&stack, Some(&token), Some("write_memory_entry")).await,
        json!({
            "status": 403, "realm": "archway", "error": "insufficient_scope",
            "scope": "tools:read memory:write", "resource_metadata": address,
        })
    );
}

#[tokio::test]
async fn a_401_names_the_scope_only_if_all_issuers_name_it_alike() {
    let (one, other) = (Issuer::start().await, Issuer::start().await);
    let ours = "scopes: {'memory:write': ['memory:write'], 'tools:read': ['tools:read']}";
    for (more, told) in [
        ("leeway: 0", json!("tools:read memory:write")),
        (ours, json!("tools:read memory:write")),
        ("scopes: {'api/read': ['tools:read']}", Value::Null),
        // Roles, which a client cannot request.
        ("scope_claim: roles", Value::Null),
    ] {
        let stack = Harness::new()
            .tenant(tenant("acme"))
            .issuer(one.entry("tenant: acme"))
            .issuer(other.entry(&format!("tenant: acme, {more}")))
            .start()
            .await;
        let none = challenge(&stack, None, None).await;
        assert_eq!(none["scope"], told, "{more}");
        assert!(none["resource_metadata"].is_string(), "{more}");
    }
}

#[tokio::test]
async fn a_missing_scope_is_named_as_the_callers_issuer_names_it() {
    let issuer = Issuer::start().await;
    let scopes = "scopes: {'api/all': ['tools:read', 'memory:write', admin], \
                  'api/read': ['tools:read'], 'api/write': ['memory:write']}";
    let harness = Harness::new().tenant(tenant("acme"));
    let stack = harness
        .issuer(issuer.entry(&format!("tenant: acme, {scopes}")))
        .start()
        .await;
    let mut claims = issuer.claims("a");
    claims["scope"] = json!("api/read");
    let token = issuer.sign(&claims);
    let missing = challenge(&stack, Some(&token), Some("write_memory_entry")).await;
    assert_eq!(missing["scope"], "api/read api/write");
    claims["scope"] = json!("openid");
    let token = issuer.sign(&claims);
    let missing = challenge(&stack, Some(&token), Some("list_files")).await;
    assert_eq!(missing["scope"], "api/read");
    let none = challenge(&stack, None, None).await;
    assert_eq!(none["scope"], "api/all api/read api/write");
}

#[tokio::test]
async fn a_scope_that_the_callers_issuer_has_no_word_for_is_named_in_ours() {
    let issuer = Issuer::start().await;
    let scopes = "scopes: {'api/read': ['tools:read']}";
    let harness = Harness::new().tenant(tenant("acme"));
    let entry = issuer.entry(&format!("tenant: acme, {scopes}"));
    let stack = harness.issuer(entry).start().await;
    let mut claims = issuer.claims("a");
    claims["scope"] = json!("api/read");
    let token = issuer.sign(&claims);
    let missing = challenge(&stack, Some(&token), Some("write_memory_entry")).await;
    assert_eq!(missing["scope"], "tools:read memory:write");
}
