//! Pass keys as files: for gateways and workers, made by `archway pass-key`.
//!
//! One key per line, in base64; blank lines and lines that start with `#` are ignored. A gateway's file
//! holds one private key (Ed25519, PKCS#8). A worker's file holds one or two public keys (32 bytes each):
//! two while the pair is replaced, so that passes of both are accepted.

use std::path::{Path, PathBuf};

use aws_lc_rs::signature::Ed25519KeyPair;
use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{PassError, PassMinter};

/// How many public keys a worker trusts at a time.
pub const MOST_PUBLIC_KEYS: usize = 2;

/// Why a key file cannot be used. Never contains a key.
#[derive(Debug, thiserror::Error)]
pub enum PassFileError {
    /// The file cannot be read.
    #[error("reading the {kind} pass key from {}; {MAKE}", path.display())]
    Read {
        /// `private` or `public`.
        kind: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: std::io::Error,
    },
    /// The file has no key, or too many.
    #[error(
        "{} holds {found} keys instead of {wanted}; {MAKE}", path.display()
    )]
    Count {
        /// The file.
        path: PathBuf,
        /// How many keys it has.
        found: usize,
        /// How many it may have.
        wanted: &'static str,
    },
    /// A line is not a key.
    #[error("line {line} of {} is not a {kind} pass key; {MAKE}", path.display())]
    NotAKey {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// `private` or `public`.
        kind: &'static str,
    },
}

/// The advice in all of these errors.
const MAKE: &str = "make a pair with `archway pass-key generate --private FILE --public FILE`";

/// A new pair, as its files hold it. `Debug` hides it.
pub struct PassKeyPair {
    private: String,
    public: String,
}

impl PassKeyPair {
    /// Generates a random pair.
    pub fn generate() -> Result<Self, PassError> {
        let key = Ed25519KeyPair::generate().map_err(|_unspecified| PassError::Key)?;
        let document = key.to_pkcs8v1().map_err(|_unspecified| PassError::Key)?;
        let public = PassMinter::from_pkcs8(document.as_ref())?.public_key();
        Ok(PassKeyPair {
            private: STANDARD.encode(document.as_ref()),
            public: STANDARD.encode(public),
        })
    }

    /// The line of a gateway's file, without a line end. It must be kept secret.
    pub fn private_line(&self) -> &str {
        &self.private
    }

    /// The line of a worker's file, without a line end.
    pub fn public_line(&self) -> &str {
        &self.public
    }
}

impl std::fmt::Debug for PassKeyPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PassKeyPair(…)")
    }
}

/// Reads a gateway's file.
///
/// # Errors
/// If it cannot be read, or does not hold exactly one private key.
pub fn load_minter(path: &Path) -> Result<PassMinter, PassFileError> {
    const KIND: &str = "private";
    let keys = read(path, KIND, |der| PassMinter::from_pkcs8(der).ok())?;
    let found = keys.len();
    let [minter] = <[PassMinter; 1]>::try_from(keys).map_err(|_others| PassFileError::Count {
        path: path.to_owned(),
        found,
        wanted: "one",
    })?;
    Ok(minter)
}

/// Reads a worker's file: one key or two.
///
/// # Errors
/// If it cannot be read, or holds something else.
pub fn load_public_keys(path: &Path) -> Result<Vec<[u8; 32]>, PassFileError> {
    const KIND: &str = "public";
    let keys = read(path, KIND, |bytes| bytes.try_into().ok())?;
    if (1..=MOST_PUBLIC_KEYS).contains(&keys.len()) {
        return Ok(keys);
    }
    Err(PassFileError::Count {
        path: path.to_owned(),
        found: keys.len(),
        wanted: "one or two",
    })
}

fn read<T>(
    path: &Path,
    kind: &'static str,
    key: impl Fn(&[u8]) -> Option<T>,
) -> Result<Vec<T>, PassFileError> {
    let text = std::fs::read_to_string(path).map_err(|source| PassFileError::Read {
        kind,
        path: path.to_owned(),
        source,
    })?;
    let lines = text.lines().map(str::trim).enumerate();
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(index, line)| {
            let bytes = STANDARD.decode(line).ok();
            let parsed = bytes.and_then(|bytes| key(&bytes));
            parsed.ok_or_else(|| PassFileError::NotAKey {
                path: path.to_owned(),
                line: index + 1,
                kind,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::PassVerifier;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn a_worker_verifies_what_a_gateway_signs_by_their_files() {
        let (old, new) = (
            PassKeyPair::generate().unwrap(),
            PassKeyPair::generate().unwrap(),
        );
        let (_a, private) = file(&format!("# gateway\n\n{}\n", new.private_line()));
        let (_b, public) = file(&format!("{}\n# old:\n{}", new.public, old.public));
        let minter = load_minter(&private).unwrap();
        let verifier = PassVerifier::new(&load_public_keys(&public).unwrap(), "shared");
        let catalog = minter.mint_catalog().unwrap();
        assert!(verifier.verify_catalog(&catalog).is_ok());
        assert_eq!(format!("{new:?}"), "PassKeyPair(…)");
    }

    #[test]
    fn a_wrong_file_is_named_with_advice_and_never_shown() {
        let pair = PassKeyPair::generate().unwrap();
        let (private, public) = (pair.private_line(), pair.public_line());
        let three = [public; 3].join("\n");
        for bad in ["", "# nothing\n", "secret!", private, three.as_str()] {
            let (_folder, path) = file(bad);
            let refused = load_public_keys(&path).unwrap_err().to_string();
            assert!(refused.contains(path.to_str().unwrap()), "{refused}");
            assert!(refused.contains("archway pass-key generate"), "{refused}");
            assert!(!refused.contains("secret!") && !refused.contains(private));
        }
        let two = format!("{private}\n{private}");
        for bad in ["", "secret!", public, two.as_str()] {
            let (_folder, path) = file(bad);
            assert!(load_minter(&path).is_err(), "{bad}");
        }
        let missing = load_minter(Path::new("/nowhere/at/all")).err().unwrap();
        assert!(missing.to_string().contains("/nowhere/at/all"));
    }
}
