//! A client that costs next to nothing: one connection, one prepared request, over and over.

use tokio::time::Instant;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// One HTTP/1.1 connection.
pub struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl Client {
    /// Connects to `http://host:port/path`, to post `body` there as often as asked.
    pub async fn connect(url: &str, key: &str, body: &str) -> Client {
        let (host, path) = url
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once('/'))
            .expect("an http URL with a path");
        let stream = TcpStream::connect(host).await.expect("the server listens");
        stream.set_nodelay(true).expect("TCP");
        let request = format!(
            "POST /{path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Client {
            stream,
            request: request.into_bytes(),
            buffer: Vec::with_capacity(64 << 10),
        }
    }

    /// The handle of a session, opened by `initialize` over a connection of its own.
    pub async fn open_session(url: &str, key: &str) -> String {
        let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
        let mut client = Client::connect(url, key, initialize).await;
        client.post().await;
        let answer = String::from_utf8_lossy(&client.buffer).to_ascii_lowercase();
        let at = answer.find("mcp-session-id: ").expect("a session") + "mcp-session-id: ".len();
        // A handle's letters have cases.
        let rest = &client.buffer[at..];
        let end = rest.iter().position(|byte| *byte == b'\r');
        String::from_utf8_lossy(&rest[..end.expect("a header's end")]).into_owned()
    }

    /// Has every request carry this header, too.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Client {
        let line = format!("\r\n{name}: {value}");
        let end = self.request.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.expect("a request has a head");
        self.request.splice(end..end, line.into_bytes());
        self
    }

    /// Posts once; the body that came back.
    pub async fn post(&mut self) -> &[u8] {
        self.stream
            .write_all(&self.request)
            .await
            .expect("the connection holds");
        self.buffer.clear();
        loop {
            let read = self
                .stream
                .read_buf(&mut self.buffer)
                .await
                .expect("the connection holds");
            assert!(read > 0, "the server closed the connection");
            if let Some((head, end)) = whole(&self.buffer) {
                assert!(
                    self.buffer.starts_with(b"HTTP/1.1 200"),
                    "{}",
                    String::from_utf8_lossy(&self.buffer)
                );
                return &self.buffer[head..end];
            }
        }
    }

    /// Posts `times` times; how long each took, in milliseconds.
    pub async fn time(&mut self, times: usize) -> Vec<f64> {
        let mut taken = Vec::with_capacity(times);
        for _ in 0..times {
            let started = Instant::now();
            self.post().await;
            taken.push(started.elapsed().as_secs_f64() * 1e3);
        }
        taken
    }
}

/// Where the body begins and ends, once all of it is there.
fn whole(response: &[u8]) -> Option<(usize, usize)> {
    let head = response.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let headers = std::str::from_utf8(&response[..head])
        .ok()?
        .to_ascii_lowercase();
    let length = headers
        .split_once("content-length: ")?
        .1
        .split_once("\r\n")?
        .0;
    let end = head + length.parse::<usize>().ok()?;
    (response.len() >= end).then_some((head, end))
}
