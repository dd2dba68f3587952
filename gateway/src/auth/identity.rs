//! Who the subject of an issuer's token is, to everything behind `auth`.
//!
//! Two issuers may call different people the same, so an identity is made of both names, and
//! nobody can choose a subject that makes it another issuer's.

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// Bytes of a subject at most (OIDC Core 1.0, section 2).
pub(crate) const LONGEST_SUBJECT: usize = 255;
/// Characters of an issuer's digest in a principal's name: as many bits as tell the issuers of one
/// configuration apart. Whoever could choose an issuer's name writes that configuration.
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
    /// The subject of this issuer; `None` for one that is empty, longer than 255 bytes, or holds
    /// control characters.
    pub fn new(issuer: &str, subject: &str) -> Option<Identity> {
        let fits = (1..=LONGEST_SUBJECT).contains(&subject.len())
            && !subject.chars().any(char::is_control);
        // No issuer's URL holds a NUL, so no two pairs share these bytes.
        let whole = || encoded(&[issuer, "\0", subject].concat());
        let by: String = encoded(issuer).chars().take(ISSUER).collect();
        fits.then(|| Identity {
            id: whole(),
            name: format!("jwt:{by}:{subject}"),
        })
    }

    /// Of a fixed length, and says nothing of either name: for logs, notifications and look-ups.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What the caller's rows, sessions and limits go by: `jwt:<issuer's digest>:<subject>`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether a text has an id's form.
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
    fn no_subject_reads_as_another_issuers() {
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
