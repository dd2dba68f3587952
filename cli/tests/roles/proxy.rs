//! A proxy before a gateway: it may refuse first, and may terminate TLS.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::http::Connection;
use crate::self_signed::SelfSigned;

/// A proxy that serves a given number of requests.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    serving: JoinHandle<()>,
}

impl Proxy {
    /// Refuses one request with each of these statuses, then forwards one to the gateway.
    pub(crate) fn refusing(statuses: &'static [&'static str], gateway: &str) -> Proxy {
        let gateway = gateway.to_owned();
        Proxy::open(move |listener| {
            for status in statuses {
                let (mut socket, _) = listener.accept().unwrap();
                request(&mut socket);
                write!(
                    socket,
                    "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
                .unwrap();
            }
            let (mut socket, _) = listener.accept().unwrap();
            relay(&mut socket, &gateway);
        })
    }

    /// Forwards one request to the gateway, received by TLS under a certificate for `localhost`.
    pub(crate) fn secured(tls: Arc<ServerConfig>, gateway: &str) -> Proxy {
        let gateway = gateway.to_owned();
        Proxy::open(move |listener| {
            let (socket, _) = listener.accept().unwrap();
            let connection = ServerConnection::new(tls).unwrap();
            let mut socket = StreamOwned::new(connection, socket);
            relay(&mut socket, &gateway);
            socket.conn.send_close_notify();
            socket.flush().unwrap();
        })
    }

    fn open(serve: impl FnOnce(TcpListener) + Send + 'static) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Proxy {
            port: listener.local_addr().unwrap().port(),
            serving: std::thread::spawn(move || serve(listener)),
        }
    }

    /// Asserts that all requests were made.
    pub(crate) fn was_passed(self) {
        self.serving.join().unwrap();
    }
}

/// The TLS configuration and the file of a new self-signed certificate for `localhost`.
pub(crate) fn identity(folder: &Path) -> (Arc<ServerConfig>, PathBuf) {
    archway::tls::choose_cryptography();
    let SelfSigned { certificate, key } = SelfSigned::make(folder);
    let chain = vec![CertificateDer::from_pem_file(&certificate).unwrap()];
    let key = PrivateKeyDer::from_pem_file(&key).unwrap();
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(chain, key).unwrap();
    (Arc::new(config), certificate)
}

/// Forwards a request to the gateway, and its response back.
fn relay(socket: &mut (impl Read + Write), gateway: &str) {
    let request = request(socket);
    let mut connection = Connection::open(gateway).unwrap();
    let answer = connection.exchange(&request).unwrap();
    write!(
        socket,
        "HTTP/1.1 {} \r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{}",
        answer.status,
        answer.body.len(),
        answer.body
    )
    .unwrap();
}

/// Reads a whole request: closing earlier could break the connection before the response arrives.
fn request(socket: &mut impl Read) -> String {
    let mut reader = BufReader::new(socket);
    let mut request = String::new();
    while !request.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut request).unwrap() > 0, "{request}");
    }
    let head = request.to_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap();
    let length: usize = length.lines().next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    request + std::str::from_utf8(&body).unwrap()
}
