//! Invalid tokens: each gets the answer of a bad key and nothing more.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use e2e::{
    Harness, Issuer, Stack,
    http::{Request, Response},
    issuer::{Signer, encoded, now},
};
use serde_json::{Value, json};

use super::{bearing, list, status, tenant};

/// A stack with `acme`, a disabled `zeta`, and an issuer for both and for an unknown tenant.
async fn stack(issuer: &Issuer) -> Stack {
    let harness = Harness::new().tenant(tenant("acme")).tenant(tenant("zeta"));
    let entry = issuer.entry("tenant_claim: org, tenants: [acme, zeta, gone]");
    let stack = harness.issuer(entry).start().await;
    let owner = sqlx::PgPool::connect_with(stack.database().owner()).await;
    let disable = "update tenants set disabled_at = now() where slug = 'zeta'";
    let disabled = sqlx::query(disable).execute(&owner.unwrap()).await;
    assert_eq!(disabled.unwrap().rows_affected(), 1);
    stack
}

/// Valid claims with one change. Null removes a claim.
fn claims(issuer: &Issuer, name: &str, value: Value) -> Value {
    let mut claims = issuer.claims("a");
    claims["org"] = json!("acme");
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(name);
    } else {
        claims[name] = value;
    }
    claims
}

/// Invalid tokens of the issuer itself, and the reason that each is counted under.
fn wrong_claims(issuer: &Issuer) -> Vec<(&'static str, String)> {
    let now = now();
    let cases = [
        ("wrong_audience", "aud", json!("billing")),
        ("wrong_audience", "aud", json!(null)),
        ("expired", "exp", json!(now - 61)),
        ("not_yet", "nbf", json!(now + 90)),
        ("not_yet", "iat", json!(now + 90)),
        ("lives_too_long", "exp", json!(now + 3_700)),
        ("wrong_claims", "exp", json!(null)),
        ("wrong_claims", "exp", json!("never")),
        ("wrong_claims", "iat", json!(null)),
        ("wrong_claims", "sub", json!(null)),
        ("wrong_claims", "sub", json!("a".repeat(256))),
        ("wrong_claims", "scope", json!(7)),
        ("wrong_tenant", "org", json!("other")),
        ("wrong_tenant", "org", json!(null)),
        ("not_good", "org", json!("zeta")),
        ("not_good", "org", json!("gone")),
        ("unknown_issuer", "iss", json!(format!("{}/", issuer.url()))),
        ("unknown_issuer", "iss", json!([issuer.url()])),
        ("malformed", "more", json!("x".repeat(16 * 1024))),
    ];
    let signed = |(reason, name, value)| (reason, issuer.sign(&claims(issuer, name, value)));
    cases.into_iter().map(signed).collect()
}

