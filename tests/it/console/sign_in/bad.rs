//! Providers that misbehave, and answers that belong to nobody: each becomes a page that says what to do.

use e2e::{
    Issuer, Stack,
    http::{Request, Response},
    issuer::{Answer, DISCOVERY, Signer, now},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{file, pages};

/// The path of the provider's token endpoint.
const TOKEN: &str = "/token";

/// A sign-in that has begun: what the provider was told, and the cookie that the browser keeps.
struct Begun {
    /// Where the browser is sent.
    there: String,
    state: String,
    nonce: String,
    cookie: String,
}

/// A gateway whose people sign in at `issuer`.
async fn gateway(issuer: &Issuer) -> (Stack, TempDir) {
    let document = json!({
        "issuer": issuer.url(), "jwks_uri": format!("{}/keys", issuer.url()),
        "authorization_endpoint": format!("{}/auth", issuer.url()),
        "token_endpoint": format!("{}{TOKEN}", issuer.url()),
    });
    issuer.answer(DISCOVERY, Answer(200, Vec::new(), document.to_string()));
    let folder = TempDir::new().unwrap();
    let file = file(
        &folder,
        &issuer.url(),
        "http://localhost:9",
        "client_id: page",
    );
    let stack = pages::harness().replicas(1);
    let stack = stack.configure(|config| config.console.console_oidc = Some(file));
    (stack.start().await, folder)
}

async fn begin(stack: &Stack) -> Begun {
    begin_at(stack, "/console/sign-in").await
}

async fn begin_at(stack: &Stack, path: &str) -> Begun {
    let answer = Request::new("GET", path).send(stack.admin()).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    let to = answer.header("location").unwrap();
    let value = |name: &str| {
        let rest = to.split_once(&format!("{name}=")).unwrap().1;
        rest.split('&').next().unwrap().to_owned()
    };
    assert_eq!(value("code_challenge_method"), "S256");
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.contains("Path=/console/callback"), "{cookie}");
    Begun {
        there: to.to_owned(),
        state: value("state"),
        nonce: value("nonce"),
        cookie: cookie.split(';').next().unwrap().to_owned(),
    }
}

/// The claims of a valid ID token.
fn claims(issuer: &Issuer, begun: &Begun) -> Value {
    json!({
        "iss": issuer.url(), "aud": "page", "sub": "7", "nonce": begun.nonce,
        "iat": now(), "exp": now() + 600, "scope": "openid admin",
    })
}

fn answers(issuer: &Issuer, status: u16, body: Value) {
    issuer.answer(TOKEN, Answer(status, Vec::new(), body.to_string()));
}

/// A valid ID token.
fn answers_well(issuer: &Issuer, begun: &Begun) {
    let token = issuer.sign(&claims(issuer, begun));
    answers(issuer, 200, json!({ "id_token": token }));
}

async fn back(stack: &Stack, begun: &Begun, query: &str) -> Response {
    let path = format!("/console/callback?state={}&{query}", begun.state);
    let request = Request::new("GET", &path).header("Cookie", &begun.cookie);
    request.send(stack.admin()).await
}

/// Whether the answer is a page that says this and opens no session.
fn says(answer: &Response, status: u16, text: &str) {
    let page = answer.text();
    assert_eq!(answer.status, status, "{text}: {page}");
    assert!(
        page.contains(text) && page.contains("Sign in with 127.0.0.1"),
        "{text}: {page}"
    );
    assert_eq!(answer.header("set-cookie"), None, "{text}");
}

#[tokio::test]
async fn an_id_token_that_is_not_of_this_sign_in_opens_no_session() {
    let issuer = Issuer::start().await;
    let (stack, _folder) = gateway(&issuer).await;
    for (change, why) in [
        (json!({ "nonce": "of another sign-in" }), "its nonce"),
        (json!({ "nonce": null }), "its nonce"),
        (json!({ "aud": "another" }), "its audience"),
        (json!({ "aud": ["page", "another"] }), "its audience"),
        (json!({ "azp": "another" }), "its audience"),
        (json!({ "iss": "https://evil.example" }), "its issuer"),
        (json!({ "sub": "" }), "its subject"),
        (json!({ "exp": now() - 61 }), "expired"),
        (json!({ "iat": now() + 120 }), "not_yet"),
        (json!({ "exp": now() + 100_000 }), "lives_too_long"),
    ] {
        let begun = begin(&stack).await;
        let mut token = claims(&issuer, &begun);
        for (name, value) in change.as_object().unwrap() {
            token[name] = value.clone();
        }
        answers(&issuer, 200, json!({ "id_token": issuer.sign(&token) }));
        says(&back(&stack, &begun, "code=x").await, 502, why);
    }
    let begun = begin(&stack).await;
    let token = Signer::rsa("first").sign(&claims(&issuer, &begun));
    answers(&issuer, 200, json!({ "id_token": token }));
    says(
        &back(&stack, &begun, "code=x").await,
        502,
        "wrong_signature",
    );
    let mut token = claims(&issuer, &begun);
    token["scope"] = json!("openid administrator");
    answers(&issuer, 200, json!({ "id_token": issuer.sign(&token) }));
    let answer = back(&stack, &begun, "code=x").await;
    assert_eq!(answer.status, 403, "{}", answer.text());
    // The same without any of these faults, signed by a key that is new.
    issuer.rotate(Signer::rsa("second"));
    answers_well(&issuer, &begun);
    let answer = back(&stack, &begun, "code=x").await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    assert_eq!(answer.header("location"), Some("/console"));
}

