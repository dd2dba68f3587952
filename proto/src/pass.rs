//! The pass: the only thing that identifies the caller to a worker.
//!
//! A JWT signed with Ed25519 (`EdDSA`, RFC 8037) that is valid for 30 s. A gateway mints one per principal
//! and pool and reuses it for 10 s. A worker verifies it once and caches the outcome, because signing and
//! verifying cost more than the whole gRPC hop. A stolen pass grants what its owner had, for at most half
//! a minute.

use std::{sync::Arc, time::Duration};

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use uuid::Uuid;

use crate::{access::covers_family, catalog::Scope};

pub use access::{PassAccess, PassHosted};

mod access;
pub mod files;

/// How long a pass is valid after it was minted.
pub const LIFETIME: Duration = Duration::from_secs(30);
/// How long a gateway reuses a pass.
pub const REUSE: Duration = Duration::from_secs(10);

const ISSUER: &str = "archway-gateway";
const AUDIENCE: &str = "archway-worker";
const CATALOG_AUDIENCE: &str = "archway-worker-catalog";

/// What a caller may do, as the gateway determined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// The tenant's id.
    pub tenant_id: Uuid,
    /// The tenant's slug: the first folder below the workers' mounts.
    pub tenant: String,
    /// Issuer and subject of the credential: `key:<lineage>` or `jwt:<issuer>:<subject>`.
    #[serde(rename = "sub")]
    pub principal: String,
    /// Slugs of the projects that the caller's credential is for; `None` for all of the tenant's.
    pub projects: Option<Vec<String>>,
    /// The project of calls that name none.
    pub default_project: Option<String>,
    /// The credential's scopes.
    pub scopes: Vec<Scope>,
    /// The tool families that the caller may call, besides the basics; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub families: Option<Vec<String>>,
    /// What the tenant's access rules say of the caller; `None` if the tenant has none. Then `projects` is empty, so
    /// that a worker that knows no rules shows nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<PassAccess>,
    /// What to ask hosts about, if hosts say who may read some of the tenant's projects. Then `projects` is empty and
    /// `access` is none, so that a worker that knows nothing of it shows nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosted: Option<PassHosted>,
    /// The worker pool for which the pass is valid.
    pub pool: String,
}

impl Pass {
    /// Slugs of the projects that the caller's credential is for; `None` for all of the tenant's.
    pub fn narrowed_to(&self) -> Option<&[String]> {
        match (&self.hosted, &self.access) {
            (Some(hosted), _) => hosted.projects.as_deref(),
            (None, Some(access)) => access.projects.as_deref(),
            (None, None) => self.projects.as_deref(),
        }
    }

    /// The access rules about the caller, ascending; `None` if its tenant has none.
    pub fn rules(&self) -> Option<&[i64]> {
        match (&self.hosted, &self.access) {
            (Some(hosted), _) => hosted.rules.as_deref(),
            (None, access) => access.as_ref().map(|access| access.rules.as_slice()),
        }
    }

    /// How often the tenant's rules, and what hosts say, had changed when the gateway read them; 0 if it has neither.
    pub fn edition(&self) -> i64 {
        match (&self.hosted, &self.access) {
            (Some(hosted), _) => hosted.edition,
            (None, access) => access.as_ref().map_or(0, |access| access.edition),
        }
    }

    /// Whether the caller's credential is for the project with this slug. Access rules may hide it nevertheless.
    pub fn is_for(&self, project: &str) -> bool {
        self.narrowed_to()
            .is_none_or(|slugs| slugs.iter().any(|slug| slug == project))
    }

    /// Whether the caller may call tools of this family that need this scope.
    pub fn may_call(&self, family: &str, scope: Scope) -> bool {
        covers_family(self.families.as_deref(), family) && self.holds(scope)
    }

    /// Whether the caller's credential has this scope.
    pub fn holds(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}

/// A pass on the wire. `Debug` hides it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PassToken(String);

impl PassToken {
    /// Wraps a received token.
    pub fn new(token: impl Into<String>) -> Self {
        PassToken(token.into())
    }

    /// The token's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for PassToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PassToken(…)")
    }
}

