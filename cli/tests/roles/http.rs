//! HTTP as the tests of the roles speak it: one request a connection, written by hand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::role::PATIENCE;

/// An HTTP answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

pub(crate) fn get(address: &str, path: &str) -> std::io::Result<Answer> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    exchange(address, &request)
}

/// A call. It does not ask for the connection's end: whether it comes is the gateway's choice.
pub(crate) fn post(
    address: &str,
    key: &str,
    tool: &str,
    arguments: &str,
) -> std::io::Result<Answer> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    );
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    exchange(address, &request)
}

fn exchange(address: &str, request: &str) -> std::io::Result<Answer> {
    let mut socket = TcpStream::connect(address)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.write_all(request.as_bytes())?;
    let mut reader = BufReader::new(socket);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    let head = head.to_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head.split("content-length: ").nth(1);
    let mut body = String::new();
    match length.and_then(|rest| rest.lines().next()) {
        Some(length) => {
            let length = length.parse().unwrap();
            reader.take(length).read_to_string(&mut body)?;
        }
        None => {
            reader.read_to_string(&mut body)?;
        }
    }
    Ok(Answer { status, head, body })
}
