//! OIDC issuers: which may sign tokens for which tenants, and what their tokens say.
//!
//! In the order in which a token passes them: `token` parses it. Its issuer must be configured
//! (`config`). Its key must be one of that issuer's (`source`, with a `keyring`, which `fetch` reads
//! into a `keyset`). The signature must match, and only then are the claims read (`claims`). Nothing
//! that a token says about itself decides where its key is looked up. `login` signs people in.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use archway_proto::catalog::Scope;

use super::{AuthError, failed_credentials::FailureReason};
use crate::metrics::Metrics;
use claims::LONGEST_LIFE;
use config::IssuerConfig;
use source::Signatures;

pub(super) use claims::VerifiedClaims;
pub use error::{IssuerProblem, IssuersError};
pub use login::LoginConfigError;
pub(crate) use login::{Attempt, CALLBACK, LoginError, LoginProvider, visible};
pub(super) use source::trusted;
pub(super) use token::UnverifiedToken;

mod document;
mod accounts;
mod config;
mod error;
mod source;
mod token;
mod keyring;
mod fetch;
mod keyset;
mod claims;
mod login;

/// All configured issuers.
pub(super) struct Issuers(Vec<Arc<Issuer>>);

/// A configured issuer.
pub(super) struct Issuer {
    pub(super) config: IssuerConfig,
    signatures: Signatures,
}

impl Issuers {
    /// Loads the issuers of a file.
    pub(super) fn load(path: &Path, metrics: &Arc<Metrics>) -> Result<Self, IssuersError> {
        let configs = config::load(path)?.into_iter().zip(1..);
        let issuers = configs.map(|(config, number)| {
            let signatures = Signatures::new(&config.source, LONGEST_LIFE, metrics);
            let signatures =
                signatures.map_err(|problem| IssuersError::Issuer { number, problem })?;
            Ok(Arc::new(Issuer { config, signatures }))
        });
        Ok(Issuers(issuers.collect::<Result<_, IssuersError>>()?))
    }

    /// Refreshes the keys of all issuers for as long as it is polled.
    pub(super) async fn run(&self) {
        futures::future::join_all(self.0.iter().map(|issuer| issuer.signatures.run())).await;
    }

    /// Verifies a token. Returns its issuer and its claims.
    pub(super) async fn check(
        &self,
        text: &str,
    ) -> Result<(Arc<Issuer>, VerifiedClaims), AuthError> {
        let token = UnverifiedToken::parse(text).ok_or(FailureReason::Malformed)?;
        let issuer = token.issuer().and_then(|name| self.find(name));
        let issuer = issuer.ok_or(FailureReason::UnknownIssuer)?;
        let claims = issuer.signatures.verified(token).await?;
        let claims = VerifiedClaims::new(&issuer.config, &claims)?;
        Ok((issuer.clone(), claims))
    }

    fn find(&self, name: &str) -> Option<&Arc<Issuer>> {
        self.0
            .iter()
            .find(|issuer| issuer.config.source.name == name)
    }

    /// Their names, in the order of the file.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .map(|issuer| issuer.config.source.name.as_str())
    }

    /// Whether clients request the same words for these scopes from every issuer. An issuer may
    /// refuse a request that contains a word it does not know (`invalid_scope`).
    pub(super) fn use_the_same_words(&self, scopes: &[Scope]) -> bool {
        let words = |issuer: &Arc<Issuer>| -> BTreeSet<String> {
            let words = scopes.iter().flat_map(|it| issuer.config.words_for(*it));
            words.map(str::to_owned).collect()
        };
        let mut vocabularies = self.0.iter().map(words);
        let first = vocabularies.next();
        vocabularies.all(|other| Some(other) == first)
    }

    /// All words that clients may request from an issuer to be granted these scopes, each once.
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
