//! Asks an issuer for its keys, over HTTP: its discovery document says where they are, unless the
//! operator does.
//!
//! The document is looked for where OIDC Discovery 1.0 has it, then where RFC 8414 does,
//! which differ for an issuer with a path; it must name the issuer itself, letter by letter. No
//! redirect is followed, and no more is read than makes sense.

use std::time::Duration;

use http::header::CACHE_CONTROL;
use reqwest::{Client, Response, StatusCode, Url, redirect::Policy};
use serde::Deserialize;

use super::{
    config::{self, IssuerConfig},
    error::IssuerProblem,
    keyring::{Fetch, FetchedKeys},
    keyset::{KeySet, KeySetError},
};

/// For a whole answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a document at most.
const LARGEST: usize = 256 * 1024;
const OPENID: &str = "/.well-known/openid-configuration";
const OAUTH: &str = "/.well-known/oauth-authorization-server";

/// Why an issuer's keys could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("it can't be reached")]
    Unreachable(#[source] reqwest::Error),
    #[error("it answered {0} where {1} was expected")]
    Status(StatusCode, &'static str),
    #[error("its answer is larger than 256 KiB")]
    TooLarge,
    #[error("its discovery document can't be read")]
    Malformed(#[source] serde_json::Error),
    #[error("its discovery document is another issuer's")]
    OtherIssuer,
    #[error("its discovery document has keys where they can't be trusted: https:// is expected")]
    KeysElsewhere,
    #[error(transparent)]
    Keys(#[from] KeySetError),
    #[error("it took too long")]
    TooSlow,
}

/// The way to one issuer.
pub(super) struct KeySource {
    http: Client,
    issuer: String,
    jwks_uri: Option<Url>,
    /// Where its discovery document may be, in this order.
    discovery: [Url; 2],
    url: Url,
    algorithms: Vec<jsonwebtoken::Algorithm>,
}

#[derive(Deserialize)]
struct Discovered {
    issuer: String,
    jwks_uri: String,
}

impl KeySource {
    pub(super) fn new(config: &IssuerConfig) -> Result<Self, IssuerProblem> {
        let builder = Client::builder()
            .user_agent(concat!("archway/", env!("CARGO_PKG_VERSION")))
            .timeout(PATIENCE)
            .redirect(Policy::none());
        let http = if config::is_loopback(&config.url) {
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
        })
    }

    /// Where the keys are.
    async fn keys_at(&self) -> Result<Url, FetchError> {
        if let Some(uri) = &self.jwks_uri {
            return Ok(uri.clone());
        }
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
        let uri = Url::parse(&found.jwks_uri).ok();
        uri.filter(|uri| config::may_ask(uri, &self.url))
            .ok_or(FetchError::KeysElsewhere)
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

async fn body(mut answer: Response, what: &'static str) -> Result<Vec<u8>, FetchError> {
    // A redirect, too, is no answer.
    if answer.status() != StatusCode::OK {
        return Err(FetchError::Status(answer.status(), what));
    }
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(unreachable)? {
        if body.len() + part.len() > LARGEST {
            return Err(FetchError::TooLarge);
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}

/// Without its address, which may say more than whoever reads the log should know.
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

/// For how long the answer says that it is good.
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
    fn discovery_documents_are_looked_for_by_either_standard() {
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
    fn an_answer_says_for_how_long_it_is_good() {
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
