//! The identity of a token's subject, as everything behind `auth` sees it.
//!
//! Two issuers may use one subject name for different people, so an identity combines both names,
//! and no choice of subject can produce an identity of another issuer.

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// Maximum bytes of a subject (OIDC Core 1.0, section 2).
pub(crate) const LONGEST_SUBJECT: usize = 255;
/// Characters of an issuer's digest in a principal's name: enough bits to separate the issuers of
/// one configuration. An attacker who can choose an issuer's name already controls that
/// configuration.
const ISSUER: usize = 16;
/// Characters of an id: 32 bytes in base64.
const ID: usize = 43;

/// A subject of an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    id: String,
    name: String,
}

impl Identity {
    /// The subject of this issuer; `None` if it is empty, longer than 255 bytes, or contains
    /// control characters.
    pub fn new(issuer: &str, subject: &str) -> Option<Identity> {
        let fits = (1..=LONGEST_SUBJECT).contains(&subject.len())
            && !subject.chars().any(char::is_control);
        // An issuer's URL contains no NUL, so no two pairs have the same bytes.
        let whole = || encoded(&[issuer, "\0", subject].concat());
        let by: String = encoded(issuer).chars().take(ISSUER).collect();
        fits.then(|| Identity {
            id: whole(),
            name: format!("jwt:{by}:{subject}"),
        })
    }

    /// Fixed in length, and reveals neither name: for logs, notifications and look-ups.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The key of the caller's rows, sessions and limits: `jwt:<issuer's digest>:<subject>`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether a text has the form of an id.
    pub(crate) fn is_id(text: &str) -> bool {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        text.len() == ID && text.bytes().all(fits)
    }
}

fn encoded(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "https://a.example";
    const B: &str = "https://b.example";

    fn of(issuer: &str, subject: &str) -> Identity {
        Identity::new(issuer, subject).unwrap()
    }

    #[test]
    fn the_same_subject_of_two_issuers_is_two_principals() {
        let (a, b) = (of(A, "42"), of(B, "42"));
        assert_ne!(a.id(), b.id());
        assert_ne!(a.name(), b.name());
        assert_eq!(a, of(A, "42"));
    }

    #[test]
    fn no_subject_yields_another_issuers_identity() {
        let victim = of(B, "42");
        let rest = victim.name().strip_prefix("jwt:").unwrap();
        for subject in [victim.name(), rest, "42:42", ":42", "key:1"] {
            let forged = of(A, subject);
            assert_ne!(forged.name(), victim.name(), "{subject}");
            assert!(forged.name().starts_with("jwt:"), "{subject}");
            assert_eq!(forged.name().split(':').nth(1).unwrap().len(), ISSUER);
        }
    }

    #[test]
    fn a_subject_is_bounded_and_an_id_has_its_form() {
        assert!(Identity::is_id(of(A, &"é".repeat(127)).id()));
        for bad in ["", "a\nb", "a\0b", &"a".repeat(256)] {
            assert_eq!(Identity::new(A, bad), None, "{bad:?}");
        }
        for bad in ["", "a1b2c3d4e5f6", &"+".repeat(43), &"a".repeat(44)] {
            assert!(!Identity::is_id(bad), "{bad}");
        }
    }
}
