//! The usable keys of an issuer: a key set (RFC 7517) from an untrusted source.
//!
//! What a reader would get wrong: a set may contain anything, and one bad key does not spoil the
//! others. The algorithms of a key depend on its type, on its own `alg` and on what the issuer is
//! allowed. Two keys of one name for the same algorithm are ambiguous, so neither is used.

use std::sync::Arc;

use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse},
};
use serde::Deserialize;
use serde_json::Value;

use super::token::LONGEST_KEY_ID;

/// Maximum number of keys in a set.
const MOST_KEYS: usize = 100;
/// Bytes of an RSA modulus: 2048 to 8192 bits.
const MODULUS: std::ops::RangeInclusive<usize> = 256..=1024;

/// Why a key set can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeySetError {
    #[error("the key set is not a JSON object with `keys`")]
    Malformed(#[source] serde_json::Error),
    #[error("the key set has {0} keys: at most {MOST_KEYS} are read")]
    TooMany(usize),
}

/// The usable keys of an issuer.
#[derive(Debug, Default)]
pub(crate) struct KeySet(Vec<SigningKey>);

#[derive(Debug)]
struct SigningKey {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    key: Arc<DecodingKey>,
}

#[derive(Deserialize)]
struct JwkSet {
    keys: Vec<Value>,
}

impl KeySet {
    /// Parses a key set for an issuer that may sign by these algorithms.
    pub(super) fn parse(text: &[u8], allowed: &[Algorithm]) -> Result<Self, KeySetError> {
        let set: JwkSet = serde_json::from_slice(text).map_err(KeySetError::Malformed)?;
        if set.keys.len() > MOST_KEYS {
            return Err(KeySetError::TooMany(set.keys.len()));
        }
        let keys = set.keys.into_iter();
        let keys =
            keys.filter_map(|key| SigningKey::new(serde_json::from_value(key).ok()?, allowed));
        Ok(KeySet(keys.collect()))
    }

    /// Number of usable keys.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The only key of this name that fits the algorithm; without a name, the only one that fits.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<Arc<DecodingKey>> {
        let named = |key: &&SigningKey| id.is_none() || key.id.as_deref() == id;
        let mut fitting = self
            .0
            .iter()
            .filter(named)
            .filter(|key| key.algorithms.contains(&algorithm));
        match (fitting.next(), fitting.next()) {
            (Some(key), None) => Some(key.key.clone()),
            (None, _) | (Some(_), Some(_)) => None,
        }
    }
}

impl SigningKey {
    fn new(jwk: Jwk, allowed: &[Algorithm]) -> Option<Self> {
        let common = &jwk.common;
        let verifies =
            |operations: &Vec<KeyOperations>| operations.contains(&KeyOperations::Verify);
        let is_for_signing = common
            .public_key_use
            .as_ref()
            .is_none_or(|purpose| *purpose == PublicKeyUse::Signature)
            && common.key_operations.as_ref().is_none_or(verifies);
        let is_named = common
            .key_id
            .as_ref()
            .is_none_or(|id| id.len() <= LONGEST_KEY_ID);
        if !is_for_signing || !is_named {
            return None;
        }
        let declares = |algorithm: &Algorithm| {
            let own = common.key_algorithm;
            own.is_none_or(|own| own == KeyAlgorithm::from(*algorithm))
        };
        let fits = fitting(&jwk.algorithm);
        let algorithms = allowed
            .iter()
            .filter(|own| fits.contains(own) && declares(own));
        let algorithms: Vec<Algorithm> = algorithms.copied().collect();
        let key = DecodingKey::from_jwk(&jwk).ok().filter(is_strong)?;
        (!algorithms.is_empty()).then(|| SigningKey {
            id: jwk.common.key_id,
            algorithms,
            key: Arc::new(key),
        })
    }
}

/// The algorithms of a key type. A shared secret is not accepted as a key.
fn fitting(parameters: &AlgorithmParameters) -> &'static [Algorithm] {
    match parameters {
        AlgorithmParameters::RSA(_) => &[
            Algorithm::RS256,
            Algorithm::RS384,
            Algorithm::RS512,
            Algorithm::PS256,
            Algorithm::PS384,
            Algorithm::PS512,
        ],
        AlgorithmParameters::EllipticCurve(key) => match key.curve {
            EllipticCurve::P256 => &[Algorithm::ES256],
            EllipticCurve::P384 => &[Algorithm::ES384],
            _ => &[],
        },
        AlgorithmParameters::OctetKeyPair(key) => match key.curve {
            EllipticCurve::Ed25519 => &[Algorithm::EdDSA],
            _ => &[],
        },
        _ => &[],
    }
}

