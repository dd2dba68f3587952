//! Tokens of GitHub Apps.

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::super::testing::{Asked, HostDouble, reply};
use super::super::{AppKeyError, AppToken, ListingError};

/// What precedes the PKCS#1 key in the PKCS#8 of an RSA key of 2,048 bits.
const PKCS8_HEAD: usize = 26;

fn pem(label: &str, der: &[u8]) -> SecretString {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = text
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    let lines = lines.join("\n");
    format!("-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n").into()
}

fn app() -> Value {
    json!({ "credential": { "app": { "id": 12, "installation": 34 } } })
}

async fn host(life: SignedDuration) -> HostDouble {
    HostDouble::start(move |asked: &Asked| {
        if asked.method != "POST" || asked.path != "/api/v3/app/installations/34/access_tokens" {
            return reply(404, &[], "{}");
        }
        let end = Timestamp::now() + life;
        let body = json!({ "token": "ghs_secret", "expires_at": end.to_string() });
        reply(201, &[], body.to_string())
    })
    .await
}

#[tokio::test]
async fn a_signed_app_gets_a_token_and_keeps_it() {
    let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
    let pkcs8 = key.as_der().unwrap();
    let public = key.public_key().as_ref().to_vec();
    let host = host(SignedDuration::from_hours(1)).await;
    let client = host.github(app());
    for pem in [
        pem("PRIVATE KEY", pkcs8.as_ref()),
        pem("RSA PRIVATE KEY", &pkcs8.as_ref()[PKCS8_HEAD..]),
    ] {
        let tokens = AppToken::new(&client, &pem).unwrap();
        let (one, two) = tokio::join!(tokens.token(), tokens.token());
        assert_eq!(one.unwrap().expose_secret(), "ghs_secret");
        assert_eq!(two.unwrap().expose_secret(), "ghs_secret");
        let asked = host.asked();
        assert_eq!(asked.len(), 1);
        let jwt = asked[0]
            .header("authorization")
            .strip_prefix("Bearer ")
            .unwrap();
        let mut rules = Validation::new(Algorithm::RS256);
        rules.set_required_spec_claims(&["exp", "iss"]);
        rules.set_issuer(&["12"]);
        let claims =
            jsonwebtoken::decode::<Value>(jwt, &DecodingKey::from_rsa_der(&public), &rules);
        let claims = claims.unwrap().claims;
        let life = claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap();
        assert_eq!(life, 600);
    }
}

#[tokio::test]
async fn a_token_is_replaced_five_minutes_before_its_end() {
    let pkcs8 = KeyPair::generate(KeySize::Rsa2048)
        .unwrap()
        .as_der()
        .unwrap();
    let pem = pem("PRIVATE KEY", pkcs8.as_ref());
    for (life, exchanges) in [
        (SignedDuration::from_secs(299), 2),
        (SignedDuration::from_secs(-5), 2),
        (SignedDuration::from_secs(330), 1),
        (SignedDuration::from_hours(24 * 365), 1),
    ] {
        let host = host(life).await;
        let tokens = AppToken::new(&host.github(app()), &pem).unwrap();
        for _ in 0..2 {
            tokens.token().await.unwrap();
        }
        assert_eq!(host.asked().len(), exchanges, "{life}");
    }
}

#[tokio::test]
async fn an_app_that_gets_no_token_says_why_without_secrets() {
    let pkcs8 = KeyPair::generate(KeySize::Rsa2048)
        .unwrap()
        .as_der()
        .unwrap();
    let pem = pem("PRIVATE KEY", pkcs8.as_ref());
    for (status, body) in [
        (
            401,
            r#"{"message":"A JSON web token could not be decoded"}"#,
        ),
        (404, "{}"),
        (201, r#"{"token":"ghs_secret"}"#),
        (201, r#"{"token":5,"expires_at":"ghs_secret"}"#),
        (201, r#"{"token":"ghs_secret","expires_at":"never"}"#),
        (200, "[]"),
    ] {
        let host = HostDouble::start(move |_: &Asked| reply(status, &[], body)).await;
        let tokens = AppToken::new(&host.github(app()), &pem).unwrap();
        let error = tokens.token().await.unwrap_err();
        assert!(!format!("{error:?}").contains("ghs_secret"));
        match status {
            401 => assert!(matches!(error, ListingError::Refused { .. }), "{error:?}"),
            404 => assert!(matches!(error, ListingError::NotFound { .. }), "{error:?}"),
            _ => assert!(matches!(error, ListingError::Invalid { .. }), "{error:?}"),
        }
    }
}

#[tokio::test]
async fn keys_that_cannot_sign_are_refused() {
    let host = host(SignedDuration::from_hours(1)).await;
    let client = host.github(app());
    for bad in [
        String::new(),
        "-----BEGIN RSA PRIVATE KEY-----\n!!\n-----END RSA PRIVATE KEY-----".to_owned(),
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----".to_owned(),
        "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----".to_owned(),
        "x".repeat(1 << 20),
    ] {
        let refused = AppToken::new(&client, &bad.into()).err();
        assert_eq!(refused, Some(AppKeyError::Key));
    }
    let without = AppToken::new(&host.github(json!({})), &String::new().into()).err();
    assert_eq!(without, Some(AppKeyError::NoApp));
}
