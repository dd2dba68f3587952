//! The root secret, which only gateways may hold.
//!
//! A file with one `id:base64` per line, newest first. No line is used directly: each purpose has a
//! key of its own, derived by HKDF (RFC 5869) under a label, so one leaked key reveals nothing
//! about another. New signatures use the first line; older lines still verify what they signed,
//! which is how the secret is rotated.

use std::{
    io::Read,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use aws_lc_rs::{
    aead::{AES_256_GCM_SIV, LessSafeKey, UnboundKey},
    hkdf, hmac, rand,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};

mod sealed;

/// Enough for some hundred lines. A longer file is not a root secret, or has no end (a device).
const LARGEST_FILE: u64 = 64 * 1024;
/// Minimum bytes per line.
const LEAST_BYTES: usize = 32;
/// A random line of 32 bytes has fewer distinct bytes than this with a probability below 10^-16.
const LEAST_DISTINCT: usize = 16;

/// Why a root secret was rejected. Never contains the secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file can't be read.
    #[error(
        "reading the root secret from {}: `archway secret generate` makes a line for it",
        path.display()
    )]
    Read {
        /// Its expected path.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// The file has no line.
    #[error("the root secret is empty: make one with `archway secret generate`")]
    Empty,
    /// A line is not `id:base64`, or two lines share an id.
    #[error("line {line} of the root secret is not `id:base64` with an id of its own")]
    Malformed {
        /// Counted from 1.
        line: usize,
    },
    /// A line is too short, or a publicly known value.
    #[error(
        "line {line} of the root secret is weak (under 256 bits, or an example): \
         make one with `archway secret generate`"
    )]
    Weak {
        /// Counted from 1.
        line: usize,
    },
    /// The system returned no random bytes, or a derivation failed.
    #[error("the cryptographic library failed")]
    Crypto,
}

impl From<aws_lc_rs::error::Unspecified> for SecretError {
    fn from(_says_nothing: aws_lc_rs::error::Unspecified) -> Self {
        SecretError::Crypto
    }
}

/// The root secret with its derived keys. `Debug` prints only the ids of its lines.
pub struct RootSecret {
    newest: SecretLine,
    older: Vec<SecretLine>,
}

struct SecretLine {
    id: String,
    api_keys: hmac::Key,
    cursors: LessSafeKey,
    cookies: LessSafeKey,
    sessions: hmac::Key,
    arguments: hmac::Key,
    records: hmac::Key,
}

impl RootSecret {
    /// Reads the secret from a file. Ignores blank lines and lines that start with `#`.
    pub fn load(path: &Path) -> Result<Self, SecretError> {
        let failed = |source| SecretError::Read {
            path: path.to_owned(),
            source,
        };
        let file = std::fs::File::open(path).map_err(failed)?;
        let mode = file.metadata().map_err(failed)?.permissions().mode();
        if mode & 0o007 != 0 {
            let path = path.display();
            tracing::warn!(%path, "the root secret is readable by other users: chmod 600 its file");
        }
        let mut text = String::new();
        file.take(LARGEST_FILE)
            .read_to_string(&mut text)
            .map_err(failed)?;
        RootSecret::parse(&text)
    }

    /// Reads the secret from its text.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let mut lines: Vec<SecretLine> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parsed = SecretLine::parse(line, index + 1)?;
            if lines.iter().any(|earlier| earlier.id == parsed.id) {
                return Err(SecretError::Malformed { line: index + 1 });
            }
            lines.push(parsed);
        }
        let mut lines = lines.into_iter();
        let newest = lines.next().ok_or(SecretError::Empty)?;
        Ok(RootSecret {
            newest,
            older: lines.collect(),
        })
    }

    /// Generates a line of 256 random bits, without a line end.
    pub fn generate_line() -> Result<String, SecretError> {
        let (mut id, mut bytes) = ([0; 4], [0; LEAST_BYTES]);
        rand::fill(&mut id)?;
        rand::fill(&mut bytes)?;
        Ok(format!(
            "{:08x}:{}",
            u32::from_be_bytes(id),
            STANDARD.encode(bytes)
        ))
    }

    /// Hashes the secret part of an API key under the newest line. Returns the line's id and the
    /// hash.
    pub fn hash_key(&self, secret: &str) -> (&str, Vec<u8>) {
        let tag = hmac::sign(&self.newest.api_keys, secret.as_bytes());
        (&self.newest.id, tag.as_ref().to_vec())
    }

    /// Compares `secret` with a hash made under the line of this id, in constant time. An unknown
    /// line verifies nothing and takes equally long.
    pub fn key_matches(&self, line: &str, secret: &str, hash: &[u8]) -> bool {
        let known = self.lines().find(|known| known.id == line);
        let key = &known.unwrap_or(&self.newest).api_keys;
        hmac::verify(key, secret.as_bytes(), hash).is_ok() && known.is_some()
    }

    /// Whether the secret has a line of this id.
    pub fn has_line(&self, line: &str) -> bool {
        self.lines().any(|known| known.id == line)
    }

    /// The MAC of a call's arguments under the newest line.
    pub(crate) fn digest_arguments(&self, arguments: &[u8]) -> [u8; 32] {
        tag(&self.newest.arguments, arguments)
    }

    /// The MAC of an audit record under the newest line.
    pub(crate) fn sign_record(&self, message: &[u8]) -> [u8; 32] {
        tag(&self.newest.records, message)
    }

    /// Whether any line made this MAC of an audit record.
    pub(crate) fn record_matches(&self, message: &[u8], mac: &[u8; 32]) -> bool {
        self.lines()
            .any(|line| hmac::verify(&line.records, message, mac).is_ok())
    }

    /// Signs a session's handle under the newest line.
    pub(crate) fn sign_session(&self, handle: &[u8]) -> [u8; 32] {
        tag(&self.newest.sessions, handle)
    }

    /// Whether any line signed this handle with this tag.
    pub(crate) fn session_is_signed(&self, handle: &[u8], tag: &[u8]) -> bool {
        self.lines()
            .any(|line| hmac::verify(&line.sessions, handle, tag).is_ok())
    }

    fn lines(&self) -> impl Iterator<Item = &SecretLine> {
        std::iter::once(&self.newest).chain(&self.older)
    }
}

