//! HTTP/1.1 over a plain socket: the tests' own client, which sends exactly the given bytes.
//!
//! One request per connection. The client reads the whole answer even if the server answers before it has
//! read the request, as the gateway does for bodies whose declared size it refuses.

use std::{net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// How long a test waits for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request under construction. It adds `Host`, `Connection: close` and, with a body, `Content-Length`,
/// unless a header of that name was given.
#[derive(Clone, Debug)]
pub struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// A request without a body.
    pub fn new(method: &str, path: &str) -> Request {
        let (method, path) = (method.to_owned(), path.to_owned());
        Request {
            method,
            path,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Adds a header. A name may be added twice.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl AsRef<[u8]>) -> Request {
        self.body = body.as_ref().to_owned();
        self
    }

    /// The bytes on the wire.
    pub fn bytes(&self, to: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        let has = |name: &str| {
            self.headers
                .iter()
                .any(|(own, _)| own.eq_ignore_ascii_case(name))
        };
        if !has("host") {
            head += &format!("Host: {to}\r\n");
        }
        if !has("connection") {
            head += "Connection: close\r\n";
        }
        if !has("content-length") && !has("transfer-encoding") && !self.body.is_empty() {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// Sends the request and reads the answer.
    pub async fn send(&self, to: SocketAddr) -> Response {
        send(to, &self.bytes(to)).await
    }
}

/// Sends `bytes` over a new connection and reads one answer.
pub async fn send(to: SocketAddr, bytes: &[u8]) -> Response {
    timeout(PATIENCE, async {
        let mut socket = TcpStream::connect(to).await.expect("the server listens");
        // A server that answered early may have closed its side. The answer still counts.
        socket.write_all(bytes).await.ok();
        Response::read(&mut socket).await
    })
    .await
    .expect("an answer in time")
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// As sent, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// Decoded from chunks.
    pub body: Vec<u8>,
}

impl Response {
    /// Reads one answer. The body ends by its length, its last chunk or the end of the connection.
    pub async fn read(socket: &mut TcpStream) -> Response {
        let mut bytes = Vec::new();
        let head = loop {
            if let Some(end) = find(&bytes, b"\r\n\r\n") {
                break end + 4;
            }
            let read = socket.read_buf(&mut bytes).await.unwrap_or(0);
            assert!(
                read > 0,
                "the connection ended without an answer: {:?}",
                lossy(&bytes)
            );
        };
        let mut body = bytes.split_off(head);
        let mut response = Response::parse_head(&lossy(&bytes));
        if let Some(length) = response.header("content-length") {
            let length: usize = length.parse().unwrap();
            while body.len() < length && socket.read_buf(&mut body).await.unwrap_or(0) > 0 {}
            body.truncate(length);
        } else if response.header("transfer-encoding") == Some("chunked") {
            while find(&body, b"0\r\n\r\n").is_none() {
                if socket.read_buf(&mut body).await.unwrap_or(0) == 0 {
                    break;
                }
            }
            body = unchunk(&body);
        } else {
            while socket.read_buf(&mut body).await.unwrap_or(0) > 0 {}
        }
        response.body = body;
        response
    }

    fn parse_head(head: &str) -> Response {
        let mut lines = head.split("\r\n");
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .expect("a status line");
        let headers = lines.filter_map(|line| line.split_once(':'));
        Response {
            status: status.parse().expect("a status code"),
            headers: headers
                .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
                .collect(),
            body: Vec::new(),
        }
    }

    /// The first header of this name, which must be in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        lossy(&self.body)
    }

    /// The body as JSON: all of it, or the last event of an event stream.
    pub fn json(&self) -> Value {
        let text = self.text();
        let last = text
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .next_back();
        let streams = self
            .header("content-type")
            .is_some_and(|t| t.starts_with("text/event-stream"));
        let json = if streams {
            last.expect("an event")
        } else {
            &text
        };
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }
}

fn unchunk(mut rest: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = find(rest, b"\r\n") {
        let size = usize::from_str_radix(lossy(&rest[..end]).trim(), 16).expect("a chunk's size");
        let start = end + 2;
        if size == 0 || rest.len() < start + size + 2 {
            break;
        }
        whole.extend_from_slice(&rest[start..start + size]);
        rest = &rest[start + size + 2..];
    }
    whole
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .position(|window| window == wanted)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
