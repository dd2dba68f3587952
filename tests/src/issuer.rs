//! An OIDC issuer on loopback: a discovery document, a key set, tokens of any kind, and failures on
//! command.

use std::{
    collections::BTreeMap,
    io,
    path::PathBuf,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::body::Body;
use http::{Request, Response, header};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_rustls::TlsAcceptor;

use crate::tls::{acceptor, certificate, identity, secured};

mod signer;

pub use signer::{Signer, encoded};

/// The path of the key set.
pub const KEYS: &str = "/keys";
/// The audience of its tokens, unless a test chooses another.
pub const AUDIENCE: &str = "archway";
/// The path of the discovery document.
pub const DISCOVERY: &str = "/.well-known/openid-configuration";

/// A running issuer. Dropping it ends the server.
#[derive(Debug)]
pub struct Issuer {
    state: Arc<State>,
    serving: JoinHandle<()>,
    /// The folder of its certificate, if the issuer speaks TLS.
    identity: Option<TempDir>,
}

#[derive(Debug)]
struct State {
    url: String,
    signer: Mutex<Arc<Signer>>,
    /// Answers that replace the normal ones, by path.
    answers: Mutex<BTreeMap<String, Answer>>,
    down: Mutex<bool>,
    requests: Mutex<Vec<String>>,
}

/// An answer: a status, headers, a body.
#[derive(Clone, Debug)]
pub struct Answer(pub u16, pub Vec<(&'static str, String)>, pub String);

impl Drop for Issuer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Issuer {
    /// Starts one that signs by RS256 with a new key.
    pub async fn start() -> Issuer {
        Issuer::serve(None).await
    }

    /// Starts one that speaks TLS, with a self-signed certificate for `localhost`.
    pub async fn encrypted() -> Issuer {
        archway::tls::choose_cryptography();
        Issuer::serve(Some(identity())).await
    }

    async fn serve(identity: Option<TempDir>) -> Issuer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = match identity {
            Some(_) => format!("https://localhost:{}", address.port()),
            None => format!("http://{address}"),
        };
        let state = Arc::new(State {
            url,
            signer: Mutex::new(Arc::new(Signer::rsa("first"))),
            answers: Mutex::default(),
            down: Mutex::default(),
            requests: Mutex::default(),
        });
        let tls = identity.as_ref().map(|folder| acceptor(folder.path()));
        Issuer {
            serving: tokio::spawn(accept(listener, tls, state.clone())),
            state,
            identity,
        }
    }

    /// The `iss` of its tokens.
    pub fn url(&self) -> String {
        self.state.url.clone()
    }

    /// The certificate that clients must trust. Panics if it speaks no TLS.
    pub fn authority(&self) -> PathBuf {
        certificate(
            self.identity
                .as_ref()
                .expect("the issuer speaks TLS")
                .path(),
        )
    }

    /// Its entry in a file of issuers, as one line of YAML with the members `more`.
    pub fn entry(&self, more: &str) -> String {
        format!("{{issuer: '{}', audience: {AUDIENCE}, {more}}}", self.url())
    }

    /// The claims of a valid token of this subject: scopes to read and write, valid for 10 minutes.
    pub fn claims(&self, subject: &str) -> Value {
        let now = now();
        json!({
            "iss": self.url(), "aud": AUDIENCE, "sub": subject,
            "iat": now, "exp": now + 600, "scope": "tools:read memory:write",
        })
    }

    /// A valid token of this subject.
    pub fn token(&self, subject: &str) -> String {
        self.sign(&self.claims(subject))
    }

    /// A token with these claims, signed by the current key.
    pub fn sign(&self, claims: &Value) -> String {
        self.signer().sign(claims)
    }

    /// The current key.
    pub fn signer(&self) -> Arc<Signer> {
        self.state.signer.lock().clone()
    }

    /// Replaces the key. The old one leaves the key set.
    pub fn rotate(&self, signer: Signer) {
        *self.state.signer.lock() = Arc::new(signer);
    }

    /// With `true`, closes every connection without an answer.
    pub fn set_down(&self, down: bool) {
        *self.state.down.lock() = down;
    }

    /// Replaces the answer at a path.
    pub fn answer(&self, path: &str, answer: Answer) {
        self.state.answers.lock().insert(path.to_owned(), answer);
    }

    /// The number of requests for a path, refused ones included.
    pub fn requests(&self, path: &str) -> usize {
        let requests = self.state.requests.lock();
        requests
            .iter()
            .filter(|requested| *requested == path)
            .count()
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
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
            let service = service_fn(move |request: Request<Incoming>| {
                let answer = state.answer(request.uri().path());
                async move { answer.ok_or(io::Error::other("down")) }
            });
            // A connection that was cut on purpose ends with an error.
            let connection = http1::Builder::new()
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            connection.await.ok();
        });
    }
}

impl State {
    /// The answer at a path. `None` closes the connection.
    fn answer(&self, path: &str) -> Option<Response<Body>> {
        self.requests.lock().push(path.to_owned());
        if *self.down.lock() {
            return None;
        }
        let document = |body: Value| Answer(200, Vec::new(), body.to_string());
        let otherwise = self.answers.lock().get(path).cloned();
        let Answer(status, headers, body) = otherwise.unwrap_or_else(|| match path {
            DISCOVERY => document(json!({
                "issuer": self.url, "jwks_uri": format!("{}{KEYS}", self.url),
            })),
            KEYS => document(json!({ "keys": [self.signer.lock().public()] })),
            _ => Answer(404, Vec::new(), String::new()),
        });
        let mut response = Response::builder()
            .status(status)
            .header(header::CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            response = response.header(name, value);
        }
        Some(response.body(Body::from(body)).unwrap())
    }
}
