//! OIDC issuers: who may sign tokens for which tenants, and what a token of theirs says.
//!
//! In the order a token meets them: it is taken apart (`token`), its issuer is one that the operator
//! named (`config`), the key is one of that issuer's (`keyring`, read by `fetch` into a `keyset`),
//! the signature is that key's, and only then are its claims looked at (`claims`). Nothing that a
//! token says of itself decides where its key is looked for.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use archway_proto::catalog::Scope;

use super::{AuthError, failures::FailureReason};
use crate::metrics::Metrics;
use config::IssuerConfig;
use fetch::KeySource;
use keyring::{Keyring, KeysUnavailable};

pub(super) use claims::VerifiedClaims;
pub(super) use config::trusted;
pub use error::{IssuerProblem, IssuersError};
pub(super) use token::UnverifiedToken;

mod document;
mod config;
mod error;
mod token;
mod keyring;
mod fetch;
mod keyset;
mod claims;

/// Every issuer that is believed.
pub(super) struct Issuers(Vec<Arc<Issuer>>);

/// One of them.
pub(super) struct Issuer {
    pub(super) config: IssuerConfig,
    keys: Keyring<KeySource>,
}

impl Issuers {
    /// The issuers that a file names.
    pub(super) fn load(path: &Path, metrics: &Arc<Metrics>) -> Result<Self, IssuersError> {
        let configs = config::load(path)?.into_iter().zip(1..);
        let issuers = configs.map(|(config, place)| {
            let source = KeySource::new(&config);
            let source = source.map_err(|problem| IssuersError::Issuer { place, problem })?;
            let keys = Keyring::new(&config.name, source, metrics.clone());
            Ok(Arc::new(Issuer { config, keys }))
        });
        Ok(Issuers(issuers.collect::<Result<_, IssuersError>>()?))
    }

    /// Reads the keys of all of them, again and again.
    pub(super) async fn keep(&self) {
        futures::future::join_all(self.0.iter().map(|issuer| issuer.keys.keep())).await;
    }

    /// Which issuer made a token, and what it says; unless it is not good.
    pub(super) async fn check(
        &self,
        text: &str,
    ) -> Result<(Arc<Issuer>, VerifiedClaims), AuthError> {
        let token = UnverifiedToken::parse(text).ok_or(FailureReason::Malformed)?;
        let issuer = token.issuer().and_then(|name| self.find(name));
        let issuer = issuer.ok_or(FailureReason::UnknownIssuer)?;
        let allowed = &issuer.config.algorithms;
        let algorithm = token.algorithm.filter(|one| allowed.contains(one));
        let algorithm = algorithm.ok_or(FailureReason::WrongAlgorithm)?;
        let age = token.least_age(issuer.config.leeway);
        let key = token.key_id.as_deref();
        let key = issuer.keys.find(key, algorithm, age).await;
        let key = key.map_err(|KeysUnavailable| AuthError::Unchecked)?;
        let key = key.ok_or(FailureReason::UnknownSigner)?;
        let claims = token.verified(&key, algorithm);
        let claims = claims.ok_or(FailureReason::WrongSignature)?;
        let facts = VerifiedClaims::new(&issuer.config, &claims)?;
        Ok((issuer.clone(), facts))
    }

    fn find(&self, name: &str) -> Option<&Arc<Issuer>> {
        self.0.iter().find(|issuer| issuer.config.name == name)
    }

    /// What they are called, in the order of the file.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|issuer| issuer.config.name.as_str())
    }

    /// Whether what clients ask one of them for is what they ask each of them for. An issuer may turn
    /// away whoever asks for a word that it does not know (`invalid_scope`).
    pub(super) fn speak_alike(&self, scopes: &[Scope]) -> bool {
        let words = |issuer: &Arc<Issuer>| -> BTreeSet<String> {
            let words = scopes.iter().flat_map(|it| issuer.config.words_for(*it));
            words.map(str::to_owned).collect()
        };
        let mut vocabularies = self.0.iter().map(words);
        let first = vocabularies.next();
        vocabularies.all(|other| Some(other) == first)
    }

    /// What clients ask any of them for to be granted these scopes, each once.
    pub(super) fn words_for(&self, scopes: &[Scope]) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for scope in scopes {
            for word in self
                .0
                .iter()
                .flat_map(|issuer| issuer.config.words_for(*scope))
            {
                if !words.iter().any(|known| known == word) {
                    words.push(word.to_owned());
                }
            }
        }
        words
    }
}