#[tokio::test]
async fn an_answer_that_this_browser_did_not_ask_for_reaches_no_provider() {
    let issuer = Issuer::start().await;
    let (stack, _folder) = gateway(&issuer).await;
    let (begun, other) = (begin(&stack).await, begin(&stack).await);
    let crossed = Begun {
        cookie: other.cookie,
        ..begun
    };
    says(
        &back(&stack, &crossed, "code=x").await,
        400,
        "did not begin this sign-in",
    );
    let bare = Begun {
        cookie: String::new(),
        ..other
    };
    says(
        &back(&stack, &bare, "code=x").await,
        400,
        "did not begin this sign-in",
    );
    let begun = begin(&stack).await;
    let strange = back(&stack, &begun, "code=x&iss=https://evil.example").await;
    says(&strange, 502, "no usable iss");
    says(&back(&stack, &begun, "code=").await, 502, "no usable code");
    assert_eq!(issuer.requests(TOKEN), 0);
}

#[tokio::test]
async fn a_failing_provider_becomes_a_page_that_says_what_to_do() {
    let issuer = Issuer::start().await;
    let (stack, _folder) = gateway(&issuer).await;
    let begun = begin(&stack).await;
    for (status, body, page, text) in [
        (
            401,
            json!({ "error": "invalid_client" }),
            403,
            "the file of the client's secret",
        ),
        (
            400,
            json!({ "error": "invalid_grant" }),
            403,
            "http://localhost:9/console/callback",
        ),
        (500, json!([]), 503, "does not answer"),
        (429, json!([]), 503, "does not answer"),
        (200, json!([]), 502, "no usable JSON"),
        (
            200,
            json!({ "error": "invalid_client" }),
            403,
            "the file of the client's secret",
        ),
        (
            200,
            json!({ "access_token": "x" }),
            502,
            "no usable id_token",
        ),
        (200, json!({ "id_token": "x.y" }), 502, "its form"),
        (
            200,
            json!({ "id_token": "x".repeat(300_000) }),
            503,
            "does not answer",
        ),
    ] {
        answers(&issuer, status, body);
        says(&back(&stack, &begun, "code=x").await, page, text);
    }
    let to = vec![("location", "https://evil.example".to_owned())];
    issuer.answer(TOKEN, Answer(307, to, String::new()));
    says(&back(&stack, &begun, "code=x").await, 403, "refused: 307");
    let script = "error=%3Cscript%3Ealert(1)%3C/script%3E";
    let answer = back(&stack, &begun, script).await;
    assert!(!answer.text().contains("<script"), "{}", answer.text());
    says(
        &back(&stack, &begun, "error=invalid_scope").await,
        403,
        "set `scopes`",
    );
    issuer.set_down(true);
    says(
        &back(&stack, &begun, "code=x").await,
        503,
        "does not answer",
    );
    // The rest of the gateway does not mind.
    assert_eq!(
        stack
            .client("acme")
            .rpc("tools/list", json!({}))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn without_a_provider_nobody_is_let_in_and_the_gateway_serves() {
    let issuer = Issuer::start().await;
    issuer.set_down(true);
    let (stack, _folder) = gateway(&issuer).await;
    let answer = Request::new("GET", "/console/sign-in")
        .send(stack.admin())
        .await;
    says(&answer, 503, "does not answer");
    let page = Request::new("GET", "/console").send(stack.admin()).await;
    assert_eq!(page.status, 401);
    let probe = Request::new("GET", "/readyz").send(stack.admin()).await;
    assert_eq!(probe.status, 200);
}

#[tokio::test]
async fn keys_and_endpoints_come_from_one_reading_of_the_discovery_document() {
    let issuer = Issuer::start().await;
    let (stack, _folder) = gateway(&issuer).await;
    let are_read = async || (issuer.requests("/keys") > 0).then_some(());
    stack.eventually(are_read).await;
    let begun = begin(&stack).await;
    answers_well(&issuer, &begun);
    assert_eq!(back(&stack, &begun, "code=x").await.status, 303);
    assert_eq!(issuer.requests(DISCOVERY), 1);
}

#[tokio::test]
async fn a_sign_in_leads_nowhere_but_to_the_pages() {
    let issuer = Issuer::start().await;
    let (stack, _folder) = gateway(&issuer).await;
    for to in [
        "https://evil.example",
        "//evil.example",
        "/mcp",
        "/console/%0d%0ax: y",
    ] {
        let path = format!("/console/sign-in?to={}", to.replace(' ', "%20"));
        let begun = begin_at(&stack, &path).await;
        let provider = format!("{}/auth?", issuer.url());
        assert!(begun.there.starts_with(&provider), "{}", begun.there);
        answers_well(&issuer, &begun);
        let answer = back(&stack, &begun, "code=x").await;
        assert_eq!(answer.header("location"), Some("/console"), "{to}");
    }
}
