//! A parsed token. Nothing but its form is trusted yet.
//!
//! What a reader would get wrong: a header may contain its own key or a link to one (`jwk`, `jku`,
//! `x5c`, `x5u`). None of these is read: the key is looked up by `kid` among the issuer's keys.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, DecodingKey, crypto};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{claims::least_age, source};

/// Maximum bytes of a token.
const LONGEST: usize = 16 * 1024;
/// Maximum bytes of a key's id.
pub(super) const LONGEST_KEY_ID: usize = 256;
/// Permitted `typ` values of an access token (RFC 9068; RFC 7519, 5.1).
const TYPES: [&str; 4] = ["JWT", "at+jwt", "application/at+jwt", "application/jwt"];

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

/// A token whose signature has not been checked.
pub(crate) struct UnverifiedToken<'a> {
    /// `None` for an algorithm that is never permitted: `none`, or one with a shared secret.
    pub(super) algorithm: Option<Algorithm>,
    pub(super) key_id: Option<String>,
    /// Header and claims as they were signed.
    signed: &'a str,
    signature: &'a str,
    claims: Map<String, Value>,
}

impl<'a> UnverifiedToken<'a> {
    /// Whether a text has the form of a token: three parts. No API key has it.
    pub(crate) fn is_one(text: &str) -> bool {
        text.bytes().filter(|byte| *byte == b'.').count() == 2
    }

    /// Parses a token; `None` if it is too large or malformed, is not an access token, or requires
    /// an extension.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        if text.len() > LONGEST || !Self::is_one(text) {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let header: Header = serde_json::from_slice(&decoded(header)?).ok()?;
        let fits = |typ: &String| TYPES.iter().any(|known| known.eq_ignore_ascii_case(typ));
        let is_plain = header.crit.is_none() && header.typ.as_ref().is_none_or(fits);
        let named = header
            .kid
            .as_ref()
            .is_none_or(|id| id.len() <= LONGEST_KEY_ID);
        if !is_plain || !named {
            return None;
        }
        Some(UnverifiedToken {
            algorithm: source::algorithm(&header.alg),
            key_id: header.kid,
            signed,
            signature,
            claims: serde_json::from_slice(&decoded(claims)?).ok()?,
        })
    }

    /// The issuer that it names.
    pub(super) fn issuer(&self) -> Option<&str> {
        self.claims.get("iss")?.as_str()
    }

    /// Its minimum age by its own claims; `None` if no key can make it valid.
    pub(super) fn least_age(&self, leeway: Duration, longest_life: f64) -> Option<Duration> {
        least_age(&self.claims, leeway, longest_life)
    }

    /// Its claims, if this key signed it with this algorithm.
    pub(super) fn verified(
        self,
        key: &DecodingKey,
        algorithm: Algorithm,
    ) -> Option<Map<String, Value>> {
        let signed = crypto::verify(self.signature, self.signed.as_bytes(), key, algorithm);
        // An error means a malformed key or signature.
        signed.unwrap_or(false).then_some(self.claims)
    }
}

fn decoded(part: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(part).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(header: &str, claims: &str) -> String {
        let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        format!("{}.{}.c2ln", encoded(header), encoded(claims))
    }

    fn is_read(header: &str) -> bool {
        UnverifiedToken::parse(&token(header, r#"{"iss":"a"}"#)).is_some()
    }

    #[test]
    fn a_token_is_two_json_objects_and_a_signature_within_bounds() {
        let good = token(r#"{"alg":"RS256","kid":"1"}"#, r#"{"iss":"a"}"#);
        let read = UnverifiedToken::parse(&good).unwrap();
        assert_eq!(read.issuer(), Some("a"));
        assert_eq!(read.key_id.as_deref(), Some("1"));
        let huge = token(
            r#"{"alg":"RS256"}"#,
            &format!(r#"{{"iss":"{}"}}"#, "a".repeat(LONGEST)),
        );
        for bad in [
            "",
            "..",
            "a.b.c",
            &format!("{good}.x"),
            good.rsplit_once('.').unwrap().0,
            &token("[]", "{}"),
            &token(r#"{"alg":"RS256"}"#, "[]"),
            &token(r#"{"kid":"1"}"#, "{}"),
            &huge,
        ] {
            assert!(UnverifiedToken::parse(bad).is_none(), "{bad:.40}");
        }
    }

    #[test]
    fn extensions_other_types_and_endless_key_ids_are_refused() {
        for good in [
            r#"{"alg":"RS256"}"#,
            r#"{"alg":"RS256","typ":"JWT"}"#,
            r#"{"alg":"RS256","typ":"AT+jwt"}"#,
            r#"{"alg":"RS256","jku":"https://evil.example","x5u":"x","jwk":{}}"#,
        ] {
            assert!(is_read(good), "{good}");
        }
        let endless = format!(r#"{{"alg":"RS256","kid":"{}"}}"#, "k".repeat(257));
        for bad in [
            r#"{"alg":"RS256","crit":["exp"]}"#,
            r#"{"alg":"RS256","typ":"logout+jwt"}"#,
            r#"{"alg":"RS256","alg":"none"}"#,
            r#"{"alg":"RS256","kid":7}"#,
            &endless,
        ] {
            assert!(!is_read(bad), "{bad}");
        }
    }

    #[test]
    fn only_algorithms_without_a_shared_secret_are_known() {
        for (name, known) in [
            ("ES256", true),
            ("EdDSA", true),
            ("none", false),
            ("HS256", false),
        ] {
            let token = token(&format!(r#"{{"alg":"{name}"}}"#), "{}");
            let read = UnverifiedToken::parse(&token).unwrap();
            assert_eq!(read.algorithm.is_some(), known, "{name}");
        }
    }
}
