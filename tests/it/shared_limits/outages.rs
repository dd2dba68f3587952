//! Outages of the store, of every kind: each call is answered, and none waits for the store twice.

use archway_gateway::WhenDown;
use tokio::{io::AsyncWriteExt, net::TcpListener, sync::Notify};

use super::*;

#[tokio::test]
async fn a_store_that_is_killed_under_load_fails_no_call() {
    let mut redis = RedisServer::start().await;
    let stack = gateways(3, &redis.url()).start().await;
    set(&stack, "key", "hello", 60_000).await;
    until_up(&stack, 1).await;
    let (began, calls) = (Notify::new(), 40);
    let load = clients(&stack)
        .into_iter()
        .cycle()
        .take(9)
        .map(async |client| {
            for _ in 0..calls {
                assert!(was_admitted(&call(&client, "hello").await));
                began.notify_one();
            }
        });
    let kill = async {
        began.notified().await;
        redis.kill();
    };
    tokio::join!(join_all(load), kill);
    until_up(&stack, 0).await;
    let fallbacks = sum(&stack, "limit_fallbacks_total{mode=\"shares\"}").await;
    assert!(fallbacks > 100.0, "{fallbacks}");
    redis.restart().await;
    until_up(&stack, 1).await;
    let before = sum(&stack, "limit_fallbacks").await;
    assert!(was_admitted(&call(&stack.client("acme"), "hello").await));
    assert_eq!(sum(&stack, "limit_fallbacks").await, before);
}

#[tokio::test]
async fn without_the_store_each_gateway_grants_its_share_of_a_limit() {
    let mut redis = RedisServer::start().await;
    let stack = gateways(3, &redis.url()).start().await;
    set(&stack, "key", "hello", 60).await;
    until_up(&stack, 1).await;
    let clients = clients(&stack);
    assert_once(60.0, admitted(&clients, 1).await);
    redis.kill();
    until_up(&stack, 0).await;
    // Without a name to count gateways by, each assumes to be the only one.
    for client in &clients {
        assert_once(60.0, admitted(std::slice::from_ref(client), 2).await);
    }
    redis.restart().await;
    until_up(&stack, 1).await;
    assert_once(60.0, admitted(&clients, 1).await);
}

#[tokio::test]
async fn a_store_that_hangs_is_waited_for_once() {
    let redis = RedisServer::start().await;
    let harness =
        gateways(1, &redis.url()).configure(|config| config.limits.limits_timeout = 3_000);
    let stack = harness.start().await;
    set(&stack, "key", "hello", 60_000).await;
    until_up(&stack, 1).await;
    let client = stack.client("acme");
    assert!(was_admitted(&call(&client, "hello").await));
    redis.freeze();
    let began = Instant::now();
    let in_flight = (0..8).map(|_| call(&client, "hello"));
    assert!(join_all(in_flight).await.iter().all(was_admitted));
    let waited = began.elapsed();
    assert!(waited < Duration::from_secs(9), "{waited:?}");
    let began = Instant::now();
    for _ in 0..20 {
        assert!(was_admitted(&call(&client, "hello").await));
    }
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(
        sum(&stack, "limit_store_failures_total{reason=\"timeout\"}").await,
        1.0
    );
    redis.thaw();
    until_up(&stack, 1).await;
}

