//! A client that costs almost nothing: one connection, one prepared request, sent repeatedly.

use tokio::time::Instant;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A response.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Where the body begins in the received bytes.
    head: usize,
    /// Whether the connection accepts no more requests.
    pub closes: bool,
}

/// One HTTP/1.1 connection.
pub struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl Client {
    /// Connects to `http://host:port/path`, to post `body` there repeatedly.
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

    /// The handle of a new session, opened by `initialize` over a separate connection.
    pub async fn open_session(url: &str, key: &str) -> String {
        let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
        Client::connect(url, key, initialize).await.opened().await
    }

    /// Posts an `initialize`. Returns the handle of the new session.
    pub async fn opened(&mut self) -> String {
        self.post().await;
        let answer = String::from_utf8_lossy(&self.buffer).to_ascii_lowercase();
        let at = answer.find("mcp-session-id: ").expect("a session") + "mcp-session-id: ".len();
        // Handles are case-sensitive.
        let rest = &self.buffer[at..];
        let end = rest.iter().position(|byte| *byte == b'\r');
        String::from_utf8_lossy(&rest[..end.expect("a header's end")]).into_owned()
    }

    /// Sets a header of later requests, replacing one of the same name.
    pub fn set_header(&mut self, name: &str, value: &str) {
        let line = format!("\r\n{name}: ");
        let line = line.as_bytes();
        let head = self.request.windows(4).position(|four| four == b"\r\n\r\n");
        let head = head.expect("a request has a head");
        let start = self.request[..head]
            .windows(line.len())
            .position(|some| some == line);
        let start = start.unwrap_or(head);
        let rest = &self.request[(start + 2).min(self.request.len())..];
        let length = rest.windows(2).position(|two| two == b"\r\n").unwrap_or(0);
        let end = if start == head {
            head
        } else {
            start + 2 + length
        };
        let new = [line, value.as_bytes()].concat();
        self.request.splice(start..end, new);
    }

    /// Sets the body of later requests.
    pub fn set_body(&mut self, body: &str) {
        self.set_header("Content-Length", &body.len().to_string());
        let head = self.request.windows(4).position(|four| four == b"\r\n\r\n");
        let head = head.expect("a request has a head");
        self.request.truncate(head + 4);
        self.request.extend_from_slice(body.as_bytes());
    }

    /// Adds a header to every request.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Client {
        self.set_header(name, value);
        self
    }

    /// Posts once. Returns the body, and panics unless the call succeeded.
    pub async fn post(&mut self) -> &[u8] {
        let (status, head) = match self.exchange().await {
            Some(answer) => (answer.status, answer.head),
            None => panic!("the server closed the connection"),
        };
        let answer = String::from_utf8_lossy(&self.buffer);
        let well = status == 200 && !answer.contains("rate_limited");
        assert!(well, "{answer}");
        &self.buffer[head..]
    }

    /// Posts once, whatever the status; `None` if the connection ended first.
    pub async fn exchange(&mut self) -> Option<Answer> {
        let sent = self.stream.write_all(&self.request).await;
        self.buffer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.buffer).await;
            // A server that refuses a body may answer before it has read all of it.
            let ended = !matches!(read, Ok(1..));
            if let Some((head, end)) = whole(&self.buffer) {
                self.buffer.truncate(end);
                let status = self.buffer.get(9..12)?;
                let status = std::str::from_utf8(status).ok()?.parse().ok()?;
                let closes = sent.is_err() || ended || says_close(&self.buffer[..head]);
                return Some(Answer {
                    status,
                    head,
                    closes,
                });
            }
            if ended {
                return None;
            }
        }
    }

    /// The head of the last response, in lower case.
    pub fn head(&self, answer: Answer) -> String {
        String::from_utf8_lossy(&self.buffer[..answer.head]).to_ascii_lowercase()
    }

    /// The body of the last response, as text.
    pub fn body(&self, answer: Answer) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.buffer[answer.head..])
    }

    /// Posts `times` times. Returns each duration in milliseconds.
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

fn says_close(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    head.contains("\r\nconnection: close")
}

/// Where the body begins and ends, once it is complete.
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
