//! The private key as `ssh-add` takes it.

use secrecy::{ExposeSecret as _, SecretString};

use super::SshError;

/// What the content of a key in OpenSSH's format begins with: `openssh-key-v1` and a zero byte, in Base64.
const MAGIC: &str = "b3BlbnNzaC1rZXktdjEA";
/// The same with what follows in a key without a passphrase: the length and the name of the cipher `none`.
const NOT_ENCRYPTED: &str = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUA";

/// The key with its line ends mended: OpenSSH reads neither CRLF nor a last line without an end.
pub(super) fn prepare(key: &SecretString) -> Result<SecretString, SshError> {
    let text = key.expose_secret();
    let begins = |line: &str| line.starts_with("-----BEGIN ") && line.contains("PRIVATE KEY-----");
    if !text.lines().any(begins) {
        return Err(SshError::NoKey);
    }
    if has_passphrase(text) {
        return Err(SshError::Passphrase);
    }
    // Made at its full length, so that no copy is left where it grew.
    let mut mended = String::with_capacity(text.len() + 1);
    for line in text.lines() {
        mended.push_str(line);
        mended.push('\n');
    }
    Ok(SecretString::from(mended))
}

/// By the header of PEM (RFC 1421), the label of PKCS #8 (RFC 7468), or the cipher of OpenSSH's format.
fn has_passphrase(text: &str) -> bool {
    let is_encrypted = |line: &str| {
        line.starts_with("-----BEGIN ENCRYPTED ")
            || line.starts_with("Proc-Type:") && line.contains("ENCRYPTED")
            || line.starts_with(MAGIC) && !line.starts_with(NOT_ENCRYPTED)
    };
    text.lines().any(is_encrypted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(text: &str) -> Result<String, SshError> {
        prepare(&SecretString::from(text)).map(|key| key.expose_secret().to_owned())
    }

    #[test]
    fn line_ends_are_mended() {
        let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n";
        for text in [
            key.to_owned(),
            key.trim_end().to_owned(),
            key.replace('\n', "\r\n"),
        ] {
            assert_eq!(prepared(&text).unwrap(), key);
        }
    }

    #[test]
    fn what_is_no_key_or_has_a_passphrase_is_refused() {
        for text in [
            "",
            "token",
            "ssh-ed25519 AAAA me@host",
            "-----BEGIN CERTIFICATE-----",
        ] {
            assert!(matches!(prepared(text), Err(SshError::NoKey)), "{text}");
        }
        for text in [
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA",
            "-----BEGIN RSA PRIVATE KEY-----\r\nProc-Type: 4,ENCRYPTED\r\nAAAA",
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAG",
        ] {
            assert!(
                matches!(prepared(text), Err(SshError::Passphrase)),
                "{text}"
            );
        }
    }
}