#[tokio::test]
async fn a_fail_closed_gateway_refuses_uncounted_calls_and_is_not_ready() {
    let mut redis = RedisServer::start().await;
    let harness = Harness::new().tenant(acme().limited()).configure(|config| {
        config.limits.limits_url = Some(redis.url().into());
        config.limits.limits_when_down = WhenDown::Closed;
        config.limits.limits_timeout = PATIENT;
    });
    let stack = harness.start().await;
    until_up(&stack, 1).await;
    let ready = async || Request::new("GET", "/readyz").send(stack.admin()).await;
    assert_eq!(ready().await.status, 200);
    let client = stack.client("acme");
    assert!(was_admitted(&call(&client, "hello").await));
    redis.kill();
    until_up(&stack, 0).await;
    // Before any message: load balancers send it none.
    let told = metrics(stack.admin()).await;
    for line in ["limit_store_up{mode=\"closed\"} 0\n", "ready 0\n"] {
        let line = format!("archway_gateway_{line}");
        assert!(told.contains(&line), "{line} in {told}");
    }
    for client in [client.clone(), client.clone().modern()] {
        let answer = call(&client, "hello").await;
        let error = &answer.json()["result"]["_meta"]["io.archway/error"]["error"];
        assert_eq!(
            (answer.status, &error["code"]),
            (200, &json!("unavailable"))
        );
        assert_eq!(error["details"]["retry_after_seconds"], 1);
        assert_eq!(answer.header("retry-after"), Some("1"));
        let other = client.rpc("tools/list", json!({})).await;
        assert_eq!(
            (other.status, other.header("retry-after")),
            (503, Some("1"))
        );
    }
    let refused = ready().await;
    assert_eq!(refused.status, 503);
    assert!(
        refused.text().contains("store of limits"),
        "{}",
        refused.text()
    );
    redis.restart().await;
    until_up(&stack, 1).await;
    assert!(was_admitted(&call(&client, "hello").await));
    assert_eq!(ready().await.status, 200);
}

#[tokio::test]
async fn a_gateway_that_fails_open_limits_nothing_meanwhile() {
    let mut redis = RedisServer::start().await;
    let harness = gateways(1, &redis.url());
    let harness = harness.configure(|config| config.limits.limits_when_down = WhenDown::Open);
    let stack = harness.start().await;
    set(&stack, "key", "hello", 1).await;
    until_up(&stack, 1).await;
    let client = stack.client("acme");
    assert!(was_admitted(&call(&client, "hello").await));
    assert!(!was_admitted(&call(&client, "hello").await));
    redis.kill();
    until_up(&stack, 0).await;
    for _ in 0..5 {
        let answer = call(&client, "hello").await;
        assert!(was_admitted(&answer) && answer.header("ratelimit").is_none());
    }
    assert_eq!(
        Request::new("GET", "/readyz")
            .send(stack.admin())
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn a_store_that_refuses_to_count_is_avoided_until_it_recovers() {
    let redis = RedisServer::start().await;
    let stack = gateways(1, &redis.url()).start().await;
    set(&stack, "key", "hello", 60_000).await;
    until_up(&stack, 1).await;
    let client = stack.client("acme");
    for (off, on) in [
        ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"),
        ("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"),
    ] {
        assert!(was_admitted(&call(&client, "hello").await));
        let before = sum(&stack, "limit_store_failures_total{reason=\"refused\"}").await;
        assert_eq!(redis.ask(off).await, "+OK");
        assert!(was_admitted(&call(&client, "hello").await));
        until_up(&stack, 0).await;
        assert!(was_admitted(&call(&client, "hello").await));
        let after = sum(&stack, "limit_store_failures_total{reason=\"refused\"}").await;
        assert!(after > before, "{off}");
        assert_eq!(redis.ask(on).await, "+OK");
        until_up(&stack, 1).await;
    }
}

#[tokio::test]
async fn the_stores_password_is_sent_to_the_store_only() {
    let redis = RedisServer::with_password("swordfish-7").await;
    let stack = gateways(1, &redis.url()).start().await;
    until_up(&stack, 1).await;
    assert!(!metrics(stack.admin()).await.contains("swordfish"));
    for wrong in ["swordfish-8", ""] {
        let url = redis.url().replace("swordfish-7", wrong);
        let stack = gateways(1, &url).start().await;
        let refused = "limit_store_failures_total{reason=\"refused\"}";
        let told = async || (sum(&stack, refused).await > 0.0).then_some(());
        stack.eventually(told).await;
        assert!(was_admitted(&call(&stack.client("acme"), "hello").await));
        assert!(!metrics(stack.admin()).await.contains("swordfish"));
    }
}

#[tokio::test]
async fn a_port_with_another_protocol_counts_as_an_unreachable_store() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let talking = tokio::spawn(async move {
        let mut kept = Vec::new();
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            socket
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .await
                .unwrap();
            kept.push(socket);
        }
    });
    let stack = gateways(1, &url).start().await;
    let told = async || {
        let garbage = sum(&stack, "limit_store_failures_total{reason=\"garbage\"}").await;
        (garbage > 0.0).then_some(())
    };
    stack.eventually(told).await;
    assert!(was_admitted(&call(&stack.client("acme"), "hello").await));
    talking.abort();
}
