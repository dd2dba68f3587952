//! The same bounds over HTTP/2, which a client may speak on the same port.

use e2e::Client;
use http_body_util::{BodyExt, Full};
use hyper::{Request, body::Bytes, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use super::{bearer, gateway, hello};

type Sender = http2::SendRequest<Full<Bytes>>;

async fn connect(client: &Client) -> Sender {
    let socket = TcpStream::connect(client.address()).await.unwrap();
    let io = TokioIo::new(socket);
    let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
    // Ends when the sender is dropped, which reports how.
    tokio::spawn(async move { connection.await.ok() });
    sender
}

fn posting(client: &Client) -> http::request::Builder {
    Request::post(format!("http://{}/mcp", client.address()))
        .header("authorization", bearer(client))
        .header("content-type", "application/json")
}

/// Status and body.
async fn send(sender: &mut Sender, request: http::request::Builder) -> (u16, String) {
    let request = request.body(Full::from(hello())).unwrap();
    let response = sender.send_request(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.into()).unwrap())
}

#[tokio::test]
async fn too_many_or_too_long_headers_are_refused_and_the_connection_goes_on() {
    let (_stack, client) = gateway().await;
    let mut sender = connect(&client).await;
    let many = |count: usize| {
        // Two of its own, and the length.
        (3..count).fold(posting(&client), |r, n| r.header(format!("x-{n}"), "x"))
    };
    let long = |length: usize| posting(&client).header("x-long", "x".repeat(length));
    for (request, status) in [
        (many(101), 431),
        (many(100), 200),
        (long(33 << 10), 431),
        (long(30 << 10), 200),
    ] {
        let (found, body) = send(&mut sender, request).await;
        assert_eq!(found, status, "{body}");
        assert!(status == 200 || !body.contains("jsonrpc"), "{body}");
    }
}

#[tokio::test]
async fn names_and_credentials_are_checked_as_in_http1() {
    let (_stack, client) = gateway().await;
    let mut sender = connect(&client).await;
    for (request, status) in [
        (Request::post("http://evil.example/mcp"), 403),
        (posting(&client).header("host", "evil.example"), 403),
        (
            posting(&client).header("origin", "https://evil.example"),
            403,
        ),
        (Request::post(format!("http://{}/", client.address())), 404),
        (
            Request::post(format!("http://{}/mcp", client.address())),
            401,
        ),
        (posting(&client), 200),
    ] {
        let (found, body) = send(&mut sender, request).await;
        assert_eq!(found, status, "{body}");
    }
}
