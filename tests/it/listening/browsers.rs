//! Pages in a browser: preflights, and answers that a page may read.

use archway_proto::catalog::Scope;
use e2e::{
    Client, Harness, Key, Repo, Stack, Tenant,
    http::{Request, Response},
};
use serde_json::json;

use super::{bearer, hello, posting};

const PAGE: &str = "http://localhost:6274";

async fn gateway() -> (Stack, Client) {
    let acme = Tenant::new("acme")
        .project("site", Repo::new().file("a.txt", "a").commit())
        .key(Key::new("deaf").scopes(&[Scope::MemoryWrite]));
    let stack = Harness::new()
        .tenant(acme)
        .configure(|config| config.guard.allowed_origins = vec![PAGE.to_owned()])
        .start()
        .await;
    let client = stack.client("acme");
    (stack, client)
}

fn preflight(path: &str) -> Request {
    Request::new("OPTIONS", path)
        .header("Origin", PAGE)
        .header("Access-Control-Request-Method", "POST")
        .header(
            "Access-Control-Request-Headers",
            "authorization,content-type",
        )
}

/// The members of a list header, sorted.
fn list(response: &Response, name: &str) -> Vec<String> {
    let value = response.header(name).unwrap_or_default();
    let mut members: Vec<String> = value.split(',').map(|m| m.trim().to_lowercase()).collect();
    members.sort();
    members
}

#[tokio::test]
async fn a_listed_page_gets_its_preflight_answered_without_a_credential() {
    let (_stack, client) = gateway().await;
    let answer = preflight("/mcp").send(client.address()).await;
    assert_eq!((answer.status, answer.text().as_str()), (204, ""));
    assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
    assert_eq!(answer.header("access-control-max-age"), Some("600"));
    assert_eq!(answer.header("access-control-allow-credentials"), None);
    assert_eq!(
        list(&answer, "access-control-allow-methods"),
        ["delete", "post"]
    );
    assert_eq!(
        list(&answer, "access-control-allow-headers"),
        [
            "accept",
            "archway-session",
            "authorization",
            "content-type",
            "last-event-id",
            "mcp-method",
            "mcp-name",
            "mcp-protocol-version",
            "mcp-session-id",
            "traceparent",
        ]
    );
}

#[tokio::test]
async fn options_that_are_no_preflight_of_the_endpoint_are_refused_as_ever() {
    let (_stack, client) = gateway().await;
    let to = client.address();
    let foreign = preflight("/mcp").header("Origin", "https://evil.example");
    let answer = foreign.send(to).await;
    assert_eq!(answer.status, 403);
    assert_eq!(answer.header("access-control-allow-origin"), None);
    assert_eq!(preflight("/").send(to).await.status, 404);
    for bare in [
        Request::new("OPTIONS", "/mcp"),
        Request::new("OPTIONS", "/mcp").header("Origin", PAGE),
        Request::new("OPTIONS", "/mcp").header("Access-Control-Request-Method", "POST"),
    ] {
        assert_eq!(bare.send(to).await.status, 405, "{bare:?}");
    }
}

#[tokio::test]
async fn a_listed_page_may_read_every_answer_refusals_included() {
    let (stack, client) = gateway().await;
    let deaf = stack.keyed("acme", "deaf");
    for (request, status) in [
        (posting(&client, hello()), 200),
        (posting(&deaf, hello()), 403),
        (posting(&client, "{"), 400),
        (Request::new("POST", "/mcp"), 401),
        (
            Request::new("POST", "/mcp").header("Authorization", "Bearer awy_x"),
            401,
        ),
        (
            Request::new("POST", "/mcp").header("Content-Length", "1048577"),
            413,
        ),
        (Request::new("GET", "/mcp"), 405),
        (Request::new("POST", "/"), 404),
        (posting(&client, "").header("Content-Encoding", "gzip"), 415),
    ] {
        let answer = request.header("Origin", PAGE).send(client.address()).await;
        assert_eq!(answer.status, status, "{}", answer.text());
        let origin = answer.header("access-control-allow-origin");
        assert_eq!(origin, Some(PAGE), "{status}");
        assert_eq!(
            list(&answer, "access-control-expose-headers"),
            [
                "mcp-session-id",
                "ratelimit",
                "ratelimit-policy",
                "retry-after",
                "www-authenticate"
            ],
            "{status}"
        );
        assert!(
            list(&answer, "vary").contains(&"origin".to_owned()),
            "{status}"
        );
    }
}

#[tokio::test]
async fn without_an_origin_header_answers_have_no_cors_headers() {
    let (_stack, client) = gateway().await;
    let answer = client.rpc("tools/list", json!({})).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn without_a_list_no_origin_is_served() {
    let (_stack, client) = super::gateway().await;
    for origin in [PAGE, "null", "", "http://127.0.0.1"] {
        let request = Request::new("POST", "/mcp")
            .header("Authorization", &bearer(&client))
            .header("Origin", origin);
        let answer = request.send(client.address()).await;
        assert_eq!(answer.status, 403, "{origin}");
        assert_eq!(preflight("/mcp").send(client.address()).await.status, 403);
    }
}
