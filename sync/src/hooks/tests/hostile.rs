//! Attacks by names, by bodies and by their number.

use axum::body::Bytes;
use futures::{StreamExt as _, stream};
use http::{HeaderName, HeaderValue};

use super::super::body::{MAX_BODY, MAX_PREFIX};
use super::super::turns::{MAX_BODIES, MAX_BODIES_OF_ONE};
use super::*;

#[tokio::test]
async fn a_name_that_leaves_its_place_reaches_no_look_up() {
    let endpoint = Endpoint::new();
    let long = format!("/hooks/acme/{}", "a".repeat(64));
    for path in [
        "/hooks/../github",
        "/hooks/acme/..%2f..%2fetc",
        "/hooks/acme/%2e%2e",
        "/hooks/acme/git%00hub",
        "/hooks/acme/%ff%fe",
        "/hooks/acme/GITHUB",
        "/hooks/acme/-github",
        "/hooks/acme/",
        "/hooks/acme/github/",
        "/hooks/acme/github/x",
        "/hooks//github",
        "/hooks",
        "/",
        &long,
    ] {
        assert_eq!(endpoint.send(push().to(path)).await, 404, "{path}");
    }
    assert!(endpoint.known.looked_up.lock().is_empty());
    for method in [Method::GET, Method::PUT, Method::DELETE, Method::HEAD] {
        let request = http::Request::builder()
            .method(method)
            .uri("/hooks/acme/github");
        let status = endpoint.request(request.body(Body::empty()).unwrap()).await;
        assert_eq!(status, 405);
    }
}

#[tokio::test]
async fn a_large_body_is_hashed_in_whole_and_a_larger_one_refused() {
    let endpoint = Endpoint::new();
    let mut large = PUSH.trim_end_matches('}').to_owned();
    large.push_str(r#"},"commits":[""#);
    let rest = MAX_BODY - large.len() - 3;
    large.extend(std::iter::repeat_n('x', rest));
    large.push_str(r#""]}"#);
    assert_eq!(large.len(), MAX_BODY);
    assert_eq!(endpoint.send(github("push", &large)).await, 202);
    assert_eq!(endpoint.events(), fetch_of_site());
    assert_eq!(
        endpoint.send(github("push", &format!("{large} "))).await,
        413
    );
    // The same without a length that is known before.
    let chunk = Bytes::from(vec![b' '; 1 << 20]);
    let chunks = stream::repeat_with(move || Ok::<_, std::io::Error>(chunk.clone())).take(1000);
    let endless = push().body(Body::from_stream(chunks));
    assert_eq!(endpoint.send(endless).await, 413);
    // Beyond its first mebibyte nothing is read.
    let late = format!(
        "{{\"commits\":[\"{}\"],{}",
        "x".repeat(MAX_PREFIX),
        PUSH.trim_start_matches('{')
    );
    assert_eq!(endpoint.send(github("push", &late)).await, 202);
    let whole = HookEvent {
        kind: HookEventKind::List,
        repository: None,
        full_name: None,
        is_private: false,
    };
    assert_eq!(endpoint.events(), [whole]);
}

#[tokio::test]
async fn a_strange_payload_that_is_signed_ends_nothing() {
    let endpoint = Endpoint::new();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_objects = "{\"repository\":".repeat(70_000);
    for body in [
        deep.as_str(),
        &deep_objects,
        "",
        "null",
        "\"",
        "{\"repository\":{\"id\":",
        "payload=%7B%22",
        "\u{feff}{}",
    ] {
        assert_eq!(endpoint.send(github("push", body)).await, 202);
        let events = endpoint.events();
        assert_eq!(events.len(), 1);
        assert_eq!(events[0].kind, HookEventKind::List);
        assert_eq!(events[0].repository, None);
    }
    let twice = r#"{"repository":{"id":42},"repository":{"id":43,"full_name":"a/\u001b"},"x":1}"#;
    assert_eq!(endpoint.send(github("push", twice)).await, 202);
    assert_eq!(endpoint.events()[0].repository, None);
    let mut request = http::Request::post("/hooks/acme/github")
        .body(Body::from(PUSH))
        .unwrap();
    let name = HeaderName::from_static("x-hub-signature-256");
    let value = HeaderValue::from_bytes(b"sha256=\xff\xfe").unwrap();
    request.headers_mut().insert(name, value);
    assert_eq!(endpoint.request(request).await, 401);
}

#[tokio::test(start_paused = true)]
async fn a_slow_body_ends_after_thirty_seconds() {
    let endpoint = Endpoint::new();
    let trickle = stream::repeat(()).then(async |()| {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok::<_, std::io::Error>(Bytes::from_static(b" "))
    });
    let begun = tokio::time::Instant::now();
    let slow = push().body(Body::from_stream(Box::pin(trickle)));
    assert_eq!(endpoint.send(slow).await, 408);
    assert_eq!(begun.elapsed().as_secs(), 30);
    let broken = stream::once(async { Err::<Bytes, _>(std::io::Error::other("reset")) });
    let broken = push().body(Body::from_stream(Box::pin(broken)));
    assert_eq!(endpoint.send(broken).await, 400);
}

#[tokio::test(start_paused = true)]
async fn silent_bodies_take_one_connections_turns_and_no_others() {
    let endpoint = Arc::new(Endpoint::new());
    let silent = |path: &str| {
        let body = stream::pending::<Result<Bytes, std::io::Error>>();
        let (endpoint, sent) = (endpoint.clone(), push().to(path));
        let sent = sent.body(Body::from_stream(body));
        tokio::spawn(async move { endpoint.send(sent).await })
    };
    let of_github = || silent("/hooks/acme/github");
    let mut readers: Vec<_> = (0..MAX_BODIES_OF_ONE).map(|_| of_github()).collect();
    for number in 0..MAX_BODIES_OF_ONE {
        readers.push(silent(&format!("/hooks/acme/none-{number}")));
    }
    // Time is paused: by then all of them read.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(endpoint.send(push()).await, 503);
    let unknown = push().to("/hooks/other/github");
    assert_eq!(endpoint.send(unknown).await, 503);
    let other = push().to("/hooks/acme/gitea");
    assert_eq!(endpoint.send(other).await, 401);
    for reader in readers {
        assert_eq!(reader.await.unwrap(), 408);
    }
    assert_eq!(endpoint.send(push()).await, 202);
}

#[tokio::test(start_paused = true)]
async fn at_most_256_bodies_are_read_at_once() {
    let turns = Turns::default();
    let mut held = Vec::new();
    for _ in 0..MAX_BODIES {
        held.push(turns.take(Some(Uuid::new_v4())).await.unwrap());
    }
    assert!(turns.take(Some(Uuid::new_v4())).await.is_err());
    held.pop();
    assert!(turns.take(Some(Uuid::new_v4())).await.is_ok());
}
