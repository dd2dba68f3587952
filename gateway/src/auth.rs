//! Credentials: the request's key or token becomes a [`Principal`], or the request ends here.
//!
//! The second stop, after `server`'s checks of the envelope and before anything of the body is
//! read. A wrong secret, an unknown id, a revoked or expired key and a disabled tenant get the
//! same 401 after the same work, and so does every token that is not good; only "no credential at
//! all" looks different (RFC 6750). A good one is never answered 401 because Postgres or an issuer
//! is away: that is 503. Who sends many bad ones gets 429 for them, and is never refused a good one.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, header::AUTHORIZATION};
use uuid::Uuid;

use crate::{
    caller::{AuthenticatedAt, Principal},
    error::GatewayError,
    metrics::Metrics,
    secrets::RootSecret,
    store::Stores,
};
use address::{Source, TrustedProxies};
use editions::Editions;
use failures::{FailedCredentials, FailureReason, TooManyFailures};
use issuers::{Issuer, Issuers};
use lookup::{Keys, LookupError};
use lookup_slots::Origin;
use tokens::{TokenHolder, Tokens};

pub use config::AuthConfig;
pub use identity::Identity;
pub use issuers::{IssuerProblem, IssuersError};
pub use key::{KeyId, KeyText};

pub(crate) use address::Peer;
pub(crate) use metadata::Metadata;

// How they are checked, where they come from, keys, tokens of issuers, and what both come to.
mod config;
mod address;
mod failures;
mod key;
mod lookup;
mod lookup_slots;
mod tokens;
mod issuers;
mod metadata;
mod identity;
mod principals;
mod editions;
mod pause;

/// The checker of credentials.
pub(crate) struct Auth {
    keys: Keys,
    tokens: Option<(Tokens, Metadata)>,
    editions: Arc<Editions>,
    secret: Arc<RootSecret>,
    proxies: TrustedProxies,
    failures: FailedCredentials,
    metrics: Arc<Metrics>,
}

/// Why a request has no [`Principal`].
#[derive(Clone, Copy, Debug)]
enum AuthError {
    /// It has no credential.
    Missing,
    /// It has one that isn't good.
    Bad(FailureReason),
    /// Nobody can say now whether its credential is good.
    Unchecked,
    /// Nobody says, because too many ask.
    Crowded,
}

impl From<&LookupError> for AuthError {
    /// Why it can't be said whether a credential is good.
    fn from(error: &LookupError) -> Self {
        match error {
            LookupError::Crowded => AuthError::Crowded,
            _ => AuthError::Unchecked,
        }
    }
}

impl From<FailureReason> for AuthError {
    fn from(reason: FailureReason) -> Self {
        AuthError::Bad(reason)
    }
}

/// A caller, and the issuer that vouches for it, unless it has a key.
struct AuthenticatedCaller {
    principal: Principal,
    issuer: Option<Arc<Issuer>>,
}

impl Auth {
    /// A checker as configured.
    ///
    /// # Errors
    /// If the issuers can't be used.
    pub(crate) fn new(
        config: &AuthConfig,
        stores: Stores,
        secret: Arc<RootSecret>,
        metrics: Arc<Metrics>,
    ) -> Result<Arc<Self>, IssuersError> {
        let grace = config.key_grace;
        // A minute is longer than a record may be fresh, and a question take, together.
        let editions = Arc::new(Editions::new(grace.max(Duration::from_secs(60))));
        let tokens = config.issuers().map(|path| {
            let issuers = Issuers::load(path, &metrics)?;
            let resource = config.resource.as_deref().filter(|url| !url.is_empty());
            let metadata = Metadata::new(resource.ok_or(IssuersError::NoResource)?, &issuers)?;
            let tokens = Tokens::new(issuers, stores.clone(), grace, editions.clone());
            Ok((tokens, metadata))
        });
        Ok(Arc::new(Auth {
            keys: Keys::new(stores, grace, editions.clone()),
            tokens: tokens.transpose()?,
            editions,
            secret,
            proxies: TrustedProxies::new(&config.trusted_proxies),
            failures: FailedCredentials::default(),
            metrics,
        }))
    }

