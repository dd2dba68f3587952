//! The keys of issuers: rotation, outages, and answers that no issuer should give.

use e2e::{
    Harness, Issuer, Stack,
    http::Request,
    issuer::{Answer, DISCOVERY, KEYS, Signer, now},
};
use serde_json::{Value, json};

use super::{acme, bearing, list, status, tenant};

/// A token of the issuer's current key under another key id, issued two minutes ago.
fn by(issuer: &Issuer, key: &str) -> String {
    let signer = issuer.signer();
    let mut header = signer.header();
    header["kid"] = json!(key);
    signer.sign_as(&header, &older(issuer, "a"))
}

/// Claims older than anything that a gateway read in its test, whatever the leeway.
fn older(issuer: &Issuer, subject: &str) -> Value {
    let mut claims = issuer.claims(subject);
    claims["iat"] = json!(now() - 120);
    claims
}

#[tokio::test]
async fn a_rotated_key_is_good_at_once_and_the_older_one_is_not_any_more() {
    let issuer = Issuer::start().await;
    let stack = acme(&issuer).await;
    let first = issuer.signer();
    assert_eq!(status(&stack, &issuer.token("a")).await, 200);
    issuer.rotate(Signer::rsa("second"));
    assert_eq!(status(&stack, &issuer.token("a")).await, 200);
    assert_eq!(status(&stack, &first.sign(&older(&issuer, "b"))).await, 401);
}

#[tokio::test]
async fn a_flood_of_unknown_keys_causes_one_request_and_no_delay() {
    let issuer = Issuer::start().await;
    let stack = acme(&issuer).await;
    let good = issuer.token("a");
    assert_eq!(status(&stack, &good).await, 200);
    // Fewer than the limit on failed credentials.
    let flood = (0..50).map(|number| {
        let client = bearing(&stack, &by(&issuer, &format!("invented-{number}")));
        async move { list(&client).await.status }
    });
    let answers = futures::future::join_all(flood).await;
    assert!(answers.iter().all(|status| *status == 401), "{answers:?}");
    assert_eq!(issuer.requests(KEYS), 2, "the first, and one more");
    assert_eq!(status(&stack, &good).await, 200);
    // The issuer is not contacted again so soon: its new key is unknown too, but not refused.
    issuer.rotate(Signer::rsa("second"));
    let undecided = list(&bearing(&stack, &issuer.token("a"))).await;
    assert_eq!(undecided.status, 503, "{}", undecided.text());
    assert!(undecided.header("retry-after").is_some());
    let judged = async || (status(&stack, &issuer.token("a")).await == 200).then_some(());
    stack.eventually(judged).await;
}

#[tokio::test]
async fn without_the_issuer_known_keys_work_and_others_are_undecided() {
    let issuer = Issuer::start().await;
    let stack = acme(&issuer).await;
    assert_eq!(status(&stack, &issuer.token("a")).await, 200);
    issuer.set_down(true);
    assert_eq!(status(&stack, &issuer.token("b")).await, 200);
    let undecided = list(&bearing(&stack, &by(&issuer, "new"))).await;
    assert_eq!(undecided.status, 503, "{}", undecided.text());
    assert!(undecided.header("retry-after").is_some());
    // Archway's own key needs no issuer.
    assert_eq!(list(&stack.client("acme")).await.status, 200);
    issuer.set_down(false);
    issuer.rotate(Signer::rsa("new"));
    let again = async || (status(&stack, &issuer.token("a")).await == 200).then_some(());
    stack.eventually(again).await;
}

#[tokio::test]
async fn a_gateway_is_ready_before_its_issuer_and_verifies_tokens_later() {
    let issuer = Issuer::start().await;
    issuer.set_down(true);
    let stack = acme(&issuer).await;
    let ready = Request::new("GET", "/readyz").send(stack.admin()).await;
    assert_eq!(ready.status, 200, "{}", ready.text());
    let undecided = list(&bearing(&stack, &issuer.token("a"))).await;
    assert_eq!(undecided.status, 503, "{}", undecided.text());
    assert!(undecided.header("retry-after").is_some());
    issuer.set_down(false);
    let judged = async || {
        let status = status(&stack, &issuer.token("a")).await;
        assert_ne!(status, 401);
        (status == 200).then_some(())
    };
    stack.eventually(judged).await;
}

/// A stack whose issuer gives this answer at a path, and the issuer.
async fn answering(path: &str, answer: Answer) -> (Stack, Issuer) {
    let issuer = Issuer::start().await;
    issuer.answer(path, answer);
    (acme(&issuer).await, issuer)
}

