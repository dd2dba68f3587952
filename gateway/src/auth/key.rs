//! The text of an API key: `awy_<12 id>_<32 secret>_<6 checksum>`, all base62.
//!
//! The id is public, the secret has 190 bits, and the checksum is plain arithmetic (CRC-32 of
//! what stands before it): it lets anyone, a secret scanner too, tell a typing error from a wrong
//! key without asking us, and spares the look-up. Knowing it proves nothing.

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
    /// The id of a text that has an id's form.
    pub(crate) fn parse(text: &str) -> Option<KeyId> {
        is_base62(text, ID_LENGTH).then(|| KeyId(text.to_owned()))
    }

    /// Its 12 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A key whose form is right, which says nothing about whether anyone issued it.
pub struct KeyText {
    id: KeyId,
    secret: SecretString,
}

impl KeyText {
    /// Makes a key of random characters.
    pub fn generate() -> Result<KeyText, Unspecified> {
        let (id, secret) = (random(ID_LENGTH)?, random(SECRET_LENGTH)?);
        Ok(KeyText {
            id: KeyId(id),
            secret: secret.into(),
        })
    }

    /// Reads a key; `None` for anything malformed or with another checksum.
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

    /// The whole key, as its owner gets it, once.
    pub fn text(&self) -> SecretString {
        let body = format!("{PREFIX}_{}_{}", self.id.as_str(), self.secret());
        format!("{body}_{}", checksum(&body)).into()
    }
}

fn is_base62(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Characters drawn evenly: bytes over the last multiple of 62 are thrown away.
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

/// CRC-32 as in IEEE 802.3, bit by bit: 49 bytes a request don't need a table.
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
