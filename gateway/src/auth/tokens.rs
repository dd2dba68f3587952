//! Tokens of issuers: a good one becomes a [`Principal`], as a key does.
//!
//! A token that was verified is remembered by its digest for 30 s, so that agents which call often
//! pay for its signature now and then only. What a reader would get wrong: nothing else is
//! remembered with it. Whether its time is over, its tenant is disabled or its principal was
//! revoked is asked for each call, of records that are dropped when word of a change comes.

use std::{sync::Arc, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use parking_lot::Mutex;

use super::{
    AuthError,
    editions::Editions,
    failures::FailureReason,
    issuers::{Issuer, Issuers, UnverifiedToken, VerifiedClaims},
    lookup::LookupError,
    principals::{PrincipalRecord, Principals},
};
use crate::{
    caller::{Principal, PrincipalFacts},
    store::Stores,
    terms::Terms,
};

/// How long a signature is believed without being looked at.
const VERIFIED_FOR: Duration = Duration::from_secs(30);
/// Tokens remembered; at about a kilobyte each, and the lists that their issuer is narrowed to.
const MOST_VERIFIED: u64 = 20_000;

/// The checker of tokens.
pub(super) struct Tokens {
    issuers: Issuers,
    principals: Principals,
    verified: moka::sync::Cache<[u8; 32], Arc<VerifiedToken>>,
    editions: Arc<Editions>,
}

/// A token whose signature and claims were good.
struct VerifiedToken {
    issuer: Arc<Issuer>,
    facts: VerifiedClaims,
    /// The caller by the last reading of its record.
    caller: Mutex<Option<(u64, Principal)>>,
}

/// A caller, and who vouches for it.
pub(super) struct TokenHolder {
    pub(super) principal: Principal,
    pub(super) issuer: Arc<Issuer>,
}

impl Tokens {
    /// A checker of what these issuers sign. `grace` is that of keys.
    pub(super) fn new(
        issuers: Issuers,
        stores: Stores,
        grace: Duration,
        editions: Arc<Editions>,
    ) -> Self {
        Tokens {
            issuers,
            principals: Principals::new(stores, grace, editions.clone()),
            verified: moka::sync::Cache::builder()
                .max_capacity(MOST_VERIFIED)
                .time_to_live(VERIFIED_FOR)
                .build(),
            editions,
        }
    }

    /// Whether a text is a token rather than a key.
    pub(super) fn is_one(text: &str) -> bool {
        UnverifiedToken::is_one(text)
    }

    pub(super) fn issuers(&self) -> &Issuers {
        &self.issuers
    }

    /// The caller whose token this is.
    pub(super) async fn verify(&self, text: &str) -> Result<TokenHolder, AuthError> {
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
        if let Some(verified) = self.verified.get(&key) {
            return self.vouch(&verified).await;
        }
        let (issuer, facts) = self.issuers.check(text).await?;
        let verified = Arc::new(VerifiedToken {
            issuer,
            facts,
            caller: Mutex::new(None),
        });
        self.verified.insert(key, verified.clone());
        self.vouch(&verified).await
    }

    /// Holds a good token against what Postgres knows of its principal and tenant.
    async fn vouch(&self, token: &VerifiedToken) -> Result<TokenHolder, AuthError> {
        let facts = &token.facts;
        if facts.is_over() {
            return Err(FailureReason::Expired.into());
        }
        let record = self.principals.find(&facts.tenant, &facts.identity).await;
        let record = record.map_err(|error| match &*error {
            LookupError::Unknown => AuthError::from(FailureReason::NotGood),
            unknown_yet => unknown_yet.into(),
        })?;
        if !record.is_good(facts.earliest) {
            return Err(FailureReason::NotGood.into());
        }
        Ok(TokenHolder {
            principal: self.principal(token, &record),
            issuer: token.issuer.clone(),
        })
    }

    /// The caller by this reading of its record. Each token's has an edition of its own: two tokens
    /// of one principal may allow different things.
    fn principal(&self, token: &VerifiedToken, record: &PrincipalRecord) -> Principal {
        let mut caller = token.caller.lock();
        if let Some((edition, principal)) = &*caller
            && *edition == record.read.edition
        {
            return principal.clone();
        }
        let (facts, rules) = (&token.facts, &token.issuer.config);
        let principal = Principal::new(PrincipalFacts {
            tenant_id: record.tenant_id,
            tenant: facts.tenant.clone(),
            name: facts.identity.name().to_owned(),
            credential: facts.identity.id().to_owned(),
            scopes: facts.scopes.clone(),
            projects: rules.projects.clone(),
            families: rules.families.clone(),
            default_project: rules.default_project.clone(),
            pool: record.pool.clone(),
            terms: Terms::new(1, record.limits.clone()),
            edition: self.editions.number(),
        });
        *caller = Some((record.read.edition, principal.clone()));
        principal
    }
}
