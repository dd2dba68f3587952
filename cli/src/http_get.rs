//! One GET over plain HTTP, for commands that query the admin port of a running process.
//!
//! Admin ports are on loopback or inside a cluster, so there is no TLS, no redirect and no proxy. The
//! deadline covers the whole exchange, connecting included. The body is bounded, because another
//! program may be listening on the port.

use std::time::Duration;

use http::{StatusCode, Uri};
use reqwest::{Client, Response, redirect::Policy};

/// The longest body that is read, in bytes.
const LONGEST_BODY: usize = 1024 * 1024;
/// The port of an `http` address that names none.
const HTTP_PORT: u16 = 80;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpGetError {
    /// The address is not of the form `http://host…`.
    #[error("{0} is not an address like http://127.0.0.1:9090/readyz")]
    Address(Uri),
    /// No connection: nothing listens there, or the name does not resolve.
    #[error("connecting to {address}")]
    Connect {
        /// Host and port.
        address: String,
        /// The cause, down to the system's error.
        #[source]
        source: reqwest::Error,
    },
    /// The answer is not HTTP, or ended too early.
    #[error("requesting from {address}")]
    Exchange {
        /// Host and port.
        address: String,
        /// The client's error.
        #[source]
        source: reqwest::Error,
    },
    /// The body is longer than 1 MiB.
    #[error("the answer of {address} is longer than 1 MiB")]
    TooLong {
        /// Host and port.
        address: String,
    },
    /// The deadline passed.
    #[error("{address} did not answer within {} ms", limit.as_millis())]
    TimedOut {
        /// Host and port.
        address: String,
        /// How long it had.
        limit: Duration,
    },
}

/// Requests `url` once. Returns the status, whatever it is, and the body. `limit` covers everything.
///
/// # Errors
/// If `url` is no `http` address, or no complete answer of at most 1 MiB came in time.
pub async fn get(url: &Uri, limit: Duration) -> Result<(StatusCode, String), HttpGetError> {
    let host = url.host().filter(|_| url.scheme_str() == Some("http"));
    let host = host.ok_or_else(|| HttpGetError::Address(url.clone()))?;
    let address = format!("{host}:{}", url.port_u16().unwrap_or(HTTP_PORT));
    let failed = |source| failure(source, &address, limit);
    // Without TLS, the machine needs no certificate store.
    let client = Client::builder()
        .timeout(limit)
        .redirect(Policy::none())
        .no_proxy()
        .tls_certs_only([])
        .build()
        .map_err(failed)?;
    let response = client.get(url.to_string()).send().await.map_err(failed)?;
    let status = response.status();
    match bounded(response).await.map_err(failed)? {
        Some(body) => Ok((status, String::from_utf8_lossy(&body).into_owned())),
        None => Err(HttpGetError::TooLong { address }),
    }
}

/// The body; `None` if it is longer than [`LONGEST_BODY`].
async fn bounded(mut response: Response) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > LONGEST_BODY {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body))
}

fn failure(error: reqwest::Error, address: &str, limit: Duration) -> HttpGetError {
    let address = address.to_owned();
    let source = error.without_url();
    if source.is_timeout() {
        HttpGetError::TimedOut { address, limit }
    } else if source.is_connect() {
        HttpGetError::Connect { address, source }
    } else {
        HttpGetError::Exchange { address, source }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(20);

    /// Serves one connection: reads the request's head and writes `answer`. Returns the address, and the
    /// head once it was read.
    async fn once(answer: Vec<u8>) -> (Uri, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/readyz?a=b", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(socket.read_u8().await.unwrap());
            }
            // A client that stops reading early hangs up.
            socket.write_all(&answer).await.ok();
            String::from_utf8(head).unwrap()
        });
        (url.parse().unwrap(), serving)
    }

    #[tokio::test]
    async fn any_status_is_an_answer() {
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
    async fn a_body_over_one_mebibyte_is_refused() {
        let mut answer = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        answer.resize(LONGEST_BODY + 4096, b'x');
        let (url, _serving) = once(answer).await;
        assert!(matches!(
            get(&url, LIMIT).await,
            Err(HttpGetError::TooLong { .. })
        ));
    }

    #[tokio::test]
    async fn silence_times_out_and_a_closed_port_fails_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Uri = format!("http://{}", listener.local_addr().unwrap())
            .parse()
            .unwrap();
        let silent = get(&url, Duration::from_millis(50)).await.unwrap_err();
        assert!(silent.to_string().ends_with("did not answer within 50 ms"));
        // Bound but not listening, so that no other test gets the port.
        let bound = tokio::net::TcpSocket::new_v4().unwrap();
        bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let url = format!("http://{}", bound.local_addr().unwrap());
        let closed = get(&url.parse().unwrap(), LIMIT).await;
        assert!(matches!(closed, Err(HttpGetError::Connect { .. })));
    }

    #[tokio::test]
    async fn only_http_addresses_are_requested() {
        for url in ["https://127.0.0.1/", "/readyz", "127.0.0.1:9090"] {
            let refused = get(&url.parse().unwrap(), LIMIT).await.unwrap_err();
            assert!(matches!(refused, HttpGetError::Address(_)), "{url}");
        }
    }
}
