//! The text of an API key: `awy_<12 id>_<32 secret>_<6 checksum>`, all base62.
//!
//! The id is public and the secret has 190 bits. The checksum is the CRC-32 of the text before it,
//! so anyone, including a secret scanner, can tell a typo from a wrong key without a query to
//! Archway. A correct checksum proves nothing.

use aws_lc_rs::{error::Unspecified, rand};
use secrecy::{ExposeSecret, SecretString};

const PREFIX: &str = "awy";
const ID_LENGTH: usize = 12;
const SECRET_LENGTH: usize = 32;
const CHECKSUM_LENGTH: usize = 6;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The public part of a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyId(String);

impl KeyId {
    /// Parses an id; `None` if the text does not have the form of one.
    pub(crate) fn parse(text: &str) -> Option<KeyId> {
        is_base62(text, ID_LENGTH).then(|| KeyId(text.to_owned()))
    }

    /// Its 12 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A well-formed key, which may never have been issued.
pub struct KeyText {
    id: KeyId,
    secret: SecretString,
}

impl KeyText {
    /// Generates a random key.
    pub fn generate() -> Result<KeyText, Unspecified> {
        let (id, secret) = (random(ID_LENGTH)?, random(SECRET_LENGTH)?);
        Ok(KeyText {
            id: KeyId(id),
            secret: secret.into(),
        })
    }

    /// Parses a key; `None` if it is malformed or its checksum is wrong.
    pub fn parse(text: &str) -> Option<KeyText> {
        let (body, checksum) = text.rsplit_once('_')?;
        let mut parts = body.split('_');
        let (prefix, id, secret) = (parts.next()?, parts.next()?, parts.next()?);
        let is_key = prefix == PREFIX
            && parts.next().is_none()
            && is_base62(id, ID_LENGTH)
            && is_base62(secret, SECRET_LENGTH)
            && checksum == self::checksum(body);
        is_key.then(|| KeyText {
            id: KeyId(id.to_owned()),
            secret: secret.into(),
        })
    }

    /// The public part.
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// The secret part. Hash it or compare it; never print it.
    pub fn secret(&self) -> &str {
        self.secret.expose_secret()
    }

    /// The whole key, which its owner sees once.
    pub fn text(&self) -> SecretString {
        let body = format!("{PREFIX}_{}_{}", self.id.as_str(), self.secret());
        format!("{body}_{}", checksum(&body)).into()
    }
}

fn is_base62(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Uniformly distributed characters: bytes above the last multiple of 62 are discarded.
fn random(length: usize) -> Result<String, Unspecified> {
    let mut text = String::with_capacity(length);
    while text.len() < length {
        let mut bytes = [0; 64];
        rand::fill(&mut bytes)?;
        let missing = length - text.len();
        let even = bytes.iter().filter(|byte| **byte < 248).take(missing);
        text.extend(even.map(|byte| char::from(ALPHABET[usize::from(byte % 62)])));
    }
    Ok(text)
}

fn checksum(body: &str) -> String {
    let mut rest = crc32(body.as_bytes());
    let mut digits = [b'0'; CHECKSUM_LENGTH];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[(rest % 62) as usize];
        rest /= 62;
    }
    digits.iter().copied().map(char::from).collect()
}

/// CRC-32 as in IEEE 802.3, bit by bit: 49 bytes per request do not justify a table.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _bit in 0..8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xEDB8_8320
            } else {
                crc >> 1
            };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_published_crc() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn a_generated_key_reads_back() {
        let key = KeyText::generate().unwrap();
        let text = key.text();
        let text = text.expose_secret();
        assert_eq!(text.len(), 3 + 1 + 12 + 1 + 32 + 1 + 6);
        let read = KeyText::parse(text).unwrap();
        assert_eq!((read.id(), read.secret()), (key.id(), key.secret()));
    }

    #[test]
    fn a_changed_character_anywhere_is_malformed() {
        let text = KeyText::generate().unwrap().text();
        let text = text.expose_secret();
        for index in 0..text.len() {
            let mut changed = text.as_bytes().to_vec();
            changed[index] = if changed[index] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(KeyText::parse(&changed).is_none(), "{changed}");
        }
        for bad in [
            "",
            "awy",
            "awy___",
            &format!("{text}_"),
            &format!(" {text}"),
            "é_é_é_é",
        ] {
            assert!(KeyText::parse(bad).is_none(), "{bad}");
        }
    }
}
