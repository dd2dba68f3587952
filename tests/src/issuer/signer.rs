//! A key that signs tokens, valid and forged.

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    rsa::{KeyPair, KeySize},
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, crypto, jwk::Jwk};
use serde_json::{Value, json};

/// Length in bytes of the PKCS#8 header before an RSA key of 2048 bits.
const WRAPPING: usize = 26;

/// A private key, its id and its algorithm.
#[derive(Debug)]
pub struct Signer {
    id: String,
    name: &'static str,
    algorithm: Algorithm,
    key: EncodingKey,
}

impl Signer {
    /// A new key of 2048 bits for RS256.
    pub fn rsa(id: &str) -> Signer {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).unwrap();
        // The signing library takes PKCS#1, which PKCS#8 wraps.
        let key = EncodingKey::from_rsa_der(&der.as_ref()[WRAPPING..]);
        Signer::new(id, "RS256", Algorithm::RS256, key)
    }

    /// A new key on P-256, for ES256.
    pub fn ec(id: &str) -> Signer {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let der = pair.to_pkcs8v1().unwrap();
        let key = EncodingKey::from_ec_der(der.as_ref());
        Signer::new(id, "ES256", Algorithm::ES256, key)
    }

    /// A new key on Ed25519, for `EdDSA`.
    pub fn ed(id: &str) -> Signer {
        let der = Ed25519KeyPair::generate().unwrap().to_pkcs8v1().unwrap();
        let key = EncodingKey::from_ed_der(der.as_ref());
        Signer::new(id, "EdDSA", Algorithm::EdDSA, key)
    }

    /// A shared secret, for HS256.
    pub fn secret(id: &str, secret: &[u8]) -> Signer {
        let key = EncodingKey::from_secret(secret);
        Signer::new(id, "HS256", Algorithm::HS256, key)
    }

    fn new(id: &str, name: &'static str, algorithm: Algorithm, key: EncodingKey) -> Signer {
        let id = id.to_owned();
        Signer {
            id,
            name,
            algorithm,
            key,
        }
    }

    /// The public key as a JWK.
    pub fn public(&self) -> Value {
        let jwk = Jwk::from_encoding_key(&self.key, self.algorithm).unwrap();
        let mut jwk = serde_json::to_value(jwk).unwrap();
        jwk["kid"] = json!(self.id);
        jwk["use"] = json!("sig");
        jwk
    }

    /// The JOSE header of its tokens.
    pub fn header(&self) -> Value {
        json!({ "alg": self.name, "typ": "at+jwt", "kid": self.id })
    }

    /// A token with these claims.
    pub fn sign(&self, claims: &Value) -> String {
        self.sign_as(&self.header(), claims)
    }

    /// A token with these claims and this header.
    pub fn sign_as(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", encoded(header), encoded(claims));
        let signature = crypto::sign(signed.as_bytes(), &self.key, self.algorithm).unwrap();
        format!("{signed}.{signature}")
    }
}

/// A part of a token, base64url-encoded.
pub fn encoded(part: &Value) -> String {
    URL_SAFE_NO_PAD.encode(part.to_string())
}
