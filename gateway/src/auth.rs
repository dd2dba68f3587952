//! Credentials: the request's key becomes a [`Principal`], or the request ends here.
//!
//! The second stop, after `server`'s checks of the envelope and before anything of the body is
//! read. A wrong secret, an unknown id, a revoked or expired key and a disabled tenant get the
//! same 401 after the same work; only "no credential at all" looks different (RFC 6750). A good
//! key is never answered 401 because Postgres is away: that is 503. Who sends many bad ones gets 429
//! for them, and is never refused a good one.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use http::{HeaderMap, header::AUTHORIZATION};
use uuid::Uuid;

use crate::{error::GatewayError, metrics::Metrics, secrets::RootSecret, store::Stores};
use address::{Source, TrustedProxies};
use failures::{Failures, Reason, TooMany};
use lanes::Lane;
use lookup::{Keys, LookupError};

pub(crate) use address::Peer;
pub(crate) use principal::Principal;

mod address;
mod failures;
pub(crate) mod key;
mod editions;
mod lanes;
mod lookup;
mod principal;

/// How credentials are checked.
#[derive(Clone, Debug, clap::Args)]
pub struct AuthConfig {
    /// Seconds for which a known key is good after Postgres last confirmed it, while Postgres
    /// can't be asked.
    #[arg(long = "key-grace", env = "ARCHWAY_KEY_GRACE", value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub key_grace: Duration,
    /// Proxies in front of the gateway, as networks (CIDR) or addresses, comma-separated: only
    /// their X-Forwarded-For is believed when failed credentials are counted by address.
    #[arg(
        long = "trusted-proxy",
        env = "ARCHWAY_TRUSTED_PROXIES",
        value_name = "NETWORK",
        value_delimiter = ',',
        value_parser = address::network
    )]
    pub trusted_proxies: Vec<ipnet::IpNet>,
}

impl Default for AuthConfig {
    fn default() -> Self {
        AuthConfig {
            key_grace: Duration::from_secs(60),
            trusted_proxies: Vec::new(),
        }
    }
}

/// At most a day: longer than that a revoked key must not live.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds <= 86_400);
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| "expected seconds, 0 to 86400".to_owned())
}

/// The checker of credentials.
pub(crate) struct Auth {
    keys: Keys,
    secret: Arc<RootSecret>,
    proxies: TrustedProxies,
    failures: Failures,
    metrics: Arc<Metrics>,
}

/// Why a request has no [`Principal`].
#[derive(Debug)]
enum AuthError {
    /// It has no credential.
    Missing,
    /// It has one that isn't good.
    Bad(Reason),
    /// Nobody can say now whether its credential is good.
    Unchecked,
}

impl Auth {
    pub(crate) fn new(
        config: &AuthConfig,
        stores: Stores,
        secret: Arc<RootSecret>,
        metrics: Arc<Metrics>,
    ) -> Self {
        Auth {
            keys: Keys::new(stores, config.key_grace),
            secret,
            proxies: TrustedProxies::new(&config.trusted_proxies),
            failures: Failures::default(),
            metrics,
        }
    }

    /// Whether word of changes is heard: without it, records are kept for seconds only.
    pub(crate) fn listening(&self, listening: bool) {
        self.keys.set_listening(listening);
    }

    /// Forgets what is known of the key of this id.
    pub(crate) async fn key_changed(&self, id: &str) {
        if let Some(id) = key::KeyId::parse(id) {
            self.keys.key_changed(&id).await;
        }
    }

    /// Forgets what is known of a tenant's keys.
    pub(crate) fn tenant_changed(&self, tenant: Uuid) {
        self.keys.tenant_changed(tenant);
    }

    /// The caller whose key the headers carry.
    async fn verify(
        &self,
        headers: &HeaderMap,
        peer: Option<Peer>,
    ) -> Result<Principal, AuthError> {
        let token = bearer(headers).ok_or(AuthError::Missing)?;
        let key = key::KeyText::parse(token).ok_or(AuthError::Bad(Reason::Malformed))?;
        // Of no interest for a key that is known.
        let lane = || match self.source(peer, headers) {
            Some(source) if self.failures.is_exhausted(source) => Lane::Suspects,
            _ => Lane::Strangers,
        };
        match self.keys.find(key.id(), &lane).await {
            Ok(record) => {
                let (line, hash) = (&record.secret_line, &record.secret_hash);
                let reason = if !self.secret.key_matches(line, key.secret(), hash) {
                    Reason::WrongSecret
                } else if !record.is_good() {
                    Reason::NotGood
                } else {
                    return Ok(record.principal.clone());
                };
                // An unknown id would have been asked about.
                let asked = self.keys.ask_as_if_unknown(key.id(), &lane).await;
                Err(asked.map_or_else(|_| AuthError::Unchecked, |()| AuthError::Bad(reason)))
            }
            Err(error) => match &*error {
                LookupError::Unknown => {
                    // The work that a wrong secret costs, so that the time tells nothing.
                    self.secret.key_matches("", key.secret(), &[0; 32]);
                    Err(AuthError::Bad(Reason::Unknown))
                }
                LookupError::Unavailable(_)
                | LookupError::Paused
                | LookupError::Crowded
                | LookupError::Overtaken => Err(AuthError::Unchecked),
            },
        }
    }

