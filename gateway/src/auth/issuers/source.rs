//! How an issuer is reached and what its signatures look like, and the check of a signature.

use std::{path::Path, sync::Arc, time::Duration};

use jsonwebtoken::Algorithm;
use reqwest::{Certificate, Url};
use serde_json::{Map, Value};

use super::{
    super::{AuthError, failed_credentials::FailureReason},
    document,
    error::{IssuerProblem, MOST_LEEWAY},
    fetch::KeySource,
    keyring::{Keyring, KeysUnavailable},
    token::UnverifiedToken,
};
use crate::metrics::Metrics;

/// Permitted signature algorithms: none of them uses a shared secret.
const ALGORITHMS: [(&str, Algorithm); 9] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];
/// Default leeway in seconds.
const LEEWAY: u64 = 60;

/// What a file says about reaching an issuer and about its signatures.
pub(super) struct SourceEntry<'a> {
    pub(super) issuer: String,
    pub(super) algorithms: &'a [String],
    pub(super) leeway: Option<u64>,
    pub(super) jwks_uri: Option<&'a str>,
    pub(super) ca_file: Option<&'a str>,
}

/// The same after validation.
#[derive(Debug)]
pub(crate) struct SourceConfig {
    /// As tokens write it in `iss`.
    pub(crate) name: String,
    pub(super) url: Url,
    pub(super) algorithms: Vec<Algorithm>,
    pub(super) leeway: Duration,
    pub(super) jwks_uri: Option<Url>,
    pub(super) roots: Vec<Certificate>,
}

impl SourceConfig {
    pub(super) fn new(entry: SourceEntry<'_>) -> Result<Self, IssuerProblem> {
        let url = trusted(&entry.issuer).ok_or(IssuerProblem::Url("issuer"))?;
        let jwks_uri = entry.jwks_uri.map(|uri| {
            let uri = Url::parse(uri).ok().filter(|uri| may_ask(uri, &url));
            let uri = uri.filter(has_no_user);
            uri.ok_or(IssuerProblem::KeysUrl)
        });
        let leeway = entry.leeway.unwrap_or(LEEWAY);
        if leeway > MOST_LEEWAY {
            return Err(IssuerProblem::Leeway(leeway));
        }
        Ok(SourceConfig {
            jwks_uri: jwks_uri.transpose()?,
            algorithms: algorithms(entry.algorithms)?,
            leeway: Duration::from_secs(leeway),
            roots: roots(entry.ca_file)?,
            name: entry.issuer,
            url,
        })
    }
}

/// The keys of one issuer, which verify what it signs.
pub(super) struct Signatures {
    algorithms: Vec<Algorithm>,
    leeway: Duration,
    /// Seconds from issue to expiry, at most.
    longest_life: f64,
    keys: Keyring<KeySource>,
}

impl Signatures {
    /// Those of an issuer, whose keys [`Signatures::run`] refreshes. Its tokens live for `longest_life` seconds at
    /// most.
    pub(super) fn new(
        source: &SourceConfig,
        longest_life: f64,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, IssuerProblem> {
        let keys = KeySource::new(source)?;
        Ok(Signatures {
            algorithms: source.algorithms.clone(),
            leeway: source.leeway,
            longest_life,
            keys: Keyring::new(&source.name, keys, metrics.clone()),
        })
    }

    /// Refreshes the keys for as long as it is polled.
    pub(super) async fn run(&self) {
        self.keys.run().await;
    }

    /// How the issuer is asked.
    pub(super) fn source(&self) -> &KeySource {
        self.keys.source()
    }

    /// The claims of a token that the issuer signed.
    pub(super) async fn verified(
        &self,
        token: UnverifiedToken<'_>,
    ) -> Result<Map<String, Value>, AuthError> {
        let algorithm = token.algorithm.filter(|one| self.algorithms.contains(one));
        let algorithm = algorithm.ok_or(FailureReason::WrongAlgorithm)?;
        let age = token.least_age(self.leeway, self.longest_life);
        let key = token.key_id.as_deref();
        let key = self.keys.find(key, algorithm, age).await;
        let key = key.map_err(|KeysUnavailable| AuthError::Unchecked)?;
        let key = key.ok_or(FailureReason::UnknownSigner)?;
        let claims = token.verified(&key, algorithm);
        Ok(claims.ok_or(FailureReason::WrongSignature)?)
    }
}

/// Parses a URL that can be trusted: nobody between can answer in its place.
pub(crate) fn trusted(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let bare = url.query().is_none() && url.fragment().is_none();
    let graphic = text.bytes().all(|byte| byte.is_ascii_graphic());
    let safe = url.scheme() == "https" || is_loopback(&url);
    (has_no_user(&url) && bare && graphic && safe).then_some(url)
}

/// The issuers file may contain no secret: everyone who may read configuration may read it.
fn has_no_user(url: &Url) -> bool {
    url.username().is_empty() && url.password().is_none()
}

/// Whether what belongs to `issuer` may be fetched from `uri`: over TLS, or on loopback if the issuer
/// is there, too.
pub(super) fn may_ask(uri: &Url, issuer: &Url) -> bool {
    uri.scheme() == "https" || (is_loopback(uri) && is_loopback(issuer))
}

/// Whether a URL is plain HTTP to this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let here = ["localhost", "127.0.0.1", "[::1]"];
    url.scheme() == "http" && url.host_str().is_some_and(|host| here.contains(&host))
}

fn algorithms(names: &[String]) -> Result<Vec<Algorithm>, IssuerProblem> {
    if names.is_empty() {
        return Ok(vec![Algorithm::RS256]);
    }
    let unknown = |name: &String| IssuerProblem::Algorithm(name.clone());
    let found = names
        .iter()
        .map(|name| algorithm(name).ok_or_else(|| unknown(name)));
    found.collect()
}

/// The algorithm of a token's header, if it is a permitted one.
pub(super) fn algorithm(name: &str) -> Option<Algorithm> {
    let known = ALGORITHMS.iter().find(|(known, _)| *known == name);
    known.map(|(_, algorithm)| *algorithm)
}

fn roots(file: Option<&str>) -> Result<Vec<Certificate>, IssuerProblem> {
    let Some(path) = file else {
        return Ok(Vec::new());
    };
    let pem = document::read("the certificates", Path::new(path))
        .map_err(|error| IssuerProblem::Authorities(Box::new(error)))?;
    let roots = Certificate::from_pem_bundle(pem.as_bytes())
        .map_err(|_quotes_it| IssuerProblem::NoAuthorities)?;
    (!roots.is_empty())
        .then_some(roots)
        .ok_or(IssuerProblem::NoAuthorities)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_alone() {
        for good in [
            "https://a.example/b",
            "http://localhost:1",
            "http://127.0.0.1",
            "http://[::1]",
        ] {
            assert!(trusted(good).is_some(), "{good}");
        }
        for bad in [
            "http://localhost.evil.example",
            "http://127.0.0.2",
            "ftp://a",
            "a",
            "",
        ] {
            assert!(trusted(bad).is_none(), "{bad}");
        }
    }
}
