//! What a host refuses, and when it may be asked again.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::super::ListingError;
use super::super::testing::{Asked, HostDouble, client, reply};
use super::failed;

async fn answer_of(
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: &'static str,
) -> ListingError {
    let host = HostDouble::start(move |_: &Asked| {
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        reply(status, &headers, body)
    })
    .await;
    failed(&host.github(json!({}))).await
}

#[tokio::test]
async fn a_refused_credential_is_told_in_the_hosts_words() {
    for status in [401, 403] {
        let body = r#"{"message":"Bad credentials s3cr3t-token\u001b[31m"}"#;
        let error = answer_of(status, vec![], body).await;
        assert!(matches!(error, ListingError::Refused { .. }), "{error:?}");
        let text = format!("{error} {error:?}");
        assert!(text.contains("Bad credentials [secret][31m"), "{text}");
        assert!(!text.contains("s3cr3t"), "{text}");
    }
    // GitHub writes its limits on every answer.
    let headers = vec![
        ("x-ratelimit-remaining", "41".to_owned()),
        ("x-ratelimit-reset", "1".to_owned()),
    ];
    let error = answer_of(403, headers, "").await;
    assert!(matches!(error, ListingError::Refused { .. }), "{error:?}");
}

async fn assert_waits(status: u16, headers: &[(&'static str, &str)], seconds: i64) {
    let now = Timestamp::now();
    let own = headers
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()));
    let error = answer_of(status, own.collect(), "slow down").await;
    let ListingError::RateLimited { retry_at } = error else {
        panic!("{headers:?}: {error:?}")
    };
    let late = retry_at.duration_since(now) - SignedDuration::from_secs(seconds);
    let tolerance = SignedDuration::from_secs(5);
    assert!(late.abs() < tolerance, "{headers:?}: {retry_at}");
}

#[tokio::test]
async fn both_styles_of_rate_limits_say_when_to_come_back() {
    let in_10_minutes = (Timestamp::now().as_second() + 600).to_string();
    let reset = in_10_minutes.as_str();
    assert_waits(429, &[("retry-after", "30")], 30).await;
    assert_waits(403, &[("retry-after", "30")], 30).await;
    let github = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", reset)];
    assert_waits(403, &github, 600).await;
    let gitlab = [("ratelimit-remaining", "0"), ("ratelimit-reset", reset)];
    assert_waits(429, &gitlab, 600).await;
    assert_waits(429, &[], 60).await;
}

#[tokio::test]
async fn a_secondary_limit_without_headers_is_no_refusal() {
    let body = r#"{"message":"You have exceeded a secondary rate limit."}"#;
    let error = answer_of(403, vec![], body).await;
    assert!(
        matches!(error, ListingError::RateLimited { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn waits_are_bounded_whatever_a_host_says() {
    for (value, seconds) in [
        ("99999999999999999999", 60),
        ("9223372036854775807", 3600),
        ("-9223372036854775808", 1),
        ("-5", 1),
        ("soon", 60),
    ] {
        assert_waits(429, &[("retry-after", value)], seconds).await;
    }
    let lie = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "-9223372036854775808"),
    ];
    assert_waits(403, &lie, 1).await;
}

#[tokio::test]
async fn times_of_a_host_are_meant_by_its_own_clock() {
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    let later = ("retry-after", "Sun, 06 Nov 1994 08:54:37 GMT");
    assert_waits(429, &[date, later], 300).await;
    assert_waits(429, &[date, ("ratelimit-reset", "784111817")], 40).await;
}

#[tokio::test]
async fn missing_and_ill_hosts_are_told_apart() {
    let error = answer_of(404, vec![], "{}").await;
    assert!(matches!(error, ListingError::NotFound { .. }), "{error:?}");
    let error = answer_of(503, vec![], "down for maintenance").await;
    let text = error.to_string();
    assert!(
        matches!(error, ListingError::Unreachable { .. }),
        "{error:?}"
    );
    assert!(
        text.contains("503") && text.contains("maintenance"),
        "{text}"
    );
    let error = answer_of(418, vec![], "tea").await;
    assert!(matches!(error, ListingError::Invalid { .. }), "{error:?}");
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let source = json!({ "github": { "org": "acme", "url": url } });
    let error = failed(&client(source, json!({}))).await;
    assert!(
        matches!(error, ListingError::Unreachable { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_host_that_stays_silent_ends_at_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let source = json!({ "github": { "org": "acme", "url": url } });
    let silent = client(source, json!({}));
    let limit = Duration::from_millis(100);
    let error = failed(&silent.with_deadline(limit)).await;
    assert!(
        matches!(error, ListingError::TimedOut { limit: named } if named == limit),
        "{error:?}"
    );
    drop(listener);
}

#[tokio::test]
async fn a_connection_goes_through_its_own_proxy() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut head = [0; 4096];
        let read = socket.read(&mut head).await.unwrap();
        let answer = b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
        socket.write_all(answer).await.unwrap();
        String::from_utf8_lossy(&head[..read]).into_owned()
    });
    let source = json!({ "github": { "org": "acme", "url": "https://git.invalid" } });
    let error = failed(&client(source, json!({ "https_proxy": proxy }))).await;
    assert!(
        matches!(error, ListingError::Unreachable { .. }),
        "{error:?}"
    );
    let asked = asked.await.unwrap();
    assert!(asked.starts_with("CONNECT git.invalid:443 "), "{asked}");
    // The token is for the host, not for the proxy.
    assert!(!asked.contains("s3cr3t"), "{asked}");
}
