//! GitHub's API and webhooks, as far as a connection needs them.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    net::SocketAddr,
};

use aws_lc_rs::hmac;
use http_body_util::Full;
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    GitHost, HostState,
    other_hosts::{self, LISTINGS},
};
use crate::http;

/// Repositories on a page.
const PAGE: usize = 100;

impl GitHost {
    /// From now on its API refuses to list with this status, and asks to come back after so many seconds; `None`: it
    /// lists again.
    pub fn limit(&self, limit: Option<(StatusCode, u32)>) {
        *self.state.limit.lock() = limit;
    }

    /// What its API lists after so many more pages.
    pub fn list_after(&self, pages: usize, entries: Vec<Value>) {
        *self.state.later.lock() = Some((pages, entries));
    }

    /// From now on the accounts with these numbers and logins may read a repository, such as `acme/site`.
    pub fn let_read(&self, path: &str, readers: &[(i64, &str)]) {
        let readers = readers.iter().map(|(id, login)| (*id, (*login).to_owned()));
        let mut all = self.state.readers.lock();
        all.insert(path.to_owned(), readers.collect());
    }

    /// From now on its API answers so whoever asks for readers: a status, a `Link` and a body; `None`: with the readers.
    pub fn answer_for_readers(&self, instead: Option<(StatusCode, &str, &str)>) {
        let owned = |(status, link, body): (StatusCode, &str, &str)| {
            (status, link.to_owned(), body.to_owned())
        };
        *self.state.instead_of_readers.lock() = instead.map(owned);
    }
}

/// The answer of a host's API: a listing of an organisation, or of who may read a repository, or a token of an App;
/// `None` for another request.
pub(super) fn answer(
    request: &Request<Incoming>,
    state: &HostState,
    authorization: &str,
) -> Option<Response<Full<Bytes>>> {
    let exchanged = state
        .app
        .lock()
        .as_mut()
        .and_then(|app| app.exchange(request, authorization));
    if exchanged.is_some() {
        return exchanged;
    }
    let path = request.uri().path();
    let readers = readers(state, path).or_else(|| other_hosts::readers(state, path));
    let instead = state.instead_of_readers.lock().clone();
    let instead = instead.filter(|_| readers.is_some());
    let entries = readers.or_else(|| {
        let of_github = path.starts_with("/api/v3/orgs/") && path.ends_with("/repos");
        let is_listing = of_github || LISTINGS.contains(&path);
        is_listing.then(|| listing(state)).flatten()
    })?;
    if let Some((status, seconds)) = *state.limit.lock() {
        let answer = Response::builder().status(status);
        let answer = answer.header("Retry-After", seconds.to_string());
        return Some(answer.body(Full::default()).unwrap());
    }
    if !state.admits(&state.bearer, authorization) {
        let answer = Response::builder().status(StatusCode::UNAUTHORIZED);
        let body = r#"{"message":"Bad credentials"}"#;
        return Some(answer.body(Full::from(body)).unwrap());
    }
    if let Some((status, link, body)) = instead {
        let answer = Response::builder().status(status).header("Link", link);
        return Some(answer.body(Full::from(body)).unwrap());
    }
    Some(page(request, &entries))
}

/// What is listed now.
fn listing(state: &HostState) -> Option<Vec<Value>> {
    let (mut listing, mut later) = (state.listing.lock(), state.later.lock());
    if let Some((0, entries)) = later.take_if(|(pages, _)| *pages == 0) {
        *listing = Some(entries);
    }
    if let Some((pages, _)) = &mut *later {
        *pages -= 1;
    }
    listing.clone()
}

/// Who may read the repository of a path of the API, which names it by its number.
fn readers(state: &HostState, path: &str) -> Option<Vec<Value>> {
    let id = path.strip_prefix("/api/v3/repositories/")?;
    let id: u64 = id.strip_suffix("/collaborators")?.parse().ok()?;
    let listing = state.listing.lock().clone()?;
    let repository = listing.iter().find(|entry| entry["id"] == id)?;
    let path = repository["full_name"].as_str()?;
    let readers = state.readers.lock();
    let entry = |(id, login): &(i64, String)| json!({ "id": id, "login": login, "permissions": { "pull": true } });
    Some(readers.get(path)?.iter().map(entry).collect())
}

/// One page of a listing, with a validator and the link to the next one.
fn page(request: &Request<Incoming>, entries: &[Value]) -> Response<Full<Bytes>> {
    let (path, query) = (
        request.uri().path(),
        request.uri().query().unwrap_or_default(),
    );
    let number = query.split('&').find_map(|it| it.strip_prefix("page="));
    let number: usize = number.map_or(1, |number| number.parse().unwrap());
    let mut pages = entries.chunks(PAGE);
    let body = serde_json::to_string(pages.nth(number - 1).unwrap_or_default()).unwrap();
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    let etag = format!("\"{:x}\"", hasher.finish());
    let mut answer = Response::builder().header("ETag", &etag);
    if let Some(host) = request
        .headers()
        .get("host")
        .filter(|_| pages.next().is_some())
    {
        let (host, next) = (host.to_str().unwrap(), number + 1);
        let link = format!("<https://{host}{path}?per_page={PAGE}&page={next}>; rel=\"next\"");
        answer = answer.header("Link", link);
    }
    let known = request.headers().get("if-none-match");
    match known.is_some_and(|known| known.as_bytes() == etag.as_bytes()) {
        true => answer
            .status(StatusCode::NOT_MODIFIED)
            .body(Full::default()),
        false => answer.body(Full::from(body)),
    }
    .unwrap()
}

/// Sends a webhook about a repository as GitHub does, signed with `secret`. `event` is its name, such as `push`. Returns
/// the status of the answer.
pub async fn send_hook(
    to: SocketAddr,
    path: &str,
    secret: &str,
    (event, id, full_name): (&str, u64, &str),
) -> u16 {
    let body = json!({ "repository": { "id": id, "full_name": full_name } });
    send_payload(to, path, secret, (event, &body)).await
}

/// The same with another payload.
pub async fn send_payload(
    to: SocketAddr,
    path: &str,
    secret: &str,
    (event, body): (&str, &Value),
) -> u16 {
    let body = body.to_string();
    let tag = signature(secret, &body);
    let request = http::Request::new("POST", path)
        .header("Content-Type", "application/json")
        .header("X-GitHub-Event", event)
        .header("X-GitHub-Delivery", &Uuid::new_v4().to_string())
        .header("X-Hub-Signature-256", &format!("sha256={tag}"))
        .body(&body);
    request.send(to).await.status
}

/// The HMAC-SHA256 of a webhook's body, in hexadecimal.
pub(super) fn signature(secret: &str, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, body.as_bytes());
    let bytes = tag.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
