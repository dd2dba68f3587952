//! Whether a delivery comes from the host that knows the connection's secret.
//!
//! GitHub, Gitea and Forgejo sign the body by HMAC-SHA256 (`X-Hub-Signature-256: sha256=HEX`,
//! `X-Gitea-Signature: HEX`, `X-Forgejo-Signature: HEX`). GitLab sends the secret itself
//! (`X-Gitlab-Token`). All are compared in constant time. A header that comes twice is no signature.

use aws_lc_rs::{constant_time, hmac};
use http::HeaderMap;
use secrecy::{ExposeSecret as _, SecretString};
use uuid::Uuid;

use super::{HookConnection, HookHost};

const SIGNATURE_OF_GITHUB: &str = "x-hub-signature-256";
const SIGNATURES_OF_GITEA: [&str; 2] = ["x-gitea-signature", "x-forgejo-signature"];
const TOKEN_OF_GITLAB: &str = "x-gitlab-token";

/// Checks signatures.
pub(super) struct Verifier {
    /// A key of this process: it stands in for the secret that is not there.
    own_key: hmac::Key,
}

impl Default for Verifier {
    fn default() -> Verifier {
        let random = Uuid::new_v4();
        Verifier {
            own_key: hmac::Key::new(hmac::HMAC_SHA256, random.as_bytes()),
        }
    }
}

impl Verifier {
    /// The hash that a body is to be read into. Its cost does not depend on the connection.
    pub(super) fn hash(&self, connection: Option<&HookConnection>) -> hmac::Context {
        match secret(connection) {
            Some(secret) => hmac::Context::with_key(&key(secret)),
            None => hmac::Context::with_key(&self.own_key),
        }
    }

    /// Whether the headers prove the secret. Never so without a connection that has one.
    pub(super) fn is_genuine(
        &self,
        connection: Option<&HookConnection>,
        headers: &HeaderMap,
        tag: &hmac::Tag,
    ) -> bool {
        let host = connection.map_or(HookHost::GitHub, |connection| connection.host);
        let secret = secret(connection);
        let is_right = match host {
            HookHost::GitHub => signed(headers, &[SIGNATURE_OF_GITHUB], tag),
            HookHost::Gitea => {
                let [gitea, forgejo] = SIGNATURES_OF_GITEA;
                signed(headers, &[SIGNATURE_OF_GITHUB, gitea, forgejo], tag)
            }
            HookHost::GitLab => self.has_token(headers, secret),
        };
        is_right && secret.is_some()
    }

    /// Both are hashed by a key of ours, so the time says nothing of the secret, nor of its length.
    fn has_token(&self, headers: &HeaderMap, secret: Option<&SecretString>) -> bool {
        let secret = secret.map_or("", |secret| secret.expose_secret());
        let wanted = hmac::sign(&self.own_key, secret.as_bytes());
        let given = single(headers, TOKEN_OF_GITLAB).unwrap_or_default();
        hmac::verify(&self.own_key, given, wanted.as_ref()).is_ok()
    }
}

/// Whether anything may be a signature or a token, of whichever host.
pub(super) fn is_given(headers: &HeaderMap) -> bool {
    let [gitea, forgejo] = SIGNATURES_OF_GITEA;
    let mut names = [SIGNATURE_OF_GITHUB, gitea, forgejo, TOKEN_OF_GITLAB].into_iter();
    names.any(|name| headers.contains_key(name))
}

/// The secret of a connection. An empty one is none.
fn secret(connection: Option<&HookConnection>) -> Option<&SecretString> {
    let secret = connection?.secret.as_ref();
    secret.filter(|secret| !secret.expose_secret().is_empty())
}

fn key(secret: &SecretString) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes())
}

/// Whether at least one of these headers is there, and each that is there is right.
fn signed(headers: &HeaderMap, names: &[&str], tag: &hmac::Tag) -> bool {
    let mut present = names
        .iter()
        .filter(|name| headers.contains_key(**name))
        .peekable();
    present.peek().is_some()
        && present.all(|name| {
            let digest = single(headers, name).and_then(|text| digest(name, text));
            digest.is_some_and(|digest| {
                constant_time::verify_slices_are_equal(&digest, tag.as_ref()).is_ok()
            })
        })
}

/// The 32 bytes that a header writes as 64 hexadecimal digits.
fn digest(name: &str, text: &[u8]) -> Option<[u8; 32]> {
    let digits = match name {
        SIGNATURE_OF_GITHUB => text.strip_prefix(b"sha256=")?,
        _ => text,
    };
    let nibble = |digit: u8| {
        char::from(digit)
            .to_digit(16)
            .and_then(|n| u8::try_from(n).ok())
    };
    let mut digest = [0; 32];
    if digits.len() != digest.len() * 2 {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
        let &[high, low] = pair else { return None };
        *byte = nibble(high)? << 4 | nibble(low)?;
    }
    Some(digest)
}

/// The value of a header that comes exactly once.
pub(super) fn single<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h [u8]> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then(|| value.as_bytes())
}