fn document(body: &Value) -> Answer {
    Answer(200, Vec::new(), body.to_string())
}

#[tokio::test]
async fn invalid_answers_of_an_issuer_are_refused() {
    let helper = Issuer::start().await;
    let elsewhere = format!("{}{KEYS}", helper.url());
    let public = Signer::rsa("many").public();
    let padding = "x".repeat(300_000);
    for (what, path, answer) in [
        (
            "redirect",
            KEYS,
            Answer(302, vec![("Location", elsewhere)], String::new()),
        ),
        (
            "huge",
            KEYS,
            document(&json!({ "keys": [], "padding": padding })),
        ),
        (
            "many",
            KEYS,
            document(&json!({ "keys": vec![public; 101] })),
        ),
        (
            "no json",
            KEYS,
            Answer(200, Vec::new(), "<html>".to_owned()),
        ),
        ("refusal", KEYS, Answer(500, Vec::new(), String::new())),
        (
            "another's",
            DISCOVERY,
            document(
                &json!({ "issuer": helper.url(), "jwks_uri": format!("{}{KEYS}", helper.url()) }),
            ),
        ),
        (
            "file",
            DISCOVERY,
            document(&json!({ "issuer": "x", "jwks_uri": "file:///etc/passwd" })),
        ),
    ] {
        let (stack, issuer) = answering(path, answer).await;
        let undecided = status(&stack, &issuer.token("a")).await;
        assert_eq!(undecided, 503, "{what}");
        assert_eq!(list(&stack.client("acme")).await.status, 200, "{what}");
    }
    assert_eq!(helper.requests(KEYS), 0, "a redirect was followed");
}

#[tokio::test]
async fn shared_secrets_and_keys_of_equal_names_are_refused() {
    let issuer = Issuer::start().await;
    let public = issuer.signer().public();
    let twin = Signer::rsa("first").public();
    issuer.answer(KEYS, document(&json!({ "keys": [public, twin] })));
    let stack = acme(&issuer).await;
    // A newer token might have a key that the issuer has published since: that is undecided.
    let token = issuer.sign(&older(&issuer, "a"));
    assert_eq!(status(&stack, &token).await, 401);

    let (bytes, secret) = ([7; 32], Issuer::start().await);
    let key = json!({ "kty": "oct", "kid": "s", "alg": "HS256", "k": "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc" });
    secret.answer(KEYS, document(&json!({ "keys": [key] })));
    let stack = acme(&secret).await;
    let token = Signer::secret("s", &bytes).sign(&older(&secret, "a"));
    assert_eq!(status(&stack, &token).await, 401);
}

#[tokio::test]
async fn issuers_are_found_by_either_discovery_standard_or_a_keys_url() {
    let issuer = Issuer::start().await;
    let named = format!("{}/realms/x", issuer.url());
    let keys = format!("{}{KEYS}", issuer.url());
    let discovered = document(&json!({ "issuer": named, "jwks_uri": keys }));
    issuer.answer(
        "/.well-known/oauth-authorization-server/realms/x",
        discovered,
    );
    let plain = Issuer::start().await;
    plain.answer(DISCOVERY, Answer(404, Vec::new(), String::new()));
    let stack = Harness::new()
        .tenant(tenant("acme"))
        .issuer(format!(
            "{{issuer: '{named}', audience: archway, tenant: acme}}"
        ))
        .issuer(plain.entry(&format!("tenant: acme, jwks_uri: '{}{KEYS}'", plain.url())))
        .start()
        .await;
    let mut claims = issuer.claims("a");
    claims["iss"] = json!(named);
    for token in [issuer.sign(&claims), plain.token("a")] {
        assert_eq!(status(&stack, &token).await, 200);
    }
    assert_eq!(
        issuer.requests("/realms/x/.well-known/openid-configuration"),
        1
    );
    assert_eq!(plain.requests(DISCOVERY), 0);
}

#[tokio::test]
async fn only_the_configured_authority_is_trusted_for_an_issuers_tls() {
    let (known, stranger) = (Issuer::encrypted().await, Issuer::encrypted().await);
    let authority = known.authority();
    let named = format!("tenant: acme, ca_file: '{}'", authority.display());
    let stack = Harness::new()
        .tenant(tenant("acme"))
        .issuer(known.entry(&named))
        .issuer(stranger.entry(&named))
        .start()
        .await;
    assert_eq!(status(&stack, &known.token("a")).await, 200);
    assert_eq!(status(&stack, &stranger.token("a")).await, 503);
    assert_eq!(stranger.requests(DISCOVERY), 0);
}
