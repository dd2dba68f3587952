//! The limit on connections: a connection over it waits, and is then served.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::stacks::{build_workerless_stack, serve};

const PATIENCE: Duration = Duration::from_secs(20);

/// Sends `HEAD` over an open connection. Returns the status line; the answer has no body.
async fn ask(socket: &mut TcpStream) -> String {
    let request = b"HEAD /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n";
    socket.write_all(request).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let read = timeout(PATIENCE, socket.read_buf(&mut head)).await;
        assert_ne!(read.unwrap().unwrap(), 0, "closed");
    }
    let head = String::from_utf8(head).unwrap();
    head.lines().next().unwrap().to_owned()
}

#[tokio::test]
async fn a_connection_over_the_limit_is_served_once_another_ends() {
    const REFUSED: &str = "HTTP/1.1 405 Method Not Allowed";
    let (stack, _key, metrics) = build_workerless_stack().await;
    let address = serve(stack, &metrics, 1, CancellationToken::new()).await;
    let mut first = TcpStream::connect(address).await.unwrap();
    assert_eq!(ask(&mut first).await, REFUSED);
    let second = tokio::spawn(async move {
        let mut socket = TcpStream::connect(address).await.unwrap();
        ask(&mut socket).await
    });
    // The first connection is served as before while the second waits.
    for _ in 0..50 {
        assert_eq!(ask(&mut first).await, REFUSED);
    }
    assert!(!second.is_finished());
    drop(first);
    assert_eq!(second.await.unwrap(), REFUSED);
}
