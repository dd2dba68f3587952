//! Tokens of issuers: a valid one becomes a [`Principal`], as a key does.
//!
//! A verified token is cached by its digest for 30 s, so frequent callers rarely pay for a
//! signature check. What a reader would get wrong: only the signature check is cached. Whether the
//! token has expired, its tenant is disabled or its principal was revoked is checked on each call,
//! against records that change notifications invalidate.

use std::{sync::Arc, time::Duration};

use archway_proto::access::Caller;
use aws_lc_rs::digest::{SHA256, digest};
use parking_lot::Mutex;

use super::{
    AuthError,
    access::AccessRules,
    failed_credentials::FailureReason,
    issuers::{Issuer, Issuers, UnverifiedToken, VerifiedClaims},
    lookup::LookupError,
    principals::{PrincipalRecord, Principals},
    versions::RecordVersions,
};
use crate::{
    caller::{Principal, PrincipalFacts},
    store::Stores,
    terms::Terms,
};

/// How long a verified signature is trusted without a new check.
const VERIFIED_FOR: Duration = Duration::from_secs(30);
/// Tokens cached, at about a kilobyte each plus the lists of its issuer.
const MOST_VERIFIED: u64 = 20_000;

/// Verifies tokens.
pub(super) struct Tokens {
    issuers: Issuers,
    principals: Principals,
    verified: moka::sync::Cache<[u8; 32], Arc<VerifiedToken>>,
    versions: Arc<RecordVersions>,
}

/// A token whose signature and claims are valid.
struct VerifiedToken {
    issuer: Arc<Issuer>,
    claims: VerifiedClaims,
    /// The caller built from the last version of its record.
    caller: Mutex<Option<(u64, Principal)>>,
}

/// A caller, and the issuer of its token.
pub(super) struct TokenHolder {
    pub(super) principal: Principal,
    pub(super) issuer: Arc<Issuer>,
}

impl Tokens {
    /// Verifies what these issuers sign. `grace` is that of keys.
    pub(super) fn new(
        issuers: Issuers,
        stores: Stores,
        grace: Duration,
        access: AccessRules,
    ) -> Self {
        Tokens {
            issuers,
            versions: access.versions().clone(),
            principals: Principals::new(stores, grace, access),
            verified: moka::sync::Cache::builder()
                .max_capacity(MOST_VERIFIED)
                .time_to_live(VERIFIED_FOR)
                .build(),
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
        let (issuer, claims) = self.issuers.check(text).await?;
        let verified = Arc::new(VerifiedToken {
            issuer,

            claims,
            caller: Mutex::new(None),
        });
        self.verified.insert(key, verified.clone());
        self.vouch(&verified).await
    }

    /// Checks a verified token against the records of its principal and tenant in Postgres.
    async fn vouch(&self, token: &VerifiedToken) -> Result<TokenHolder, AuthError> {
        let claims = &token.claims;
        if claims.has_expired() {
            return Err(FailureReason::Expired.into());
        }
        let record = self.principals.find(&claims.tenant, &claims.identity).await;
        let record = record.map_err(|error| match &*error {
            LookupError::Unknown => AuthError::from(FailureReason::NotGood),
            unknown_yet => unknown_yet.into(),
        })?;
        if !record.is_good(claims.earliest) {
            return Err(FailureReason::NotGood.into());
        }
        Ok(TokenHolder {
            principal: self.principal(token, &record),
            issuer: token.issuer.clone(),
        })
    }

    /// The caller for this version of its record. Each token gets a version of its own, because two
    /// tokens of one principal may allow different things.
    fn principal(&self, token: &VerifiedToken, record: &PrincipalRecord) -> Principal {
        let mut caller = token.caller.lock();
        if let Some((version, principal)) = &*caller
            && *version == record.read.version
        {
            return principal.clone();
        }
        let (claims, rules) = (&token.claims, &token.issuer.config);
        let principal = Principal::new(PrincipalFacts {
            tenant_id: record.tenant_id,
            tenant: claims.tenant.clone(),
            name: claims.identity.name().to_owned(),
            credential: claims.identity.id().to_owned(),
            scopes: claims.scopes.clone(),
            projects: rules.projects.clone(),
            families: rules.families.clone(),
            default_project: rules.default_project.clone(),
            access: record.access.about(
                Caller::Token {
                    issuer: &rules.source.name,
                    subject: &claims.subject,
                    groups: &claims.groups,
                },
                &claims.accounts,
            ),
            pool: record.pool.clone(),
            terms: Terms::new(1, record.limits.clone()),
            version: self.versions.number(),
        });
        *caller = Some((record.read.version, principal.clone()));
        principal
    }
}
