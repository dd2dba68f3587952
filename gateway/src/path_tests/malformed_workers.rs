//! Workers that send garbage: the gateway survives, and healthy workers answer.

use std::{convert::Infallible, net::SocketAddr};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Response, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{io::AsyncWriteExt, net::TcpListener};

use super::fleet::{Fleet, code};

/// Listens, sends these bytes to everyone, and closes.
async fn babbling(words: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            socket.write_all(words).await.ok();
        }
    });
    address
}

/// HTTP/2 that answers every call with this gRPC body.
async fn misframing(body: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = async move |_request| {
        let response = Response::builder().header("content-type", "application/grpc");
        let body = Full::new(Bytes::from_static(body));
        Ok::<_, Infallible>(response.body(body).unwrap())
    };
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let serving = http2::Builder::new(TokioExecutor::new());
            let serving = serving.serve_connection(TokioIo::new(socket), service_fn(answer));
            tokio::spawn(serving);
        }
    });
    address
}

async fn nonsense() -> [SocketAddr; 5] {
    [
        babbling(b"").await,
        babbling(b"HTTP/1.1 400 Bad Request\r\n\r\n").await,
        babbling(&[0xff; 64]).await,
        // A frame of four bytes that are not a message.
        misframing(b"\x00\x00\x00\x00\x04\xff\xff\xff\xff").await,
        // Shorter than the frame declares.
        misframing(b"\x00\x00\x00\xff\xff{").await,
    ]
}

#[tokio::test]
async fn a_healthy_worker_is_found_among_malformed_ones() {
    let fleet = Fleet::with_others(1, &nonsense().await).await;
    for _ in 0..10 {
        let result = fleet.call("echo", 1).await;
        assert!(result["structuredContent"].is_object(), "{result}");
    }
}

#[tokio::test]
async fn malformed_workers_alone_yield_a_failure_for_the_agent() {
    let fleet = Fleet::with_others(1, &nonsense().await).await;
    fleet.members[0].door.close();
    fleet.ready(0).await;
    // Fewer calls than open a circuit.
    for _ in 0..4 {
        let result = fleet.call("echo", 1).await;
        assert!(
            matches!(code(&result), "unavailable" | "internal_error"),
            "{result}"
        );
    }
    fleet.members[0].door.open().await;
    fleet.ready(1).await;
    let result = fleet.call("echo", 1).await;
    assert!(result["structuredContent"].is_object(), "{result}");
}

#[tokio::test]
async fn a_result_that_is_not_json_fails_only_that_call() {
    let fleet = Fleet::of(1).await;
    assert_eq!(code(&fleet.call("no_json", 1).await), "internal_error");
    assert_eq!(
        fleet.count(r#"upstream_connections_lost_total{pool="shared"}"#),
        0
    );
}
