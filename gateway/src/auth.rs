//! Credentials: turns a request's key or token into a [`Principal`], or refuses the request.
//!
//! The second stop, after `server`'s checks of the HTTP message and before the body is read. A
//! wrong secret, an unknown id, a revoked or expired key and a disabled tenant get the same 401
//! after the same work. So does every invalid token. Only a missing credential looks different (RFC
//! 6750). A valid credential never gets 401 because Postgres or an issuer is down: that is 503. A
//! source that sends many invalid credentials gets 429 for them, and its valid ones are still
//! admitted.

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
    caller::{AuthenticatedAt, ClientAddress, Principal},
    error::GatewayError,
    metrics::Metrics,
    secrets::RootSecret,
    store::Stores,
};
use access::AccessRules;
use address::{Source, TrustedProxies};
use error::AuthError;
use failed_credentials::{FailedCredentials, FailureReason, TooManyFailures};
use issuers::{Issuer, Issuers};
use lookup::{Keys, LookupError};
use lookup_slots::Origin;
use tokens::{TokenHolder, Tokens};
use versions::RecordVersions;

pub use config::AuthConfig;
pub use identity::Identity;
pub use issuers::{IssuerProblem, IssuersError, LoginConfigError};
pub use key::{KeyId, KeyText};

pub(crate) use address::Peer;
pub(crate) use issuers::{Attempt, CALLBACK, LoginError, LoginProvider, visible};
pub(crate) use metadata::Metadata;

// Settings, client addresses, API keys, issuers' tokens, and what both have in common.
mod config;
mod access;
mod error;
mod address;
mod failed_credentials;
mod key;
mod lookup;
mod lookup_slots;
mod tokens;
mod issuers;
mod metadata;
mod identity;
mod principals;
mod versions;
mod pause;

/// Verifies credentials.
pub(crate) struct Auth {
    keys: Keys,
    tokens: Option<(Tokens, Metadata)>,
    versions: Arc<RecordVersions>,
    secret: Arc<RootSecret>,
    proxies: TrustedProxies,
    failures: FailedCredentials,
    metrics: Arc<Metrics>,
}

/// A caller, and its issuer unless it has an API key.
struct AuthenticatedCaller {
    principal: Principal,
    issuer: Option<Arc<Issuer>>,
}

impl Auth {
    /// A verifier with these settings.
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
        // A minute exceeds the maximum age of a record plus the duration of a query.
        let versions = Arc::new(RecordVersions::new(grace.max(Duration::from_secs(60))));
        let access = AccessRules::new(stores.clone(), versions.clone());
        let tokens = config.issuers().map(|path| {
            let issuers = Issuers::load(path, &metrics)?;
            let resource = config.resource.as_deref().filter(|url| !url.is_empty());
            let metadata = Metadata::new(resource.ok_or(IssuersError::NoResource)?, &issuers)?;
            let tokens = Tokens::new(issuers, stores.clone(), grace, access.clone());
            Ok((tokens, metadata))
        });
        Ok(Arc::new(Auth {
            keys: Keys::new(stores, grace, access),
            tokens: tokens.transpose()?,
            versions,
            secret,
            proxies: TrustedProxies::new(&config.trusted_proxies),
            failures: FailedCredentials::default(),
            metrics,
        }))
    }

    /// Refreshes the keys of issuers for as long as it is polled.
    pub(crate) async fn run(&self) {
        if let Some((tokens, _)) = &self.tokens {
            tokens.issuers().run().await;
        }
    }

    /// The metadata for clients, if issuers are configured.
    pub(crate) fn metadata(&self) -> Option<&Metadata> {
        self.tokens.as_ref().map(|(_, metadata)| metadata)
    }

    /// Records whether change notifications arrive. Without them, records are trusted for seconds
    /// only. Whatever changed in between is read when they arrive again.
    pub(crate) fn listening(&self, listening: bool) {
        self.versions.set_listening(listening);
    }

    /// Drops what is cached about the key of this id.
    pub(crate) async fn key_changed(&self, id: &str) {
        if let Some(id) = KeyId::parse(id) {
            self.keys.key_changed(&id).await;
        }
    }

    /// Drops what is cached about the principal of this id. Its next call reads it again.
    pub(crate) fn principal_changed(&self, id: &str) {
        if Identity::is_id(id) {
            self.versions.holder_changed(id);
        }
    }

    /// Drops what is cached about a tenant's keys and principals.
    pub(crate) fn tenant_changed(&self, tenant: Uuid) {
        self.versions.tenant_changed(tenant);
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
                    // The same work as for a wrong secret, so that timing reveals nothing.
                    self.secret.key_matches("", key.secret(), &[0; 32]);
                    Err(AuthError::Bad(FailureReason::Unknown))
                }
                unknown_yet => Err(unknown_yet.into()),
            },
        }
    }

    /// The answer to a request without a [`Principal`]. Counts only invalid credentials: clients
    /// request the challenge by sending none, and a credential that cannot be verified is not their
    /// fault.
    fn refuse(&self, why: &AuthError, source: Option<Source>) -> GatewayError {
        match why {
            AuthError::Missing => GatewayError::NoCredential,
            AuthError::Unchecked => GatewayError::CredentialUnchecked,
            // A source that failed too often causes the crowd itself, so it gets 429. Postgres is
            // healthy.
            AuthError::Crowded => match source.and_then(|source| self.failures.exhausted(source)) {
                Some(too_many) => self.throttled(too_many),
                None => GatewayError::CredentialUnchecked,
            },
            AuthError::Bad(FailureReason::TooManyGroups) => GatewayError::TooManyGroups,
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

    /// The source of a request. Every request from a listener has a peer.
    fn source(&self, peer: Option<Peer>, headers: &HeaderMap) -> Option<Source> {
        peer.map(|peer| self.proxies.client(peer, headers).into())
    }
}

/// Turns the request's credential into a [`Principal`], or answers 401, 429 or 503. Where issuers
/// are configured, a refusal for a missing credential or scope says where to get tokens.
pub(crate) async fn authenticate(
    State(auth): State<Arc<Auth>>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<Peer>().copied();
    let (mut response, issuer) = match auth.verify(request.headers(), peer).await {
        Ok(AuthenticatedCaller { principal, issuer }) => {
            if let Some(peer) = peer {
                let client = auth.proxies.client(peer, request.headers());
                request.extensions_mut().insert(ClientAddress(client));
            }
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

/// The token of the only `Authorization: Bearer` header; two such headers count as none. A token
/// that is not valid UTF-8 is present but wrong.
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
        pub(crate) async fn insert_for_tests(&self, key: &KeyText, scopes: &[Scope]) {
            let principal = Principal::for_tests(scopes, None);
            self.insert_as_for_tests(key, principal).await;
        }

        /// The same for the key of this caller.
        pub(crate) async fn insert_as_for_tests(&self, key: &KeyText, principal: Principal) {
            let (line, hash) = self.secret.hash_key(key.secret());
            let record = lookup::KeyRecord {
                secret_hash: hash,
                secret_line: line.to_owned(),
                live: true,
                expires_at: None,
                read: versions::RecordVersion {
                    at: tokio::time::Instant::now(),
                    version: 1,
                },
                used_slot: false,
                principal,
            };
            self.keys.insert_for_tests(key.id(), record).await;
        }
    }

    #[tokio::test]
    async fn under_load_a_failing_source_gets_429_and_others_503() {
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
