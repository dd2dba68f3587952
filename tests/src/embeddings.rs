//! A service that speaks OpenAI's embeddings API on loopback, and fails on command.
//!
//! Vectors stand for their texts' words: texts that share words are near to one another. What it
//! refuses it echoes, as real ones do, so that a test sees whether that comes out anywhere. It
//! answers the texts of a request in reverse: which is which says `index` alone.

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

/// A request that came.
#[derive(Clone, Debug)]
pub struct Question {
    /// What it asked for: `/v1/embeddings`.
    pub path: String,
    /// Its `Authorization`.
    pub authorization: Option<String>,
    /// Its body.
    pub body: Value,
}

impl Question {
    /// The texts that it had.
    pub fn texts(&self) -> Vec<String> {
        serde_json::from_value(self.body["input"].clone()).unwrap()
    }
}

/// A running service. It ends when this is dropped.
#[derive(Debug)]
pub struct Embeddings {
    address: SocketAddr,
    serving: JoinHandle<()>,
    state: Arc<State>,
    /// The folder of its certificate, where it has one.
    identity: Option<TempDir>,
}

#[derive(Debug)]
struct State {
    dimensions: usize,
    next: Mutex<VecDeque<Mishap>>,
    always: Mutex<Option<Mishap>>,
    questions: Mutex<Vec<Question>>,
}

impl Drop for Embeddings {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Embeddings {
    /// One whose vectors have so many numbers.
    pub async fn start(dimensions: usize) -> Embeddings {
        Embeddings::serve(dimensions, None).await
    }

    /// One that speaks TLS, under a certificate for `localhost` that nobody else believes.
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
            questions: Mutex::default(),
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

    /// For `--embedder-ca-file`. Panics where it speaks no TLS.
    pub fn authority(&self) -> PathBuf {
        certificate(self.identity.as_ref().expect("it speaks TLS").path())
    }

    /// How many numbers its vectors have.
    pub fn dimensions(&self) -> usize {
        self.state.dimensions
    }

    /// What goes wrong with the next requests, one each.
    pub fn next(&self, mishaps: impl IntoIterator<Item = Mishap>) {
        self.state.next.lock().extend(mishaps);
    }

    /// What goes wrong with all others from now on.
    pub fn always(&self, mishap: Option<Mishap>) {
        *self.state.always.lock() = mishap;
    }

    /// What it was asked so far.
    pub fn questions(&self) -> Vec<Question> {
        self.state.questions.lock().clone()
    }

    /// The vector that it makes of a text, with length 1.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        vector(text, self.state.dimensions)
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, state: Arc<State>) {
    loop {
        let (socket, _) = listener.accept().await.unwrap();
        let (tls, state) = (tls.clone(), state.clone());
        tokio::spawn(async move {
            // Who doesn't believe it hangs up.
            let Ok(stream) = secured(socket, tls).await else {
                return;
            };
            let service = service_fn(move |request| answer(request, state.clone()));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // One that was cut on purpose ends with an error.
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
    let question = Question {
        path: parts.uri.path().to_owned(),
        authorization: authorization.map(|value| value.to_str().unwrap().to_owned()),
        body: serde_json::from_slice(&body)?,
    };
    let texts = question.texts();
    state.questions.lock().push(question);
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

/// As the API answers, with one token for each word.
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
