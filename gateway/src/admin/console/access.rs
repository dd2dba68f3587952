//! Who may read the pages: everybody who reaches the port, or whoever knows the token.
//!
//! A browser sends the token as the password of HTTP's Basic scheme (RFC 7617), so neither a form nor a cookie is needed.
//! The digests of both are compared in constant time. A token of 32 random characters cannot be guessed, so guesses are
//! not counted.

use std::path::Path;

use aws_lc_rs::{
    constant_time::verify_slices_are_equal,
    digest::{Digest, SHA256, digest},
};
use axum::response::{IntoResponse, Response};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, StatusCode, header};

/// Characters of a token at least.
const SHORTEST: usize = 32;
/// Bytes of its file at most.
const LARGEST: u64 = 4_096;

/// Why a token is rejected. Contains neither the token nor a path.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleTokenError {
    /// The file cannot be read.
    #[error("the file can't be read")]
    Unreadable(#[from] std::io::Error),
    /// It is not one line of visible ASCII characters, or too short.
    #[error("it needs at least 32 visible ASCII characters on one line")]
    Unfit,
}

/// What a request needs.
pub(super) struct Access {
    /// SHA-256 of the token, if one is required.
    token: Option<Digest>,
}

impl Access {
    /// Reads the token, if there is a file.
    ///
    /// # Errors
    /// [`ConsoleTokenError`].
    pub(super) fn new(file: Option<&Path>) -> Result<Self, ConsoleTokenError> {
        let Some(file) = file else {
            return Ok(Access { token: None });
        };
        let is_small = std::fs::metadata(file)?.len() <= LARGEST;
        let text = if is_small {
            std::fs::read_to_string(file)?
        } else {
            String::new()
        };
        let token = text.trim();
        let is_fit = token.len() >= SHORTEST && token.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_fit {
            return Err(ConsoleTokenError::Unfit);
        }
        Ok(Access {
            token: Some(digest(&SHA256, token.as_bytes())),
        })
    }

    /// The answer to a request that does not have the token; `None` if it may pass.
    pub(super) fn refusal(&self, headers: &HeaderMap) -> Option<Response> {
        let token = self.token.as_ref()?;
        let sent = headers.get(header::AUTHORIZATION);
        let sent = sent.and_then(|sent| presented(sent.to_str().ok()?));
        let is_right = sent.is_some_and(|sent| {
            let sent = digest(&SHA256, sent.as_bytes());
            verify_slices_are_equal(sent.as_ref(), token.as_ref()).is_ok()
        });
        if is_right {
            return None;
        }
        let challenge = [
            (
                header::WWW_AUTHENTICATE,
                "Basic realm=\"Archway\", charset=\"UTF-8\"",
            ),
            (header::CACHE_CONTROL, "no-store"),
        ];
        let why = "the token of --console-token-file is needed, as the password of any user\n";
        Some((StatusCode::UNAUTHORIZED, challenge, why).into_response())
    }
}

/// The token in a header: a bearer's, or the password of any user.
fn presented(header: &str) -> Option<String> {
    let (scheme, value) = header.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(value.trim().to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = STANDARD.decode(value.trim()).ok()?;
    let decoded = String::from_utf8(decoded).ok()?;
    decoded
        .split_once(':')
        .map(|(_user, password)| password.to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use http::HeaderValue;

    use super::*;

    const TOKEN: &str = "0123456789abcdefghijklmnopqrstuv";

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn only_the_token_passes_as_a_password_or_a_bearers() {
        let file = file(&format!("{TOKEN}\n"));
        let access = Access::new(Some(file.path())).unwrap();
        let passes = |header: Option<String>| {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(
                    header::AUTHORIZATION,
                    HeaderValue::try_from(header).unwrap(),
                );
            }
            access.refusal(&headers).is_none()
        };
        let basic = |pair: &str| Some(format!("Basic {}", STANDARD.encode(pair)));
        assert!(passes(basic(&format!("anybody:{TOKEN}"))));
        assert!(passes(Some(format!("bearer {TOKEN}"))));
        for bad in [
            None,
            basic(TOKEN),
            basic(&format!("{TOKEN}:")),
            basic(&format!("a:{TOKEN}x")),
            basic("a:"),
            Some("Bearer ".to_owned()),
            Some("Basic %%%".to_owned()),
            Some(TOKEN.to_owned()),
        ] {
            assert!(!passes(bad.clone()), "{bad:?}");
        }
    }

    #[test]
    fn a_short_a_large_or_a_missing_token_is_rejected() {
        for text in [
            "",
            "short",
            TOKEN.trim_start_matches('0'),
            &format!("{TOKEN}\n{TOKEN}"),
            &"x".repeat(5_000),
        ] {
            let file = file(text);
            assert!(
                matches!(
                    Access::new(Some(file.path())),
                    Err(ConsoleTokenError::Unfit)
                ),
                "{text}"
            );
        }
        let missing = Access::new(Some(Path::new("/nowhere/token")));
        assert!(matches!(missing, Err(ConsoleTokenError::Unreadable(_))));
        assert!(
            Access::new(None)
                .unwrap()
                .refusal(&HeaderMap::new())
                .is_none()
        );
    }
}
