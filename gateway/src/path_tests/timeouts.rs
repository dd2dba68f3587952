//! The timeouts of a connection, through hyper and the whole stack, over an in-memory socket with
//! paused time.

use std::{convert::Infallible, net::Ipv4Addr, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    response::Response,
};
use futures::stream;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prometheus_client::metrics::{counter::Counter, gauge::Gauge};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::{service_fn, util::BoxCloneSyncService};

use super::stacks::build_workerless_stack;
use crate::{
    auth::Peer,
    server::{self, ClientConnection, Stack},
};

/// The start of an HTTP/2 client: the preface, and settings that change nothing.
const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const PING: &[u8] = b"\0\0\x08\x06\0\0\0\0\0........";
const SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";

/// A connection to a gateway without workers, and a valid key.
async fn connect() -> (DuplexStream, String) {
    let (stack, key, _metrics) = build_workerless_stack().await;
    (ServedConnection::by(stack).await.socket, key)
}

/// A served connection, with handles to watch and end it.
struct ServedConnection {
    socket: DuplexStream,
    open: Gauge,
    shutdown: CancellationToken,
}

impl ServedConnection {
    async fn by(stack: Stack) -> ServedConnection {
        let (open, shutdown) = (Gauge::default(), CancellationToken::new());
        let client = ClientConnection {
            peer: Peer(Ipv4Addr::LOCALHOST.into()),
            stack,
            permit: Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap(),
            idle: server::CLIENTS_IDLE,
            open: open.clone(),
            ended: Counter::default(),
            shutdown: shutdown.clone(),
        };
        let (socket, theirs) = duplex(64 << 10);
        let served = server::serve_connection(
            Arc::new(server::builder(Counter::default())),
            theirs,
            client,
        );
        tokio::spawn(served);
        while open.get() == 0 {
            tokio::task::yield_now().await;
        }
        ServedConnection {
            socket,
            open,
            shutdown,
        }
    }

