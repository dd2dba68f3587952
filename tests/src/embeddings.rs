//! A service that speaks OpenAI's embeddings API on loopback, and fails on command.
//!
//! A vector counts the words of its text, so texts that share words are near each other. A refusal echoes
//! the request, as real services do, so that a test sees whether the echo leaks anywhere. Vectors are
//! returned in reverse order: only `index` says which text each belongs to.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
};

use axum::body::{Body, Bytes};
use futures::stream;
use http::{Request, Response, header};
use http_body_util::BodyExt;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_rustls::TlsAcceptor;

use crate::tls::{acceptor, certificate, identity, secured};

mod mishap;

pub use mishap::Mishap;

/// A request that it received.
#[derive(Clone, Debug)]
pub struct EmbeddingRequest {
    /// The path: `/v1/embeddings`.
    pub path: String,
    /// The `Authorization` header.
    pub authorization: Option<String>,
    /// The body.
    pub body: Value,
}

impl EmbeddingRequest {
    /// The texts to embed.
    pub fn texts(&self) -> Vec<String> {
        serde_json::from_value(self.body["input"].clone()).unwrap()
    }
}

/// A running service. Dropping it ends the server.
#[derive(Debug)]
pub struct Embeddings {
    address: SocketAddr,
    serving: JoinHandle<()>,
    state: Arc<State>,
    /// The folder of its certificate, if the service speaks TLS.
    identity: Option<TempDir>,
}

#[derive(Debug)]
struct State {
    dimensions: usize,
    next: Mutex<VecDeque<Mishap>>,
    always: Mutex<Option<Mishap>>,
    requests: Mutex<Vec<EmbeddingRequest>>,
}

impl Drop for Embeddings {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Embeddings {
    /// Starts one whose vectors have so many dimensions.
    pub async fn start(dimensions: usize) -> Embeddings {
        Embeddings::serve(dimensions, None).await
    }

    /// Starts one that speaks TLS, with a self-signed certificate for `localhost`.
    pub async fn encrypted(dimensions: usize) -> Embeddings {
        archway::tls::choose_cryptography();
        Embeddings::serve(dimensions, Some(identity())).await
    }

    async fn serve(dimensions: usize, identity: Option<TempDir>) -> Embeddings {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            dimensions,
            next: Mutex::default(),
            always: Mutex::default(),
            requests: Mutex::default(),
        });
        let tls = identity.as_ref().map(|folder| acceptor(folder.path()));
        let serving = tokio::spawn(accept(listener, tls, state.clone()));
        Embeddings {
            address,
            serving,
            state,
            identity,
        }
    }

    /// For `--embedder-url`.
    pub fn url(&self) -> String {
        let (scheme, host) = match self.identity {
            Some(_) => ("https", "localhost"),
            None => ("http", "127.0.0.1"),
        };
        format!("{scheme}://{host}:{}/v1", self.address.port())
    }

    /// The certificate, for `--embedder-ca-file`. Panics if it speaks no TLS.
    pub fn authority(&self) -> PathBuf {
        certificate(
            self.identity
                .as_ref()
                .expect("the service speaks TLS")
                .path(),
        )
    }

    /// The number of dimensions of its vectors.
    pub fn dimensions(&self) -> usize {
        self.state.dimensions
    }

    /// How the next requests fail, one each.
    pub fn next(&self, mishaps: impl IntoIterator<Item = Mishap>) {
        self.state.next.lock().extend(mishaps);
    }

    /// How all later requests fail.
    pub fn always(&self, mishap: Option<Mishap>) {
        *self.state.always.lock() = mishap;
    }

    /// The requests so far, oldest first.
    pub fn requests(&self) -> Vec<EmbeddingRequest> {
        self.state.requests.lock().clone()
    }

    /// The vector of a text, with length 1.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        vector(text, self.state.dimensions)
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, state: Arc<State>) {
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        let (tls, state) = (tls.clone(), state.clone());
        tokio::spawn(async move {
            // A client that does not trust the certificate hangs up.
            let Ok(stream) = secured(socket, tls).await else {
                return;
            };
            let service = service_fn(move |request| answer(request, state.clone()));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // A connection that was cut on purpose ends with an error.
            connection.await.ok();
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    state: Arc<State>,
) -> Result<Response<Body>, io::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let authorization = parts.headers.get(header::AUTHORIZATION);
    let received = EmbeddingRequest {
        path: parts.uri.path().to_owned(),
        authorization: authorization.map(|value| value.to_str().unwrap().to_owned()),
        body: serde_json::from_slice(&body)?,
    };
    let texts = received.texts();
    state.requests.lock().push(received);
    let next = state.next.lock().pop_front();
    let mishap = next.or_else(|| state.always.lock().clone());
    let whole = |dimensions| Body::from(list(&texts, dimensions).to_string());
    let body = match mishap {
        Some(Mishap::Dislikes(word)) if texts.iter().any(|text| text.contains(word)) => {
            return Ok(refusal(400, &[], body));
        }
        None | Some(Mishap::Dislikes(_)) => whole(state.dimensions),
        Some(Mishap::Status(status, headers)) => return Ok(refusal(status, &headers, body)),
        Some(Mishap::Hang) => std::future::pending().await,
        Some(Mishap::Cut) => return Err(io::ErrorKind::ConnectionReset.into()),
        Some(Mishap::CutShort) => Body::from_stream(stream::iter([
            Ok(Bytes::from_static(b"{\"object\":\"list\",\"data\":[")),
            Err(io::Error::from(io::ErrorKind::ConnectionReset)),
        ])),
        Some(Mishap::Dimensions(other)) => whole(other),
        Some(Mishap::Fewer) => Body::from(list(&texts[1..], state.dimensions).to_string()),
        Some(Mishap::Echo) => Body::from(format!("you said: {texts:?}")),
        Some(Mishap::Endless) => Body::from_stream(stream::repeat_with(|| {
            Ok::<_, io::Error>(Bytes::from_static(&[b' '; 4096]))
        })),
    };
    Ok(Response::new(body))
}

/// An answer in the API's format, with one token per word.
fn list(texts: &[String], dimensions: usize) -> Value {
    let tokens: usize = texts
        .iter()
        .map(|text| text.split_whitespace().count())
        .sum();
    let item = |(index, text): (usize, &String)| json!({ "object": "embedding", "index": index, "embedding": vector(text, dimensions) });
    let data: Vec<Value> = texts.iter().enumerate().rev().map(item).collect();
    let usage = json!({ "prompt_tokens": tokens, "total_tokens": tokens });
    json!({ "object": "list", "model": "double", "data": data, "usage": usage })
}

fn refusal(status: u16, headers: &[(&str, String)], body: Bytes) -> Response<Body> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, value);
    }
    let echo = json!({ "error": { "message": String::from_utf8_lossy(&body) } });
    response.body(Body::from(echo.to_string())).unwrap()
}

fn vector(text: &str, dimensions: usize) -> Vec<f32> {
    let mut vector = vec![0.0_f32; dimensions];
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let mut hasher = DefaultHasher::new();
        word.to_lowercase().hash(&mut hasher);
        let place = hasher.finish() % u64::try_from(dimensions).unwrap();
        vector[usize::try_from(place).unwrap()] += 1.0;
    }
    let length = vector
        .iter()
        .map(|number| number * number)
        .sum::<f32>()
        .sqrt();
    vector.iter().map(|number| number / length).collect()
}
