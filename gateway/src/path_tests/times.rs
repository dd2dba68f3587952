//! The times of a connection, through hyper and the whole stack, over a socket in memory: with
//! paused time a minute takes none.

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    sync::Semaphore,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::serving::build_lonely_stack;
use crate::{
    auth::Peer,
    server::{self, Client},
};

/// A connection to a gateway without workers, and a good key.
async fn connect() -> (DuplexStream, String) {
    let (stack, key, metrics) = build_lonely_stack().await;
    let client = Client {
        peer: Peer(Ipv4Addr::LOCALHOST.into()),
        stack,
        place: Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap(),
        open: metrics.connections().clone(),
        shutdown: CancellationToken::new(),
    };
    let (ours, theirs) = duplex(64 << 10);
    tokio::spawn(server::converse(
        Arc::new(server::builder()),
        theirs,
        client,
    ));
    (ours, key)
}

/// Sends `pieces`, three seconds apart, for as long as the gateway takes them; what came back
/// until it closed the connection, and how long that took.
async fn converse(socket: DuplexStream, pieces: &[&str]) -> (String, Duration) {
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
async fn headers_that_drip_are_cut_off_after_10_seconds() {
    let (socket, _key) = connect().await;
    let drip = ["POST /mcp HTTP/1.1\r\n", "Ho", "st", ": ", "lo", "ca", "l"];
    let (answer, took) = converse(socket, &drip).await;
    assert_eq!(answer, "");
    assert_about(took, 10);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_drips_is_refused_after_15_seconds() {
    let (socket, key) = connect().await;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    );
    let drip = [&head, "{", "\"", "i", "d", "\"", ":", "1", ","];
    let (answer, took) = converse(socket, &drip).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(!answer.contains("jsonrpc"), "{answer}");
    assert_about(took, 15);
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_closed_after_75_seconds_used_or_not() {
    let (fresh, _key) = connect().await;
    let (answer, took) = converse(fresh, &[]).await;
    assert_eq!(answer, "");
    assert_about(took, 75);

    let (used, _key) = connect().await;
    let (answer, took) = converse(used, &["GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"]).await;
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    assert_about(took, 75);
}

#[tokio::test(start_paused = true)]
async fn a_http2_connection_that_says_nothing_is_idle() {
    let (socket, _key) = connect().await;
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let start = Instant::now();
    let (mut reading, mut writing) = tokio::io::split(socket);
    writing.write_all(preface.as_bytes()).await.unwrap();
    let mut frames = Vec::new();
    reading.read_to_end(&mut frames).await.unwrap();
    assert_about(start.elapsed(), 75);
}
