//! A double of a host's API on a loopback address, and what its entries look like.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::response::Response;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{Connection, ConnectionSettings, HostClient};
use crate::remote::AllowedProtocols;

/// A request that the double got.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// The double's own address, `http://127.0.0.1:…`.
    pub(super) base: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: String,
    pub(super) headers: HeaderMap,
}

impl Asked {
    pub(super) fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    /// The value of `page`, 1 if there is none.
    pub(super) fn page(&self) -> usize {
        let pairs = self.query.split('&');
        let page = pairs.filter_map(|pair| pair.strip_prefix("page=")).next();
        page.map_or(1, |page| page.parse().unwrap())
    }

    /// A `Link` to another page of the same listing.
    pub(super) fn link(&self, page: usize) -> String {
        let (base, path) = (&self.base, &self.path);
        format!(r#"<{base}{path}?page=1>; rel="first", <{base}{path}?page={page}>; rel="next""#)
    }
}

/// A host's API that answers as the test says.
pub(super) struct HostDouble {
    pub(super) base: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl HostDouble {
    pub(super) async fn start(
        answer: impl Fn(&Asked) -> Response + Clone + Send + Sync + 'static,
    ) -> HostDouble {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (own, log) = (base.clone(), Arc::clone(&asked));
        let router = Router::new().fallback(move |request: Request| {
            let asked = Asked {
                base: own.clone(),
                method: request.method().to_string(),
                path: request.uri().path().to_owned(),
                query: request.uri().query().unwrap_or_default().to_owned(),
                headers: request.headers().clone(),
            };
            let answer = answer(&asked);
            log.lock().push(asked);
            async move { answer }
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        HostDouble { base, asked }
    }

    /// The requests since the last call.
    pub(super) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock())
    }

    /// A client for the organisation `acme` at GitHub Enterprise, with more settings.
    pub(super) fn github(&self, more: Value) -> HostClient {
        let source = json!({ "github": { "org": "acme", "url": self.base } });
        client(source, more)
    }
}

pub(super) fn client(source: Value, more: Value) -> HostClient {
    HostClient::new(checked(source, more)).unwrap()
}

pub(super) fn checked(source: Value, more: Value) -> Connection {
    settings(source, more).check(&loopback()).unwrap()
}

pub(super) fn settings(mut source: Value, more: Value) -> ConnectionSettings {
    let fields = source.as_object_mut().unwrap();
    fields.insert("name".to_owned(), json!("host"));
    fields.extend(more.as_object().unwrap().clone());
    serde_json::from_value(source).unwrap()
}

pub(super) fn loopback() -> AllowedProtocols {
    AllowedProtocols {
        loopback_http: true,
        ..AllowedProtocols::default()
    }
}

/// An entry of GitHub's and Gitea's API, below `acme` on the double.
pub(super) fn entry(base: &str, id: u64, name: &str, pushed_at: &str) -> Value {
    json!({
        "id": id,
        "full_name": format!("acme/{name}"),
        "clone_url": format!("{base}/acme/{name}.git"),
        "default_branch": "main",
        "description": format!("about {name}"),
        "topics": ["web"],
        "archived": false,
        "fork": false,
        "private": false,
        "pushed_at": pushed_at,
        "updated_at": pushed_at,
        "owner": { "login": "acme" },
    })
}

/// `status` with headers and a body.
pub(super) fn reply(status: u16, headers: &[(&str, &str)], body: impl Into<Body>) -> Response {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body.into()).unwrap()
}

pub(super) fn page(entries: &[Value]) -> Response {
    reply(200, &[], Value::from(entries).to_string())
}