impl std::fmt::Debug for RootSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.lines().map(|line| &line.id))
            .finish()
    }
}

impl SecretLine {
    fn parse(text: &str, line: usize) -> Result<SecretLine, SecretError> {
        let (id, encoded) = text
            .split_once(':')
            .ok_or(SecretError::Malformed { line })?;
        let id_fits = (1..=32).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let bytes = STANDARD.decode(encoded.trim()).ok().filter(|_| id_fits);
        let bytes = bytes.ok_or(SecretError::Malformed { line })?;
        if is_weak(&bytes) {
            return Err(SecretError::Weak { line });
        }
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, b"archway").extract(&bytes);
        Ok(SecretLine {
            id: id.to_owned(),
            api_keys: hmac::Key::new(hmac::HMAC_SHA256, &derive(&root, "api-key")?),
            cursors: sealing(&root, "short-cursor")?,
            cookies: sealing(&root, "page-cookie")?,
            sessions: hmac::Key::new(hmac::HMAC_SHA256, &derive(&root, "session")?),
            arguments: hmac::Key::new(hmac::HMAC_SHA256, &derive(&root, "audit-arguments")?),
            records: hmac::Key::new(hmac::HMAC_SHA256, &derive(&root, "audit-records")?),
        })
    }
}

fn tag(key: &hmac::Key, message: &[u8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(hmac::sign(key, message).as_ref());
    bytes
}

fn is_weak(bytes: &[u8]) -> bool {
    let distinct: std::collections::BTreeSet<&u8> = bytes.iter().collect();
    let counts = |step: u8| {
        bytes
            .windows(2)
            .all(|pair| pair[1] == pair[0].wrapping_add(step))
    };
    // A passphrase: 32 random bytes are all printable with a probability of 10^-13.
    let is_text = bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
    bytes.len() < LEAST_BYTES
        || distinct.len() < LEAST_DISTINCT
        || counts(1)
        || counts(u8::MAX)
        || is_text
}

fn sealing(root: &hkdf::Prk, label: &str) -> Result<LessSafeKey, SecretError> {
    let key = UnboundKey::new(&AES_256_GCM_SIV, &derive(root, label)?)?;
    Ok(LessSafeKey::new(key))
}

fn derive(root: &hkdf::Prk, label: &str) -> Result<[u8; 32], SecretError> {
    let mut key = [0; 32];
    root.expand(&[b"archway/v1/", label.as_bytes()], hkdf::HKDF_SHA256)?
        .fill(&mut key)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_line_is_accepted_and_unique() {
        let (one, two) = (
            RootSecret::generate_line().unwrap(),
            RootSecret::generate_line().unwrap(),
        );
        assert_ne!(one, two);
        RootSecret::parse(&format!("# comment\n\n{two}\n{one}\n")).unwrap();
    }

    #[test]
    fn weak_and_malformed_secrets_stop_the_start() {
        let weak = |bytes: &[u8]| format!("a:{}", STANDARD.encode(bytes));
        let counting: Vec<u8> = (0..32).collect();
        let short: Vec<u8> = (0..31).map(|n| n * 7).collect();
        for bytes in [
            &[0; 32],
            b"0123456789abcdef0123456789abcdef",
            &counting[..],
            &short,
        ] {
            let refused = RootSecret::parse(&weak(bytes));
            assert!(
                matches!(refused, Err(SecretError::Weak { line: 1 })),
                "{bytes:?}"
            );
        }
        assert!(matches!(
            RootSecret::parse("\n# no line\n"),
            Err(SecretError::Empty)
        ));
        let line = RootSecret::generate_line().unwrap();
        for text in [
            "secret",
            ":AAAA",
            "a b:AAAA",
            "a:%%%%",
            &format!("{line}\n{line}"),
        ] {
            let refused = RootSecret::parse(text);
            assert!(
                matches!(refused, Err(SecretError::Malformed { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn older_lines_still_verify_and_open_what_they_made() {
        let (old, new) = (
            RootSecret::generate_line().unwrap(),
            RootSecret::generate_line().unwrap(),
        );
        let before = RootSecret::parse(&old).unwrap();
        let (line, hash) = before.hash_key("s3cret");
        let cursor = before.seal_cursor(&[1; 32], b"page 2").unwrap();

        let rotated = RootSecret::parse(&format!("{new}\n{old}")).unwrap();
        assert!(rotated.key_matches(line, "s3cret", &hash));
        assert!(!rotated.key_matches(line, "other", &hash));
        assert_eq!(rotated.open_cursor(&[1; 32], &cursor).unwrap(), b"page 2");
        assert_eq!(rotated.open_cursor(&[2; 32], &cursor), None);

        let forgotten = RootSecret::parse(&new).unwrap();
        assert!(!forgotten.key_matches(line, "s3cret", &hash));
        assert_eq!(forgotten.open_cursor(&[1; 32], &cursor), None);
    }

    #[test]
    fn debug_shows_no_secret() {
        let line = RootSecret::generate_line().unwrap();
        let (id, secret) = line.split_once(':').unwrap();
        let shown = format!("{:?}", RootSecret::parse(&line).unwrap());
        assert!(shown.contains(id) && !shown.contains(secret));
    }
}