fn is_strong(key: &DecodingKey) -> bool {
    match key.kind() {
        DecodingKeyKind::RsaModulusExponent { n, .. } => MODULUS.contains(&n.len()),
        DecodingKeyKind::SecretOrDer(_) => key.family() != AlgorithmFamily::Hmac,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use serde_json::json;

    use super::*;

    const ALL: [Algorithm; 4] = [
        Algorithm::RS256,
        Algorithm::PS256,
        Algorithm::ES256,
        Algorithm::EdDSA,
    ];

    fn encoded(length: usize) -> String {
        URL_SAFE_NO_PAD.encode(vec![0xAB; length])
    }

    pub(in super::super) fn ed(id: &str) -> Value {
        json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": encoded(32) })
    }

    fn rsa(id: &str, bytes: usize) -> Value {
        json!({ "kty": "RSA", "kid": id, "n": encoded(bytes), "e": "AQAB" })
    }

    fn set(keys: Value) -> KeySet {
        KeySet::parse(json!({ "keys": keys }).to_string().as_bytes(), &ALL).unwrap()
    }

    #[test]
    fn a_key_is_found_by_its_name_for_the_algorithms_that_it_fits() {
        let keys = set(json!([rsa("r", 256), ed("e")]));
        assert!(keys.find(Some("r"), Algorithm::RS256).is_some());
        assert!(keys.find(Some("r"), Algorithm::PS256).is_some());
        assert!(keys.find(Some("r"), Algorithm::EdDSA).is_none());
        assert!(keys.find(Some("x"), Algorithm::RS256).is_none());
        assert!(keys.find(None, Algorithm::EdDSA).is_some(), "the only one");
        // The issuer is allowed fewer algorithms.
        let text = json!({ "keys": [rsa("r", 256)] }).to_string();
        let less = KeySet::parse(text.as_bytes(), &[Algorithm::PS256]).unwrap();
        assert!(less.find(Some("r"), Algorithm::RS256).is_none());
    }

    #[test]
    fn a_bad_key_does_not_spoil_the_others() {
        let mut for_encryption = ed("enc");
        for_encryption["use"] = json!("enc");
        let mut says_otherwise = rsa("ps", 256);
        says_otherwise["alg"] = json!("PS256");
        let keys = set(json!([
            { "kty": "oct", "kid": "oct", "k": encoded(32) },
            { "kty": "new", "kid": "new" },
            "no key", null, rsa("weak", 128), rsa("endless", 2000), for_encryption,
            { "kty": "EC", "crv": "secp256k1", "kid": "ec", "x": encoded(32), "y": encoded(32) },
            says_otherwise, ed("good"),
        ]));
        assert_eq!(keys.len(), 2, "{keys:?}");
        assert!(keys.find(Some("good"), Algorithm::EdDSA).is_some());
        assert!(keys.find(Some("ps"), Algorithm::RS256).is_none());
        assert!(keys.find(Some("ps"), Algorithm::PS256).is_some());
    }

    #[test]
    fn two_keys_of_one_name_for_one_algorithm_are_unusable() {
        let keys = set(json!([ed("a"), ed("a"), rsa("a", 256), ed("b")]));
        assert!(keys.find(Some("a"), Algorithm::EdDSA).is_none());
        assert!(keys.find(Some("a"), Algorithm::RS256).is_some());
        assert!(keys.find(Some("b"), Algorithm::EdDSA).is_some());
        assert!(keys.find(None, Algorithm::EdDSA).is_none());
    }

    #[test]
    fn a_malformed_or_oversized_set_is_refused() {
        let many: Vec<Value> = (0..101).map(|n| ed(&n.to_string())).collect();
        let text = json!({ "keys": many }).to_string();
        let refused = KeySet::parse(text.as_bytes(), &ALL);
        assert!(matches!(refused, Err(KeySetError::TooMany(101))));
        for bad in ["", "[]", "{}", r#"{"keys":{}}"#] {
            let refused = KeySet::parse(bad.as_bytes(), &ALL);
            assert!(matches!(refused, Err(KeySetError::Malformed(_))), "{bad}");
        }
    }
}
