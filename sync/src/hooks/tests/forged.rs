//! Attacks by signatures: whoever has not the connection's secret is refused.

use super::*;

const SIGNATURE: &str = "X-Hub-Signature-256";

/// A push to a connection of another kind, without a signature.
fn unsigned(path: &str) -> Sent {
    push().without(SIGNATURE).to(path)
}

async fn assert_refused(endpoint: &Endpoint, attack: &str, sent: Sent, status: u16) {
    assert_eq!(endpoint.send(sent).await, status, "{attack}");
    assert_eq!(endpoint.events(), [], "{attack}");
}

#[tokio::test]
async fn a_wrong_signature_is_refused_and_does_nothing() {
    let endpoint = Endpoint::new();
    let digest = sign("sesame-github", PUSH.as_bytes());
    let right = format!("sha256={digest}");
    for (attack, signature) in [
        ("none in the header", String::new()),
        ("no algorithm", digest.clone()),
        ("another algorithm", format!("sha1={digest}")),
        ("an algorithm in capitals", format!("SHA256={digest}")),
        ("no hex", format!("sha256={}", "g".repeat(64))),
        ("signs in hex", format!("sha256={}", "+1".repeat(32))),
        ("short hex", format!("sha256={}", "0".repeat(62))),
        ("long hex", format!("{right}00")),
        ("a space", format!("sha256= {digest}")),
        ("all zero", format!("sha256={}", "0".repeat(64))),
        ("two in one header", format!("{right}, {right}")),
        (
            "another connection's secret",
            format!("sha256={}", sign("sesame-gitea", PUSH.as_bytes())),
        ),
    ] {
        let sent = push().with(SIGNATURE, signature);
        assert_refused(&endpoint, attack, sent, 401).await;
    }
    for (attack, sent) in [
        ("no header", unsigned("/hooks/acme/github")),
        ("twice", push().and(SIGNATURE, &right)),
        ("a wrong one after it", push().and(SIGNATURE, "sha256=00")),
        ("another path", push().to("/hooks/acme/gitea")),
        ("another body", push().body(Body::from("{}"))),
        ("a longer body", push().body(Body::from(format!("{PUSH} ")))),
        ("no body", push().body(Body::empty())),
    ] {
        assert_refused(&endpoint, attack, sent, 401).await;
    }
    // None of these was remembered.
    assert_eq!(endpoint.send(push()).await, 202);
}

#[tokio::test]
async fn a_wrong_token_or_a_wrong_name_of_gitea_is_refused() {
    let endpoint = Endpoint::new();
    let gitlab = || unsigned("/hooks/acme/gitlab");
    for token in ["", "sesame-gitla", "sesame-gitlab2", "sesame-github"] {
        let sent = gitlab().and("X-Gitlab-Token", token);
        assert_refused(&endpoint, token, sent, 401).await;
    }
    let right = "sesame-gitlab";
    let twice = gitlab()
        .and("X-Gitlab-Token", right)
        .and("X-Gitlab-Token", right);
    assert_refused(&endpoint, "a token twice", twice, 401).await;
    assert_refused(&endpoint, "no token", gitlab(), 401).await;
    let digest = sign("sesame-gitea", PUSH.as_bytes());
    let gitea = |signature: &str| {
        let sent = unsigned("/hooks/acme/gitea");
        sent.and("X-Gitea-Signature", signature)
    };
    let with_scheme = gitea(&format!("sha256={digest}"));
    assert_refused(&endpoint, "a scheme", with_scheme, 401).await;
    for (name, wrong) in [
        ("X-Forgejo-Signature", "0".repeat(64)),
        (SIGNATURE, digest.clone()),
        ("X-Gitea-Signature", digest.clone()),
    ] {
        let sent = gitea(&digest).and(name, wrong);
        assert_refused(&endpoint, name, sent, 401).await;
    }
}

#[tokio::test]
async fn a_connection_without_a_secret_refuses_and_an_unknown_one_is_not_found() {
    let endpoint = Endpoint::new();
    let by_nothing = format!("sha256={}", sign("", PUSH.as_bytes()));
    for (path, status) in [
        ("/hooks/acme/bare", 401),
        ("/hooks/acme/empty", 401),
        ("/hooks/acme/empty-gitlab", 401),
        ("/hooks/acme/none", 404),
        ("/hooks/other/github", 404),
    ] {
        let signed = unsigned(path).and(SIGNATURE, &by_nothing);
        assert_refused(&endpoint, path, signed.and("X-Gitlab-Token", ""), status).await;
        // Without a signature nobody learns which names there are.
        assert_refused(&endpoint, path, unsigned(path), 401).await;
    }
}

#[tokio::test]
async fn a_name_is_looked_up_once_for_all_that_forge_and_never_unsigned() {
    let endpoint = Endpoint::new();
    let forged = || format!("sha256={}", "0".repeat(64));
    for (path, status) in [("/hooks/acme/github", 401), ("/hooks/acme/none", 404)] {
        endpoint.send(unsigned(path)).await;
        assert!(endpoint.known.looked_up.lock().is_empty());
        for _ in 0..3 {
            let sent = unsigned(path).and(SIGNATURE, forged());
            assert_refused(&endpoint, path, sent, status).await;
        }
        // The database was asked once. The secret is read for each, as for a name that there is not.
        assert_eq!(
            std::mem::take(&mut *endpoint.known.looked_up.lock()).len(),
            1
        );
        let read = std::mem::take(&mut *endpoint.known.secrets_read.lock());
        assert_eq!(read.len(), 3, "{path}");
    }
}
