//! Fetches an issuer's keys over HTTP, from a configured URL or the one in its discovery document. Its other endpoints
//! are asked by the same client.
//!
//! The document is looked up where OIDC Discovery 1.0 places it, then where RFC 8414 does; the two
//! differ for an issuer with a path. It must name the issuer, character by character. Redirects are
//! not followed, and the size of an answer is bounded.

use std::{sync::Arc, time::Duration};

use http::{
    HeaderValue,
    header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE},
};
use parking_lot::Mutex;
use reqwest::{Client, Response, StatusCode, Url, redirect::Policy};
use serde::Deserialize;
use tokio::time::Instant;

use super::{
    error::IssuerProblem,
    keyring::{Fetch, FetchedKeys},
    keyset::{KeySet, KeySetError},
    source::{self, SourceConfig},
};

/// For one whole answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a discovery document is reused for other endpoints than the keys'.
const REUSE: Duration = Duration::from_secs(300);
/// Maximum size of a document in bytes.
const LARGEST: usize = 256 * 1024;
const OPENID: &str = "/.well-known/openid-configuration";
const OAUTH: &str = "/.well-known/oauth-authorization-server";

/// Why an issuer's keys could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("the issuer can't be reached")]
    Unreachable(#[source] reqwest::Error),
    #[error("the issuer answered {0} instead of {1}")]
    Status(StatusCode, &'static str),
    #[error("the issuer's answer is larger than 256 KiB")]
    TooLarge,
    #[error("its discovery document can't be read")]
    Malformed(#[source] serde_json::Error),
    #[error("its discovery document names another issuer")]
    OtherIssuer,
    #[error("the `jwks_uri` of its discovery document is not https://")]
    KeysElsewhere,
    #[error(transparent)]
    Keys(#[from] KeySetError),
    #[error("the issuer did not answer in time")]
    TooSlow,
}

/// Fetches the keys of one issuer.
pub(super) struct KeySource {
    http: Client,
    issuer: String,
    jwks_uri: Option<Url>,
    /// Possible URLs of its discovery document, tried in this order.
    discovery: [Url; 2],
    url: Url,
    algorithms: Vec<jsonwebtoken::Algorithm>,
    /// The discovery document as it was read last.
    known: Mutex<Option<(Instant, Arc<Discovered>)>>,
}

/// What a discovery document says (OIDC Discovery 1.0, 3). Signing people in needs the other members, which may be
/// anything where nobody signs in.
#[derive(Deserialize)]
pub(super) struct Discovered {
    issuer: String,
    jwks_uri: String,
    #[serde(flatten)]
    others: serde_json::Map<String, serde_json::Value>,
}

impl Discovered {
    /// A member that is a text.
    pub(super) fn text(&self, member: &str) -> Option<&str> {
        self.others.get(member)?.as_str()
    }

    /// Whether a member is a list with this text.
    pub(super) fn lists(&self, member: &str, text: &str) -> bool {
        let list = self.others.get(member).and_then(|it| it.as_array());
        list.is_some_and(|list| list.iter().any(|it| it == text))
    }
}

impl KeySource {
    pub(super) fn new(config: &SourceConfig) -> Result<Self, IssuerProblem> {
        let builder = Client::builder()
            .user_agent(concat!("archway/", env!("CARGO_PKG_VERSION")))
            .timeout(PATIENCE)
            .redirect(Policy::none());
        let http = if source::is_loopback(&config.url) {
            builder.no_proxy()
        } else {
            let roots = config.roots.iter().cloned();
            builder.https_only(true).tls_certs_merge(roots)
        };
        Ok(KeySource {
            http: http.build().map_err(IssuerProblem::Client)?,
            issuer: config.name.clone(),
            jwks_uri: config.jwks_uri.clone(),
            discovery: discovery(&config.url),
            url: config.url.clone(),
            algorithms: config.algorithms.clone(),
            known: Mutex::default(),
        })
    }

    /// The URL of its keys.
    async fn keys_at(&self) -> Result<Url, FetchError> {
        if let Some(uri) = &self.jwks_uri {
            return Ok(uri.clone());
        }
        let found = self.read_discovery().await?;
        self.asked(&found.jwks_uri).ok_or(FetchError::KeysElsewhere)
    }

    /// The discovery document, at most five minutes old.
    pub(super) async fn discovered(&self) -> Result<Arc<Discovered>, FetchError> {
        let known = self.known.lock().clone();
        match known {
            Some((read, document)) if read.elapsed() < REUSE => Ok(document),
            _ => self.read_discovery().await,
        }
    }

    /// The discovery document as it was read last, at whatever age.
    pub(super) fn last_discovered(&self) -> Option<Arc<Discovered>> {
        let known = self.known.lock();
        known.as_ref().map(|(_, document)| document.clone())
    }

    /// The discovery document, if it is this issuer's.
    async fn read_discovery(&self) -> Result<Arc<Discovered>, FetchError> {
        let [openid, oauth] = &self.discovery;
        let mut answer = self.ask(openid).await?;
        if answer.status().is_client_error() {
            answer = self.ask(oauth).await?;
        }
        let document = body(answer, "a discovery document").await?;
        let found: Discovered = serde_json::from_slice(&document).map_err(FetchError::Malformed)?;
        if found.issuer != self.issuer {
            return Err(FetchError::OtherIssuer);
        }
        let found = Arc::new(found);
        *self.known.lock() = Some((Instant::now(), found.clone()));
        Ok(found)
    }

    /// A URL of the discovery document, if it can be trusted as the issuer's is.
    pub(super) fn asked(&self, uri: &str) -> Option<Url> {
        let uri = Url::parse(uri).ok();
        uri.filter(|uri| source::may_ask(uri, &self.url))
    }

    /// Sends a form with this `Authorization` header, if any. Returns the status and the body of the answer.
    pub(super) async fn post(
        &self,
        to: &Url,
        form: String,
        authorization: Option<HeaderValue>,
    ) -> Result<(StatusCode, Vec<u8>), FetchError> {
        let request = self.http.post(to.clone()).body(form);
        let mut request = request
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json");
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let answer = request.send().await.map_err(unreachable)?;
        Ok((answer.status(), bounded(answer).await?))
    }

    async fn ask(&self, url: &Url) -> Result<Response, FetchError> {
        let answer = self.http.get(url.clone()).send().await;
        answer.map_err(unreachable)
    }
}

impl Fetch for KeySource {
    async fn fetch(&self) -> Result<FetchedKeys, FetchError> {
        let answer = self.ask(&self.keys_at().await?).await?;
        let max_age = max_age(&answer);
        let keys = KeySet::parse(&body(answer, "a key set").await?, &self.algorithms)?;
        Ok(FetchedKeys { keys, max_age })
    }
}

async fn body(answer: Response, what: &'static str) -> Result<Vec<u8>, FetchError> {
    // A redirect is an error, too.
    if answer.status() != StatusCode::OK {
        return Err(FetchError::Status(answer.status(), what));
    }
    bounded(answer).await
}

async fn bounded(mut answer: Response) -> Result<Vec<u8>, FetchError> {
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(unreachable)? {
        if body.len() + part.len() > LARGEST {
            return Err(FetchError::TooLarge);
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}

/// Drops the URL, which may contain what readers of the log should not see.
fn unreachable(error: reqwest::Error) -> FetchError {
    FetchError::Unreachable(error.without_url())
}

fn discovery(issuer: &Url) -> [Url; 2] {
    let path = issuer.path().trim_end_matches('/');
    let at = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url
    };
    [at(format!("{path}{OPENID}")), at(format!("{OAUTH}{path}"))]
}

/// How long the answer may be cached.
fn max_age(answer: &Response) -> Option<Duration> {
    let values = answer.headers().get_all(CACHE_CONTROL).iter();
    let mut directives = values.flat_map(|value| value.to_str().unwrap_or_default().split(','));
    let seconds = directives.find_map(|directive| {
        let (name, value) = directive.trim().split_once('=')?;
        let is_it = name.eq_ignore_ascii_case("max-age");
        is_it.then(|| value.trim_matches('"').parse().ok())?
    });
    seconds.map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discovery_documents_are_found_by_either_standard() {
        let at = |issuer: &str| discovery(&Url::parse(issuer).unwrap()).map(String::from);
        let bare = [
            "https://a.example/.well-known/openid-configuration",
            "https://a.example/.well-known/oauth-authorization-server",
        ];
        assert_eq!(at("https://a.example"), bare);
        assert_eq!(at("https://a.example/"), bare);
        assert_eq!(
            at("https://a.example/realms/x"),
            [
                "https://a.example/realms/x/.well-known/openid-configuration",
                "https://a.example/.well-known/oauth-authorization-server/realms/x",
            ]
        );
    }

    #[test]
    fn cache_control_decides_how_long_keys_are_cached() {
        let of = |value: &'static str| {
            let answer = http::Response::builder().header(CACHE_CONTROL, value);
            max_age(&answer.body("").unwrap().into())
        };
        assert_eq!(of("public, Max-Age=600"), Some(Duration::from_secs(600)));
        for none in ["no-store", "max-age=soon", "s-maxage=5", ""] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
