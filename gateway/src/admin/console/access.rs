//! Who may read the pages: everybody who reaches the port, or whoever knows the token or signs in with the provider.
//!
//! A browser sends the token as the password of HTTP's Basic scheme (RFC 7617), so neither a form nor a cookie is needed.
//! Where there is a provider, too, browsers are not asked for a password but shown a page to sign in; the token then opens
//! a session at an address of its own. The digests of both tokens are compared in constant time. A token of 32 random
//! characters cannot be guessed, so guesses are not counted.

use std::{path::Path, sync::Arc, time::Duration};

use aws_lc_rs::{
    constant_time::verify_slices_are_equal,
    digest::{Digest, SHA256, digest},
};
use axum::response::{IntoResponse, Response};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderMap, Method, StatusCode, header, request::Parts};
use tokio::time::Instant;

use super::{
    ConsoleConfig, ConsoleError,
    address::Place,
    cookies::{self, Ending},
    sign_in::{SIGN_IN, SIGN_OUT, Session, SignIn, TOKEN},
    sign_in_page::{self, SignInPage},
};
use crate::{auth::CALLBACK, metrics::Metrics, secrets::RootSecret};

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
    /// SHA-256 of the token, if there is one.
    token: Option<Digest>,
    sign_in: Option<SignIn>,
}

/// Somebody who may read the pages.
pub(super) enum Visitor {
    /// Whoever reaches the port, or has the token.
    Nameless,
    /// Somebody who signed in.
    SignedIn(Ending<Session>),
}

impl Visitor {
    /// Who it is, if that is known.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Visitor::Nameless => None,
            Visitor::SignedIn(session) => Some(&session.value.name),
        }
    }

    /// When the session ends, if there is one.
    pub(super) fn ends(&self) -> Option<Instant> {
        match self {
            Visitor::Nameless => None,
            Visitor::SignedIn(session) => {
                let left = session.ends.saturating_sub(cookies::now());
                Some(Instant::now() + Duration::from_secs(left))
            }
        }
    }
}

impl Access {
    /// Reads the token and the provider, if there are files.
    ///
    /// # Errors
    /// [`ConsoleError`].
    pub(super) fn new(
        config: &ConsoleConfig,
        secret: Arc<RootSecret>,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, ConsoleError> {
        let token = config.console_token_file.as_deref().map(token);
        let sign_in = config
            .console_oidc
            .as_deref()
            .map(|file| SignIn::new(file, secret, metrics));
        Ok(Access {
            token: token.transpose()?,
            sign_in: sign_in.transpose()?,
        })
    }

    /// Refreshes the provider's keys for as long as it is polled.
    pub(super) async fn run(&self) {
        if let Some(sign_in) = &self.sign_in {
            sign_in.run().await;
        }
    }

    /// Whether this is the host name at which people sign in.
    pub(super) fn is_at(&self, host: &str) -> bool {
        self.sign_in.as_ref().is_some_and(|it| it.is_at(host))
    }

    /// The answer to a request for the addresses of signing in and out; `None` for all others.
    pub(super) async fn own(&self, request: &Parts) -> Option<Response> {
        let sign_in = self.sign_in.as_ref()?;
        let (headers, query) = (&request.headers, request.uri.query());
        let answer = match (&request.method, request.uri.path()) {
            (&Method::GET, SIGN_IN) => sign_in.begin(query).await,
            (&Method::GET, CALLBACK) => sign_in.finish(query, headers).await,
            (&Method::POST, SIGN_OUT) => sign_in.end(headers),
            (&Method::GET, TOKEN) if self.token.is_some() => Ok(match self.has_token(headers) {
                true => sign_in.opened_by_token(self.token_text().unwrap_or_default()),
                false => challenge(),
            }),
            _ => return None,
        };
        Some(answer.unwrap_or_else(|page| sign_in.page(&page)))
    }

    /// Who sends a request, or the answer to somebody who is not let in.
    pub(super) fn visitor(&self, request: &Parts) -> Result<Visitor, Box<Response>> {
        if self.is_open() || self.has_token(&request.headers) {
            return Ok(Visitor::Nameless);
        }
        let Some(sign_in) = &self.sign_in else {
            return Err(Box::new(challenge()));
        };
        let session = sign_in.session(&request.headers);
        let is_current = |session: &Ending<Session>| {
            let token = &session.value.token;
            token.is_none() || *token == self.token_text()
        };
        session
            .filter(is_current)
            .map(Visitor::SignedIn)
            .ok_or_else(|| {
                let place = Place::parse(request.uri.path());
                let to = sign_in_page::come_back(place.as_ref(), request.uri.query());
                let has_token = self.token.is_some();
                Box::new(sign_in.page(&SignInPage::Offered { to, has_token }))
            })
    }

    /// Whether whoever reaches the port may read the pages.
    fn is_open(&self) -> bool {
        self.token.is_none() && self.sign_in.is_none()
    }

    /// The digest of the token, for sealed cookies.
    fn token_text(&self) -> Option<String> {
        self.token.as_ref().map(|token| STANDARD.encode(token))
    }

    /// Whether a request has the token.
    fn has_token(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else {
            return false;
        };
        let sent = headers.get(header::AUTHORIZATION);
        let sent = sent.and_then(|sent| presented(sent.to_str().ok()?));
        sent.is_some_and(|sent| {
            let sent = digest(&SHA256, sent.as_bytes());
            verify_slices_are_equal(sent.as_ref(), token.as_ref()).is_ok()
        })
    }
}

/// Reads the token.
fn token(file: &Path) -> Result<Digest, ConsoleTokenError> {
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
    Ok(digest(&SHA256, token.as_bytes()))
}

/// The answer that makes a browser ask for the token.
fn challenge() -> Response {
    let challenge = [
        (
            header::WWW_AUTHENTICATE,
            "Basic realm=\"Archway\", charset=\"UTF-8\"",
        ),
        (header::CACHE_CONTROL, "no-store"),
    ];
    let why = "the token of --console-token-file is needed, as the password of any user\n";
    (StatusCode::UNAUTHORIZED, challenge, why).into_response()
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
        let access = Access {
            token: Some(token(file.path()).unwrap()),
            sign_in: None,
        };
        let passes = |header: Option<String>| {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(
                    header::AUTHORIZATION,
                    HeaderValue::try_from(header).unwrap(),
                );
            }
            access.has_token(&headers)
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
                matches!(token(file.path()), Err(ConsoleTokenError::Unfit)),
                "{text}"
            );
        }
        let missing = token(Path::new("/nowhere/token"));
        assert!(matches!(missing, Err(ConsoleTokenError::Unreadable(_))));
    }
}