    /// The answer to a request without a [`Principal`]. Only a bad credential is counted: none is
    /// how clients ask for the challenge, and one that can't be checked is no fault of theirs.
    fn refuse(&self, why: &AuthError, source: Option<Source>) -> GatewayError {
        match why {
            AuthError::Missing => GatewayError::NoCredential,
            AuthError::Unchecked => GatewayError::CredentialUnchecked,
            AuthError::Bad(reason) => {
                match source.map_or(Ok(()), |source| self.failures.note(source)) {
                    Ok(()) => {
                        self.metrics.failed_credential(reason.label());
                        GatewayError::BadCredential
                    }
                    Err(TooMany { retry_after }) => {
                        self.metrics.failed_credential("throttled");
                        GatewayError::TooManyFailures { retry_after }
                    }
                }
            }
        }
    }

    /// Where a request comes from. Whatever comes through a listener has a peer.
    fn source(&self, peer: Option<Peer>, headers: &HeaderMap) -> Option<Source> {
        peer.map(|peer| self.proxies.client(peer, headers).into())
    }
}

/// Turns the request's credential into a [`Principal`], or answers 401, 429 or 503.
pub(crate) async fn authenticate(
    State(auth): State<Arc<Auth>>,
    mut request: Request,
    next: Next,
) -> Result<Response, GatewayError> {
    let peer = request.extensions().get::<Peer>().copied();
    let verified = auth.verify(request.headers(), peer).await;
    let principal =
        verified.map_err(|why| auth.refuse(&why, auth.source(peer, request.headers())))?;
    request.headers_mut().remove(AUTHORIZATION);
    request.extensions_mut().insert(principal);
    Ok(next.run(request).await)
}

/// The token of the one `Authorization: Bearer` header; two such headers are none. A token that
/// is not text is there all the same, and wrong.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (value, None) = (values.next()?, values.next()) else {
        return None;
    };
    let mut parts = value.as_bytes().splitn(2, |byte| *byte == b' ');
    let (scheme, token) = (parts.next()?, parts.next()?);
    let token = std::str::from_utf8(token).unwrap_or_default();
    scheme
        .eq_ignore_ascii_case(b"bearer")
        .then(|| token.trim_matches(' '))
}

#[cfg(test)]
mod tests {
    use archway_proto::catalog::Scope;

    use super::*;

    impl Auth {
        /// Behaves as if Postgres had just confirmed this key.
        pub(crate) async fn know_for_tests(&self, key: &key::KeyText, scopes: &[Scope]) {
            let principal = Principal::for_tests(scopes, None);
            self.know_as_for_tests(key, principal).await;
        }

        /// The same for this caller's key.
        pub(crate) async fn know_as_for_tests(&self, key: &key::KeyText, principal: Principal) {
            let (line, hash) = self.secret.hash_key(key.secret());
            let record = lookup::KeyRecord {
                secret_hash: hash,
                secret_line: line.to_owned(),
                live: true,
                expires_at: None,
                read: editions::Reading {
                    at: tokio::time::Instant::now(),
                    edition: 1,
                },
                principal,
            };
            self.keys.know_for_tests(key.id(), record).await;
        }
    }

    #[test]
    fn only_one_bearer_header_is_a_credential() {
        let headers = |values: &[&'static str]| {
            let mut map = HeaderMap::new();
            for value in values {
                map.append(AUTHORIZATION, http::HeaderValue::from_static(value));
            }
            map
        };
        for good in ["Bearer k", "bearer k", "BEARER  k"] {
            assert_eq!(bearer(&headers(&[good])), Some("k"), "{good}");
        }
        for bad in [
            &["Basic k"][..],
            &["Bearer"],
            &["k"],
            &["Bearer a", "Bearer a"],
            &[],
        ] {
            assert_eq!(bearer(&headers(bad)), None, "{bad:?}");
        }
    }
}