    /// Waits until the gateway has ended the connection. Returns how long that took.
    async fn closed(&self) -> Duration {
        let start = Instant::now();
        let gone = async {
            while self.open.get() > 0 {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(1000), gone).await.unwrap();
        start.elapsed()
    }
}

/// A stack that answers every request with three pieces, one every `pause`.
fn answering(piece: Bytes, pause: Duration) -> Stack {
    BoxCloneSyncService::new(service_fn(move |_request: Request| {
        let piece = piece.clone();
        let pieces = stream::unfold(0, move |sent| {
            let piece = piece.clone();
            async move {
                sleep(pause).await;
                (sent < 3).then_some((Ok::<_, Infallible>(piece), sent + 1))
            }
        });
        async { Ok(Response::new(Body::from_stream(pieces))) }
    }))
}

/// Sends `pieces`, three seconds apart, for as long as the gateway accepts them. Returns what came
/// back until it closed the connection, and how long that took.
async fn talk(socket: DuplexStream, pieces: &[&str]) -> (String, Duration) {
    let start = Instant::now();
    let (mut reading, mut writing) = tokio::io::split(socket);
    let sending = async {
        for piece in pieces {
            if writing.write_all(piece.as_bytes()).await.is_err() {
                return;
            }
            sleep(Duration::from_secs(3)).await;
        }
        std::future::pending::<()>().await;
    };
    let mut answer = String::new();
    tokio::select! {
        read = reading.read_to_string(&mut answer) => { read.unwrap(); }
        () = sending => {}
    }
    (answer, start.elapsed())
}

#[track_caller]
fn assert_about(took: Duration, seconds: u64) {
    let expected = Duration::from_secs(seconds);
    let slack = Duration::from_millis(100);
    assert!((expected..expected + slack).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn slowly_sent_headers_are_cut_off_after_10_seconds() {
    let (socket, _key) = connect().await;
    let drip = ["POST /mcp HTTP/1.1\r\n", "Ho", "st", ": ", "lo", "ca", "l"];
    let (answer, took) = talk(socket, &drip).await;
    assert_eq!(answer, "");
    assert_about(took, 10);
}

#[tokio::test(start_paused = true)]
async fn a_slowly_sent_body_is_refused_after_15_seconds() {
    let (socket, key) = connect().await;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    );
    let drip = [&head, "{", "\"", "i", "d", "\"", ":", "1", ","];
    let (answer, took) = talk(socket, &drip).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(!answer.contains("jsonrpc"), "{answer}");
    assert_about(took, 15);
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_after_75_seconds_used_or_not() {
    let (fresh, _key) = connect().await;
    let (answer, took) = talk(fresh, &[]).await;
    assert_eq!(answer, "");
    assert_about(took, 75);

    let (used, _key) = connect().await;
    let (answer, took) = talk(used, &["GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"]).await;
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    assert_about(took, 75);
}

#[tokio::test(start_paused = true)]
async fn an_http2_connection_without_requests_is_idle_despite_pings() {
    for said in [&b""[..], PING, SETTINGS] {
        let (socket, _key) = connect().await;
        let start = Instant::now();
        let (mut reading, mut writing) = tokio::io::split(socket);
        writing.write_all(HELLO).await.unwrap();
        let talk = async {
            while writing.write_all(said).await.is_ok() {
                sleep(Duration::from_secs(5)).await;
            }
            std::future::pending::<()>().await;
        };
        let mut frames = Vec::new();
        tokio::select! {
            read = reading.read_to_end(&mut frames) => { read.unwrap(); }
            () = talk => {}
        }
        assert_about(start.elapsed(), 75);
        // Every frame was answered.
        assert!(frames.len() >= 15 * said.len(), "{}", frames.len());
    }
}

const SLOW: Duration = Duration::from_secs(100);

#[tokio::test(start_paused = true)]
async fn a_streamed_answer_may_pause_longer_than_the_idle_timeout() {
    let served = ServedConnection::by(answering(Bytes::from_static(b"piece"), SLOW)).await;
    let ask = ["GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"];
    let (answer, took) = talk(served.socket, &ask).await;
    assert_eq!(answer.matches("piece").count(), 3, "{answer}");
    assert!(answer.ends_with("0\r\n\r\n"), "{answer}");
    assert_about(took, 4 * 100 + 75);
}

#[tokio::test(start_paused = true)]
async fn headers_begun_during_an_answer_have_10_seconds_from_its_end() {
    let piece = Bytes::from_static(b"piece");
    let served = ServedConnection::by(answering(piece, Duration::from_secs(5))).await;
    let pieces = ["GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET / HT"];
    let (answer, took) = talk(served.socket, &pieces).await;
    assert!(answer.ends_with("0\r\n\r\n"), "{answer}");
    assert_about(took, 4 * 5 + 10);
}

#[tokio::test(start_paused = true)]
async fn a_body_read_after_its_head_does_not_start_the_next_header_timeout() {
    let (socket, key) = connect().await;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: 2\r\n\r\n"
    );
    let (answer, took) = talk(socket, &[&head, "{}"]).await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_about(took, 3 + 75);
}

#[tokio::test(start_paused = true)]
async fn after_a_streamed_http2_answer_the_connection_is_idle() {
    let served = ServedConnection::by(answering(Bytes::from_static(b"piece"), SLOW)).await;
    let io = TokioIo::new(served.socket);
    let shaken = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
    let (mut sender, connection) = shaken.unwrap();
    let connection = tokio::spawn(connection);
    let request = hyper::Request::get("http://localhost/").body(Empty::<Bytes>::new());
    let start = Instant::now();
    let answer = sender.send_request(request.unwrap()).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "piece".repeat(3));
    assert_about(start.elapsed(), 4 * 100);
    // The result is irrelevant: the gateway may close without GOAWAY.
    connection.await.unwrap().ok();
    assert_about(start.elapsed(), 4 * 100 + 75);
}

#[tokio::test(start_paused = true)]
async fn an_unread_answer_does_not_keep_its_connection_open() {
    let large = Bytes::from(vec![b'x'; 1 << 20]);
    let mut served = ServedConnection::by(answering(large, Duration::ZERO)).await;
    let ask = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    served.socket.write_all(ask).await.unwrap();
    assert_about(served.closed().await, 30);
}

#[tokio::test(start_paused = true)]
async fn at_shutdown_a_quiet_connection_is_closed_after_a_second() {
    for said in [&b""[..], b"POST /mcp HTTP/1.1\r\nHo", HELLO] {
        let (stack, _key, _metrics) = build_workerless_stack().await;
        let mut served = ServedConnection::by(stack).await;
        served.socket.write_all(said).await.unwrap();
        sleep(Duration::from_secs(3)).await;
        served.shutdown.cancel();
        let took = served.closed().await;
        assert!(took < Duration::from_millis(1100), "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn at_shutdown_an_answer_in_flight_is_finished() {
    let piece = Bytes::from_static(b"piece");
    let served = ServedConnection::by(answering(piece, Duration::from_secs(5))).await;
    let end = served.shutdown.clone();
    tokio::spawn(async move {
        sleep(Duration::from_secs(1)).await;
        end.cancel();
    });
    let ask = ["GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"];
    let (answer, took) = talk(served.socket, &ask).await;
    assert_eq!(answer.matches("piece").count(), 3, "{answer}");
    assert!(answer.ends_with("0\r\n\r\n"), "{answer}");
    assert_about(took, 4 * 5);
}

#[tokio::test]
async fn a_connection_whose_service_panics_is_not_counted_as_open() {
    let stack = service_fn(|_request: Request| async {
        if true {
            panic!("a defect");
        }
        Ok(Response::new(Body::empty()))
    });
    let mut served = ServedConnection::by(BoxCloneSyncService::new(stack)).await;
    let ask = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    served.socket.write_all(ask).await.unwrap();
    let took = served.closed().await;
    assert!(took < Duration::from_secs(20), "{took:?}");
}