    /// Keeps what is known of issuers, for as long as it is polled.
    pub(crate) async fn keep(&self) {
        if let Some((tokens, _)) = &self.tokens {
            tokens.issuers().keep().await;
        }
    }

    /// What clients are told about tokens, where there are issuers.
    pub(crate) fn metadata(&self) -> Option<&Metadata> {
        self.tokens.as_ref().map(|(_, metadata)| metadata)
    }

    /// Whether word of changes is heard: without it, records are kept for seconds only. What
    /// happened while it was not is looked for.
    pub(crate) fn listening(&self, listening: bool) {
        self.editions.set_listening(listening);
    }

    /// Forgets what is known of the key of this id.
    pub(crate) async fn key_changed(&self, id: &str) {
        if let Some(id) = KeyId::parse(id) {
            self.keys.key_changed(&id).await;
        }
    }

    /// Forgets what is known of the principal of this id. Asked about again at its next call.
    pub(crate) fn principal_changed(&self, id: &str) {
        if Identity::is_id(id) {
            self.editions.holder_changed(id);
        }
    }

    /// Forgets what is known of a tenant's keys and principals.
    pub(crate) fn tenant_changed(&self, tenant: Uuid) {
        self.editions.tenant_changed(tenant);
    }

    /// The caller whose key or token the headers carry.
    async fn verify(
        &self,
        headers: &HeaderMap,
        peer: Option<Peer>,
    ) -> Result<AuthenticatedCaller, AuthError> {
        let credential = bearer(headers).ok_or(AuthError::Missing)?;
        match &self.tokens {
            Some((tokens, _)) if Tokens::is_one(credential) => {
                let TokenHolder { principal, issuer } = tokens.verify(credential).await?;
                let issuer = Some(issuer);
                Ok(AuthenticatedCaller { principal, issuer })
            }
            _ => {
                let principal = self.verify_key(credential, headers, peer).await?;
                let issuer = None;
                Ok(AuthenticatedCaller { principal, issuer })
            }
        }
    }

    /// The caller whose key this is.
    async fn verify_key(
        &self,
        text: &str,
        headers: &HeaderMap,
        peer: Option<Peer>,
    ) -> Result<Principal, AuthError> {
        let key = KeyText::parse(text).ok_or(FailureReason::Malformed)?;
        let origin = || {
            let source = self.source(peer, headers);
            let is_suspect = source.is_some_and(|it| self.failures.exhausted(it).is_some());
            Origin { source, is_suspect }
        };
        let began = tokio::time::Instant::now();
        match self.keys.find(key.id(), &origin).await {
            Ok(record) => {
                let (line, hash) = (&record.secret_line, &record.secret_hash);
                let reason = if !self.secret.key_matches(line, key.secret(), hash) {
                    FailureReason::WrongSecret
                } else if !record.is_good() {
                    FailureReason::NotGood
                } else {
                    return Ok(record.principal.clone());
                };
                let spent = self
                    .keys
                    .spend_as_unknown(key.id(), &record, began, &origin);
                Err(match spent.await {
                    Ok(()) => AuthError::Bad(reason),
                    Err(why) => (&why).into(),
                })
            }
            Err(error) => match &*error {
                LookupError::Unknown => {
                    // The work that a wrong secret costs, so that the time tells nothing.
                    self.secret.key_matches("", key.secret(), &[0; 32]);
                    Err(AuthError::Bad(FailureReason::Unknown))
                }
                unknown_yet => Err(unknown_yet.into()),
            },
        }
    }