/// Why a pass could not be minted or verified.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// The private key is not a PKCS#8 Ed25519 key.
    #[error("the pass key is not an Ed25519 key in PKCS#8 form")]
    Key,
    /// Signing failed.
    #[error("signing a pass")]
    Sign(#[source] jsonwebtoken::errors::Error),
    /// No public key verifies the token, it has expired, or its audience is another.
    #[error("the pass is not valid here")]
    Refused(#[source] jsonwebtoken::errors::Error),
    /// The pass is for another worker pool.
    #[error("the pass is for another pool")]
    WrongPool,
}

/// The gateway's half: signs passes.
#[derive(Clone)]
pub struct PassMinter {
    key: EncodingKey,
    public: [u8; 32],
}

impl PassMinter {
    /// A minter with a new key, for processes that run both roles.
    pub fn generate() -> Result<Self, PassError> {
        use aws_lc_rs::signature::Ed25519KeyPair;
        let key = Ed25519KeyPair::generate().map_err(|_unspecified| PassError::Key)?;
        let document = key.to_pkcs8v1().map_err(|_unspecified| PassError::Key)?;
        PassMinter::from_pkcs8(document.as_ref())
    }

    /// A minter from an Ed25519 key in PKCS#8 DER.
    pub fn from_pkcs8(der: &[u8]) -> Result<Self, PassError> {
        use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
        let pair =
            Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map_err(|_rejected| PassError::Key)?;
        let public = pair
            .public_key()
            .as_ref()
            .try_into()
            .map_err(|_length| PassError::Key)?;
        Ok(PassMinter {
            key: EncodingKey::from_ed_der(der),
            public,
        })
    }

    /// The public key that workers need, 32 bytes.
    pub fn public_key(&self) -> [u8; 32] {
        self.public
    }

    /// Signs a pass that is valid from now for [`LIFETIME`].
    pub fn mint(&self, pass: &Pass) -> Result<PassToken, PassError> {
        self.sign(AUDIENCE, pass)
    }

    /// Signs a pass for reading the worker's catalogue, which belongs to no tenant.
    pub fn mint_catalog(&self) -> Result<PassToken, PassError> {
        self.sign(CATALOG_AUDIENCE, &NoTenant {})
    }

    fn sign<T: Serialize>(&self, audience: &str, body: &T) -> Result<PassToken, PassError> {
        let now = jsonwebtoken::get_current_timestamp();
        let claims = Claims {
            iss: ISSUER.to_owned(),
            aud: audience.to_owned(),
            exp: now + LIFETIME.as_secs(),
            body,
        };
        jsonwebtoken::encode(&Header::new(Algorithm::EdDSA), &claims, &self.key)
            .map(PassToken)
            .map_err(PassError::Sign)
    }
}

/// A worker's half: verifies passes with its public keys, for its own pool.
pub struct PassVerifier {
    keys: Vec<DecodingKey>,
    pool: String,
}

/// A pass whose signature, audience, pool and time were verified. Private fields: only [`PassVerifier`]
/// creates one.
#[derive(Clone, Debug)]
pub struct VerifiedPass {
    pass: Arc<Pass>,
    /// The Unix time, in seconds, from which the pass is invalid.
    expires_at: u64,
}

impl VerifiedPass {
    /// What the caller may do.
    pub fn pass(&self) -> &Arc<Pass> {
        &self.pass
    }

    /// Whether the pass is still valid.
    pub fn is_live(&self) -> bool {
        jsonwebtoken::get_current_timestamp() < self.expires_at
    }
}

impl PassVerifier {
    /// Trusts any of `public_keys` (two during a key rotation), for passes of `pool`.
    pub fn new(public_keys: &[[u8; 32]], pool: impl Into<String>) -> Self {
        let keys = public_keys
            .iter()
            .map(|key| DecodingKey::from_ed_der(key))
            .collect();
        PassVerifier {
            keys,
            pool: pool.into(),
        }
    }

    /// Verifies a caller's pass.
    pub fn verify(&self, token: &PassToken) -> Result<VerifiedPass, PassError> {
        let claims: Claims<Pass> = self.check(token, AUDIENCE)?;
        if claims.body.pool != self.pool {
            return Err(PassError::WrongPool);
        }
        Ok(VerifiedPass {
            pass: Arc::new(claims.body),
            expires_at: claims.exp,
        })
    }

    /// Verifies a pass for the catalogue.
    pub fn verify_catalog(&self, token: &PassToken) -> Result<(), PassError> {
        self.check::<NoTenant>(token, CATALOG_AUDIENCE)
            .map(|_claims| ())
    }

    fn check<T: DeserializeOwned>(
        &self,
        token: &PassToken,
        audience: &str,
    ) -> Result<Claims<T>, PassError> {
        let mut rules = Validation::new(Algorithm::EdDSA);
        rules.set_audience(&[audience]);
        rules.set_issuer(&[ISSUER]);
        rules.set_required_spec_claims(&["exp", "aud", "iss"]);
        rules.leeway = 0;
        // RFC 7519, 4.1.4: a token is invalid at `exp` itself. The crate accepts it until after `exp`.
        rules.reject_tokens_expiring_in_less_than = 1;
        let mut refusal = jsonwebtoken::errors::ErrorKind::InvalidSignature.into();
        for key in &self.keys {
            match jsonwebtoken::decode(token.as_str(), key, &rules) {
                Ok(data) => return Ok(data.claims),
                Err(error) => refusal = error,
            }
        }
        Err(PassError::Refused(refusal))
    }
}

#[derive(Serialize, Deserialize)]
struct Claims<T> {
    iss: String,
    aud: String,
    exp: u64,
    #[serde(flatten)]
    body: T,
}

#[derive(Serialize, Deserialize)]
struct NoTenant {}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass() -> Pass {
        Pass {
            tenant_id: Uuid::new_v4(),
            tenant: "acme".into(),
            principal: "key:1".into(),
            projects: Some(vec!["site".into()]),
            default_project: None,
            families: None,
            scopes: vec![Scope::ToolsRead],
            access: None,
            hosted: None,
            pool: "shared".into(),
        }
    }

    #[test]
    fn a_pass_is_valid_for_its_pool_under_its_key() {
        let minter = PassMinter::generate().unwrap();
        let token = minter.mint(&pass()).unwrap();
        let worker = PassVerifier::new(&[minter.public_key()], "shared");
        let verified = worker.verify(&token).unwrap();
        assert_eq!(verified.pass().tenant, "acme");
        assert!(verified.is_live());
        assert!(verified.pass().is_for("site") && !verified.pass().is_for("other"));

        let elsewhere = PassVerifier::new(&[minter.public_key()], "acme-only");
        assert!(matches!(
            elsewhere.verify(&token),
            Err(PassError::WrongPool)
        ));
        let stranger = PassMinter::generate().unwrap();
        let deaf = PassVerifier::new(&[stranger.public_key()], "shared");
        assert!(matches!(deaf.verify(&token), Err(PassError::Refused(_))));
    }

    #[test]
    fn both_keys_are_trusted_during_a_rotation() {
        let (old, new) = (
            PassMinter::generate().unwrap(),
            PassMinter::generate().unwrap(),
        );
        let worker = PassVerifier::new(&[new.public_key(), old.public_key()], "shared");
        assert!(worker.verify(&old.mint(&pass()).unwrap()).is_ok());
        assert!(worker.verify(&new.mint(&pass()).unwrap()).is_ok());
    }

    #[test]
    fn catalogue_passes_and_callers_passes_are_not_interchangeable() {
        let minter = PassMinter::generate().unwrap();
        let worker = PassVerifier::new(&[minter.public_key()], "shared");
        let catalog = minter.mint_catalog().unwrap();
        assert!(worker.verify_catalog(&catalog).is_ok());
        assert!(worker.verify(&catalog).is_err());
        assert!(
            worker
                .verify_catalog(&minter.mint(&pass()).unwrap())
                .is_err()
        );
    }

    #[test]
    fn a_changed_expired_or_unsigned_pass_is_refused() {
        let minter = PassMinter::generate().unwrap();
        let worker = PassVerifier::new(&[minter.public_key()], "shared");
        let token = minter.mint(&pass()).unwrap();
        let mut parts: Vec<&str> = token.as_str().split('.').collect();
        let unsigned = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0";
        parts[0] = unsigned;
        assert!(worker.verify(&PassToken::new(parts.join("."))).is_err());
        assert!(worker.verify(&ending_at(&minter, 1)).is_err());
        assert!(worker.verify(&PassToken::new("x")).is_err());
    }

    fn ending_at(minter: &PassMinter, exp: u64) -> PassToken {
        let claims = Claims {
            iss: ISSUER.into(),
            aud: AUDIENCE.into(),
            exp,
            body: pass(),
        };
        let header = Header::new(Algorithm::EdDSA);
        PassToken::new(jsonwebtoken::encode(&header, &claims, &minter.key).unwrap())
    }

    #[test]
    fn a_pass_is_refused_in_the_very_second_in_which_it_ends() {
        let minter = PassMinter::generate().unwrap();
        let worker = PassVerifier::new(&[minter.public_key()], "shared");
        // The clock never goes back: a pass that ends in this second has ended when it is verified.
        let now = jsonwebtoken::get_current_timestamp();
        let refused = worker.verify(&ending_at(&minter, now)).unwrap_err();
        assert!(matches!(refused, PassError::Refused(_)), "{refused:?}");
        let good = worker.verify(&ending_at(&minter, now + 60)).unwrap();
        assert!(good.is_live());
    }
}
