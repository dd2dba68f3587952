//! One GET over plain HTTP, for commands that ask a running process how it is.
//!
//! Made for the admin ports, on loopback or inside a cluster: no TLS, no redirects, no proxy. The
//! time covers all of it, connecting included, and the body has a bound: what answers there may
//! not be ours.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// The longest body that is read, in bytes.
const LONGEST_BODY: usize = 1024 * 1024;
/// Where an `http` address without a port leads.
const HTTP_PORT: u16 = 80;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpGetError {
    /// Not an address of this kind.
    #[error("{0} is not an address like http://127.0.0.1:9090/readyz")]
    Address(Uri),
    /// Nobody listens there, or its name leads nowhere.
    #[error("connecting to {address}")]
    Connect {
        /// Host and port.
        address: String,
        /// The system's word.
        #[source]
        source: std::io::Error,
    },
    /// What came is not HTTP, or ended too early.
    #[error("asking {address}")]
    Exchange {
        /// Host and port.
        address: String,
        /// hyper's word.
        #[source]
        source: hyper::Error,
    },
    /// The body broke off, or is longer than 1 MiB.
    #[error("reading the answer of {address}")]
    Body {
        /// Host and port.
        address: String,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The time is up.
    #[error("{address} did not answer within {} ms", limit.as_millis())]
    TimedOut {
        /// Host and port.
        address: String,
        /// How long it had.
        limit: Duration,
    },
}

/// Asks `url` once: its status, whatever it is, and its body. It has `limit` for everything.
///
/// # Errors
/// If `url` is no `http` address, or there is no whole answer of at most 1 MiB in time.
pub async fn get(url: &Uri, limit: Duration) -> Result<(StatusCode, String), HttpGetError> {
    let host = url.host().filter(|_| url.scheme_str() == Some("http"));
    let host = host.ok_or_else(|| HttpGetError::Address(url.clone()))?;
    let port = url.port_u16().unwrap_or(HTTP_PORT);
    let address = format!("{host}:{port}");
    tokio::time::timeout(limit, exchange(url, &address))
        .await
        .unwrap_or_else(|_elapsed| Err(HttpGetError::TimedOut { address, limit }))
}

async fn exchange(url: &Uri, at: &str) -> Result<(StatusCode, String), HttpGetError> {
    let address = || at.to_owned();
    let failed = |source| HttpGetError::Exchange {
        address: address(),
        source,
    };
    let socket = TcpStream::connect(at).await;
    let socket = socket.map_err(|source| HttpGetError::Connect {
        address: address(),
        source,
    })?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(socket))
        .await
        .map_err(failed)?;
    let answer = async {
        let response = sender
            .send_request(request(url, at))
            .await
            .map_err(failed)?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, LONGEST_BODY).collect().await;
        let body = body.map_err(|source| HttpGetError::Body {
            address: address(),
            source,
        })?;
        let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        Ok((head.status, text))
    };
    let mut answer = std::pin::pin!(answer);
    // The connection does the reading. Its end may come with the answer's last bytes, or before
    // the answer was taken out of it.
    tokio::select! {
        answer = &mut answer => answer,
        _ended = connection => answer.await,
    }
}

fn request(url: &Uri, host: &str) -> Request<Empty<Bytes>> {
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::new(Empty::new());
    if let Ok(path) = path.parse() {
        *request.uri_mut() = path;
    }
    if let Ok(host) = host.parse() {
        request.headers_mut().insert(header::HOST, host);
    }
    request
        .headers_mut()
        .insert(header::CONNECTION, http::HeaderValue::from_static("close"));
    request
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    /// Serves one connection: reads the request's head, says `answer`; gives the head.
    async fn once(answer: Vec<u8>) -> (Uri, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/readyz?a=b", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(socket.read_u8().await.unwrap());
            }
            // A client that has read enough hangs up.
            socket.write_all(&answer).await.ok();
            String::from_utf8(head).unwrap()
        });
        (url.parse().unwrap(), serving)
    }

    #[tokio::test]
    async fn an_answer_is_given_with_whatever_status_it_has() {
        let answer = b"HTTP/1.1 503 no\r\nContent-Length: 9\r\n\r\ndraining\n";
        let (url, serving) = once(answer.to_vec()).await;
        let (status, body) = get(&url, LIMIT).await.unwrap();
        assert_eq!((status.as_u16(), body.as_str()), (503, "draining\n"));
        let head = serving.await.unwrap().to_lowercase();
        assert!(head.starts_with("get /readyz?a=b http/1.1\r\n"), "{head}");
        let host = format!("host: {}", url.authority().unwrap());
        assert!(head.contains(&host), "{head}");
    }

    #[tokio::test]
    async fn a_body_without_end_is_not_read_for_ever() {
        let mut answer = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        answer.resize(LONGEST_BODY + 4096, b'x');
        let (url, _serving) = once(answer).await;
        assert!(matches!(
            get(&url, LIMIT).await,
            Err(HttpGetError::Body { .. })
        ));
    }

    #[tokio::test]
    async fn silence_ends_with_the_time_and_a_closed_port_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Uri = format!("http://{}", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        let silent = get(&url, Duration::from_millis(50)).await.unwrap_err();
        assert!(silent.to_string().ends_with("did not answer within 50 ms"));
        // Bound, so that no other test gets the port, and not listening.
        let bound = tokio::net::TcpSocket::new_v4().unwrap();
        bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let url = format!("http://{}", bound.local_addr().unwrap());
        let closed = get(&url.parse().unwrap(), LIMIT).await;
        assert!(matches!(closed, Err(HttpGetError::Connect { .. })));
    }

    #[tokio::test]
    async fn only_http_is_asked() {
        for url in ["https://127.0.0.1/", "/readyz", "127.0.0.1:9090"] {
            let refused = get(&url.parse().unwrap(), LIMIT).await.unwrap_err();
            assert!(matches!(refused, HttpGetError::Address(_)), "{url}");
        }
    }
}