    /// The answer to a request without a [`Principal`]. Only a bad credential is counted: none is
    /// how clients ask for the challenge, and one that can't be checked is no fault of theirs.
    fn refuse(&self, why: &AuthError, source: Option<Source>) -> GatewayError {
        match why {
            AuthError::Missing => GatewayError::NoCredential,
            AuthError::Unchecked => GatewayError::CredentialUnchecked,
            // Who fails too often makes the crowd, and is told so: nothing is wrong with Postgres.
            AuthError::Crowded => match source.and_then(|source| self.failures.exhausted(source)) {
                Some(too_many) => self.throttled(too_many),
                None => GatewayError::CredentialUnchecked,
            },
            AuthError::Bad(reason) => {
                match source.map_or(Ok(()), |source| self.failures.note(source)) {
                    Ok(()) => {
                        self.metrics.failed_credential(reason.label());
                        GatewayError::BadCredential
                    }
                    Err(too_many) => self.throttled(too_many),
                }
            }
        }
    }

    fn throttled(&self, TooManyFailures { retry_after }: TooManyFailures) -> GatewayError {
        self.metrics.failed_credential("throttled");
        GatewayError::TooManyFailures { retry_after }
    }

    /// Where a request comes from. Whatever comes through a listener has a peer.
    fn source(&self, peer: Option<Peer>, headers: &HeaderMap) -> Option<Source> {
        peer.map(|peer| self.proxies.client(peer, headers).into())
    }
}

/// Turns the request's credential into a [`Principal`], or answers 401, 429 or 503. A refusal for
/// want of a credential or a scope says where tokens come from, if they come from anywhere.
pub(crate) async fn authenticate(
    State(auth): State<Arc<Auth>>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    let (mut response, issuer) = match auth.verify(request.headers(), peer).await {
        Ok(AuthenticatedCaller { principal, issuer }) => {
            request.headers_mut().remove(AUTHORIZATION);
            request.extensions_mut().insert(principal);
            request
                .extensions_mut()
                .insert(AuthenticatedAt(SystemTime::now()));
            (next.run(request).await, issuer)
        }
        Err(why) => {
            let refusal = auth.refuse(&why, auth.source(peer, request.headers()));
            (refusal.into_response(), None)
        }
    };
    if let Some(metadata) = auth.metadata() {
        metadata.complete(&mut response, issuer.as_deref());
    }
    response
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
        pub(crate) async fn know_for_tests(&self, key: &KeyText, scopes: &[Scope]) {
            let principal = Principal::for_tests(scopes, None);
            self.know_as_for_tests(key, principal).await;
        }

        /// The same for this caller's key.
        pub(crate) async fn know_as_for_tests(&self, key: &KeyText, principal: Principal) {
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
                used_slot: false,
                principal,
            };
            self.keys.know_for_tests(key.id(), record).await;
        }
    }

    #[tokio::test]
    async fn in_a_crowd_who_failed_too_often_is_told_to_wait_and_others_to_come_again() {
        let line = RootSecret::generate_line().unwrap();
        let secret = Arc::new(RootSecret::parse(&line).unwrap());
        let nowhere = sqlx::postgres::PgConnectOptions::new().socket("/nonexistent");
        let stores = Stores::with_options(nowhere, 1);
        let metrics = Arc::new(Metrics::new());
        let auth = Auth::new(&AuthConfig::default(), stores, secret, metrics).unwrap();
        let [here, there] = [Source::V4(1), Source::V4(2)];
        while auth.failures.note(here).is_ok() {}
        for (why, source, is_told_to_wait) in [
            (AuthError::Crowded, here, true),
            (AuthError::Crowded, there, false),
            (AuthError::Unchecked, here, false),
        ] {
            let answer = auth.refuse(&why, Some(source));
            let waits = matches!(answer, GatewayError::TooManyFailures { .. });
            let comes_again = matches!(answer, GatewayError::CredentialUnchecked);
            assert_eq!((waits, comes_again), (is_told_to_wait, !is_told_to_wait));
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