/// Tokens forged with the issuer's public key, or without one.
fn forged(issuer: &Issuer) -> Vec<(&'static str, String)> {
    let signer = issuer.signer();
    let good = claims(issuer, "jti", json!("forged"));
    let (header, public) = (signer.header(), signer.public());
    let modulus = public["n"].as_str().unwrap();
    let modulus = URL_SAFE_NO_PAD.decode(modulus).unwrap();
    let with = |name: &str, value: Value| {
        let mut header = header.clone();
        header[name] = value;
        header
    };
    let stranger = Signer::rsa("first");
    let mut introduced = with("jwk", stranger.public());
    introduced["jku"] = json!("http://127.0.0.1:1/keys");
    let mut tampered = signer.sign(&good);
    let mut other = claims(issuer, "sub", json!("b"));
    other["jti"] = good["jti"].clone();
    let parts: Vec<&str> = tampered.split('.').collect();
    tampered = format!("{}.{}.{}", parts[0], encoded(&other), parts[2]);
    let none = |name: &str| format!("{}.{}.", encoded(&with("alg", json!(name))), encoded(&good));
    let secret = |bytes: &[u8]| Signer::secret("first", bytes).sign(&good);
    vec![
        ("wrong_algorithm", none("none")),
        ("wrong_algorithm", none("None")),
        ("wrong_algorithm", secret(&modulus)),
        ("wrong_algorithm", secret(public.to_string().as_bytes())),
        (
            "wrong_algorithm",
            signer.sign_as(&with("alg", json!("PS256")), &good),
        ),
        (
            "wrong_signature",
            Signer::secret("first", &modulus).sign_as(&header, &good),
        ),
        ("wrong_signature", stranger.sign(&good)),
        ("wrong_signature", stranger.sign_as(&introduced, &good)),
        ("wrong_signature", tampered),
        ("wrong_signature", none("RS256")),
        (
            "unknown_signer",
            signer.sign_as(&with("kid", json!("none")), &good),
        ),
        (
            "malformed",
            signer.sign_as(&with("crit", json!(["exp"])), &good),
        ),
        (
            "malformed",
            signer.sign_as(&with("typ", json!("logout+jwt")), &good),
        ),
        ("malformed", "a.b.c".to_owned()),
        ("malformed", format!("{}.x", signer.sign(&good))),
    ]
}

/// The parts of an answer that could inform an attacker.
fn shape(response: &Response) -> (u16, String, Vec<(String, String)>) {
    let mut headers = response.headers.clone();
    headers.retain(|(name, _)| name != "date");
    (response.status, response.text(), headers)
}

async fn counted(stack: &Stack, reason: &str) -> u64 {
    let metrics = Request::new("GET", "/metrics")
        .send(stack.admin())
        .await
        .text();
    let line = format!("archway_gateway_failed_credentials_total{{reason=\"{reason}\"}} ");
    let count = metrics.lines().find_map(|text| text.strip_prefix(&line));
    count.map_or(0, |count| count.parse().unwrap())
}

#[tokio::test]
async fn every_bad_token_is_refused_like_a_bad_key_and_counted_by_reason() {
    let issuer = Issuer::start().await;
    let stack = stack(&issuer).await;
    let good = issuer.sign(&claims(&issuer, "jti", json!("good")));
    assert_eq!(status(&stack, &good).await, 200);
    let expected = shape(&list(&bearing(&stack, "awy_x")).await);
    assert_eq!(expected.0, 401);
    for (reason, token) in wrong_claims(&issuer).into_iter().chain(forged(&issuer)) {
        let before = counted(&stack, reason).await;
        let answer = list(&bearing(&stack, &token)).await;
        assert_eq!(shape(&answer), expected, "{reason}: {token}");
        assert_eq!(
            counted(&stack, reason).await,
            before + 1,
            "{reason}: {token:.300}"
        );
    }
    assert_eq!(status(&stack, &good).await, 200);
}

#[tokio::test]
async fn bad_tokens_are_limited_by_address_like_bad_keys_and_good_ones_not() {
    let issuer = Issuer::start().await;
    let stack = stack(&issuer).await;
    let good = issuer.sign(&claims(&issuer, "jti", json!("good")));
    let bad = issuer.sign(&claims(&issuer, "aud", json!("billing")));
    for number in 0..60 {
        assert_eq!(status(&stack, &bad).await, 401, "{number}");
    }
    assert_eq!(status(&stack, &bad).await, 429);
    assert_eq!(status(&stack, "awy_x").await, 429);
    assert_eq!(status(&stack, &good).await, 200);
}

#[tokio::test]
async fn without_issuers_a_token_is_a_bad_key() {
    let issuer = Issuer::start().await;
    let stack = Harness::new().tenant(tenant("acme")).start().await;
    let answers = [&issuer.token("a"), "awy_x"].map(|text| bearing(&stack, text));
    let [token, key] = answers;
    assert_eq!(shape(&list(&token).await), shape(&list(&key).await));
    assert_eq!(issuer.requests(e2e::issuer::KEYS), 0);
}
