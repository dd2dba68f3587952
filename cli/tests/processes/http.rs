//! HTTP for these tests: hand-written requests over a connection that can be reused.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::TcpStream;

use crate::role::PATIENCE;

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// A connection for consecutive requests.
pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) fn open(address: &str) -> std::io::Result<Connection> {
        let socket = TcpStream::connect(address)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_nodelay(true)?;
        let reader = BufReader::new(socket);
        Ok(Connection { reader })
    }

    /// Sends a request and reads the response.
    pub(crate) fn exchange(&mut self, request: &str) -> std::io::Result<HttpResponse> {
        self.reader.get_mut().write_all(request.as_bytes())?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.reader.read_line(&mut head)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        let head = head.to_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let body = self.body(&head)?;
        Ok(HttpResponse { status, head, body })
    }

    fn body(&mut self, head: &str) -> std::io::Result<String> {
        let length = head.split("content-length: ").nth(1);
        let mut body = String::new();
        match length.and_then(|rest| rest.lines().next()) {
            Some(length) => {
                let length: usize = length.parse().map_err(Error::other)?;
                let mut bytes = vec![0; length];
                self.reader.read_exact(&mut bytes)?;
                body = String::from_utf8(bytes).map_err(Error::other)?;
            }
            None => {
                self.reader.read_to_string(&mut body)?;
            }
        }
        Ok(body)
    }
}

pub(crate) fn get(address: &str, path: &str) -> std::io::Result<HttpResponse> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    Connection::open(address)?.exchange(&request)
}

/// A message as a request. It does not ask to close the connection: the gateway decides.
pub(crate) fn message(key: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A tool call as a message.
pub(crate) fn tool_call(id: u64, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}
