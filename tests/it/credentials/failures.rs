//! Failed credentials are counted by address. A valid key is never refused for them.

use std::net::{IpAddr, SocketAddr};

use e2e::{
    Client, Harness, Repo, Stack, Tenant,
    http::{Request, Response},
};
use serde_json::json;
use tokio::{io::AsyncWriteExt, net::TcpSocket};

use super::{call, checked};

/// How many are answered 401 within a minute.
const MOST: usize = 60;

async fn gateway(trusted: &'static str) -> (Stack, Client) {
    let acme = Tenant::new("acme").project("site", Repo::new().file("a.txt", "a").commit());
    let mut harness = Harness::new().tenant(acme);
    if !trusted.is_empty() {
        harness = harness.configure(|config| {
            config.auth.trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()];
        });
    }
    let stack = harness.start().await;
    let client = stack.client("acme");
    (stack, client)
}

fn with_key(key: &str) -> Request {
    call().header("Authorization", &format!("Bearer {key}"))
}

/// Sends from another address of this machine.
async fn send_from(source: [u8; 4], request: &Request, to: SocketAddr) -> Response {
    let socket = TcpSocket::new_v4().unwrap();
    let source: IpAddr = source.into();
    socket.bind(SocketAddr::new(source, 0)).unwrap();
    let mut stream = socket.connect(to).await.unwrap();
    stream.write_all(&request.bytes(to)).await.unwrap();
    Response::read(&mut stream).await
}

/// Spends the allowance of an address with `request`.
async fn exhaust(request: &Request, to: SocketAddr) {
    for number in 0..MOST {
        let answer = request.send(to).await;
        assert_eq!(answer.status, 401, "{number}: {}", answer.text());
    }
}

#[tokio::test]
async fn the_61st_bad_credential_in_a_minute_must_wait_and_good_ones_never() {
    let (stack, client) = gateway("").await;
    let to = client.address();
    let unknown = checked("awy_000000000000_00000000000000000000000000000000");
    for number in 0..MOST / 2 {
        assert_eq!(with_key("awy_x").send(to).await.status, 401, "{number}");
        assert_eq!(with_key(&unknown).send(to).await.status, 401, "{number}");
        assert_eq!(client.rpc("ping", json!({})).await.status, 200, "{number}");
    }
    for key in ["awy_x", &unknown] {
        let answer = with_key(key).send(to).await;
        assert_eq!(answer.status, 429, "{}", answer.text());
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
        assert!(!answer.text().contains("jsonrpc"), "{}", answer.text());
        assert_eq!(
            answer.header("content-type"),
            Some("text/plain; charset=utf-8")
        );
    }
    assert_eq!(client.rpc("ping", json!({})).await.status, 200);
    // A request without a credential is how clients fetch the challenge, so it does not count.
    assert_eq!(call().send(to).await.status, 401);
    let elsewhere = send_from([127, 0, 0, 2], &with_key("awy_x"), to).await;
    assert_eq!(elsewhere.status, 401);

    let metrics = Request::new("GET", "/metrics").send(stack.admin()).await;
    let text = metrics.text();
    for (reason, count) in [("malformed", 31), ("unknown", 30), ("throttled", 2)] {
        let line =
            format!(r#"archway_gateway_failed_credentials_total{{reason="{reason}"}} {count}"#);
        assert!(text.lines().any(|own| own == line), "{line} in {text}");
    }
    assert!(!text.contains("127.0.0"), "{text}");
}

#[tokio::test]
async fn requests_without_a_credential_are_not_counted() {
    let (_stack, client) = gateway("").await;
    for _ in 0..=MOST {
        assert_eq!(call().send(client.address()).await.status, 401);
    }
    let answer = with_key("awy_x").send(client.address()).await;
    assert_eq!(answer.status, 401);
}

#[tokio::test]
async fn a_stranger_can_not_choose_the_address_that_it_is_counted_by() {
    let (_stack, client) = gateway("").await;
    let to = client.address();
    for number in 0..MOST {
        let forged = format!("198.51.100.{number}");
        let answer = with_key("awy_x").header("X-Forwarded-For", &forged);
        assert_eq!(answer.send(to).await.status, 401, "{number}");
    }
    assert_eq!(with_key("awy_x").send(to).await.status, 429);
}

#[tokio::test]
async fn behind_a_trusted_proxy_each_client_is_counted_by_itself() {
    let (_stack, client) = gateway("127.0.0.1").await;
    let to = client.address();
    let from = |forwarded: &str| with_key("awy_x").header("X-Forwarded-For", forwarded);
    exhaust(&from("203.0.113.1"), to).await;
    // Entries further left are the client's own claim.
    assert_eq!(from("198.51.100.1, 203.0.113.1").send(to).await.status, 429);
    assert_eq!(from("203.0.113.2").send(to).await.status, 401);
    exhaust(&from("2001:db8::1"), to).await;
    assert_eq!(from("2001:db8::ffff:1").send(to).await.status, 429);
    assert_eq!(from("2001:db8:0:1::1").send(to).await.status, 401);
    // The proxy's own address, and a client that is no proxy.
    assert_eq!(with_key("awy_x").send(to).await.status, 401);
    let forged = send_from([127, 0, 0, 2], &from("203.0.113.1"), to).await;
    assert_eq!(forged.status, 401);
}
