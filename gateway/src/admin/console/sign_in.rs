//! Signing in with an OpenID Connect provider: the way there, the way back, and the way out.
//!
//! The browser keeps everything, sealed (`cookies`), so one gateway may begin what another finishes. Nothing here sends a
//! browser anywhere but to the provider and to the page's own addresses.

use std::{path::Path, sync::Arc};

use archway_proto::chain::Chain;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};

use super::{
    address::{Place, Query},
    cookies::{CookieKind, Cookies, Ending},
    sign_in_page::{self, SignInPage},
};
use crate::{
    auth::{Attempt, CALLBACK, LoginConfigError, LoginError, LoginProvider, visible},
    metrics::Metrics,
    secrets::RootSecret,
};

/// Where a sign-in begins.
pub(super) const SIGN_IN: &str = "/console/sign-in";
/// Where a session ends.
pub(super) const SIGN_OUT: &str = "/console/sign-out";
/// Where the token opens a session.
pub(super) const TOKEN: &str = "/console/token";
/// A sign-in has to be finished within ten minutes.
const ATTEMPT: CookieKind = CookieKind {
    name: "archway-sign-in",
    path: CALLBACK,
    life: 600,
};
/// A session ends after an hour, whatever its holder does.
const SESSION: CookieKind = CookieKind {
    name: "archway-page",
    path: "/console",
    life: 3_600,
};
/// Characters of a value of the provider's answer at most.
const LONGEST_VALUE: usize = 8_000;
/// Characters of the address to go back to at most.
const LONGEST_RETURN: usize = 1_000;

/// Signs people in.
pub(super) struct SignIn {
    provider: LoginProvider,
    cookies: Cookies,
}

/// A sign-in that has begun.
#[derive(Serialize, Deserialize)]
struct Begun {
    attempt: Attempt,
    /// The page to show afterwards.
    to: String,
}

/// Somebody who signed in.
#[derive(Serialize, Deserialize)]
pub(super) struct Session {
    /// For people.
    pub(super) name: String,
    /// What the token's session is bound to, so that it ends with the token.
    pub(super) token: Option<String>,
}

impl SignIn {
    /// By the provider of this file.
    ///
    /// # Errors
    /// [`LoginConfigError`].
    pub(super) fn new(
        file: &Path,
        secret: Arc<RootSecret>,
        metrics: &Arc<Metrics>,
    ) -> Result<Self, LoginConfigError> {
        let provider = LoginProvider::load(file, metrics)?;
        let cookies = Cookies::new(secret, provider.page().scheme() == "https");
        Ok(SignIn { provider, cookies })
    }

    /// Refreshes the provider's keys for as long as it is polled.
    pub(super) async fn run(&self) {
        self.provider.run().await;
    }

    /// Whether this is the host name of the page's own address.
    pub(super) fn is_at(&self, host: &str) -> bool {
        let own = self.provider.page().host_str();
        own.is_some_and(|own| own.eq_ignore_ascii_case(host))
    }

    /// The session of a request, if it has one.
    pub(super) fn session(&self, headers: &HeaderMap) -> Option<Ending<Session>> {
        self.cookies.get(SESSION, &self.provider.context(), headers)
    }

    /// Opens a session for whoever has the token.
    pub(super) fn opened_by_token(&self, token: String) -> Response {
        tracing::info!("a session of the page was opened by the token");
        let session = Session {
            name: "token".to_owned(),
            token: Some(token),
        };
        self.opened(session, Place::Overview.path())
    }

    /// Sends a browser to the provider.
    pub(super) async fn begin(&self, query: Option<&str>) -> Result<Response, SignInPage> {
        let query = Query::up_to(LONGEST_RETURN, query);
        let to = own(query.get("to"));
        let attempt = Attempt::new().ok_or(SignInPage::Failed)?;
        let url = self.provider.begin(&attempt, query.has("again")).await;
        let url = url.map_err(|error| self.refused(error))?;
        let begun = Begun { attempt, to };
        let cookie = self
            .cookies
            .set(ATTEMPT, &self.provider.context(), begun)
            .ok_or(SignInPage::Failed)?;
        Ok(to_other(url.as_str(), [Some(cookie), None]))
    }

    /// Takes a browser back from the provider.
    pub(super) async fn finish(
        &self,
        query: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<Response, SignInPage> {
        let query = Query::up_to(LONGEST_VALUE, query);
        let context = self.provider.context();
        let begun = self.cookies.get::<Begun>(ATTEMPT, &context, headers);
        let begun = begun.map(|begun| begun.value).filter(|begun| {
            let (own, sent) = (begun.attempt.state.as_bytes(), query.get("state"));
            verify_slices_are_equal(own, sent.as_bytes()).is_ok()
        });
        let Some(Begun { attempt, to }) = begun else {
            // Another tab may have finished its own sign-in meanwhile.
            return match self.session(headers) {
                Some(_) => Ok(to_other(&Place::Overview.path(), [None, None])),
                None => Err(SignInPage::NotBegun),
            };
        };
        // RFC 9207: the answer of another provider is none.
        let is_own = query
            .some("iss")
            .is_none_or(|iss| iss == self.provider.name());
        let signed_in = match (is_own, query.some("error")) {
            (false, _) => Err(LoginError::Answer("iss")),
            (true, Some(code)) => Err(LoginError::Refused(visible(&code))),
            (true, None) => self.provider.finish(&attempt, query.get("code")).await,
        };
        let name = signed_in.map_err(|error| self.refused(error))?;
        Ok(self.opened(Session { name, token: None }, to))
    }

    /// Ends a session in this browser.
    pub(super) fn end(&self, headers: &HeaderMap) -> Result<Response, SignInPage> {
        // Another site's form comes without the cookie, and must not end the session.
        self.session(headers).ok_or(SignInPage::Closed)?;
        let provider = self.provider.sign_out_page();
        let provider = provider.map(String::from);
        let mut response = self.page(&SignInPage::SignedOut { provider });
        let removed = self.cookies.remove(SESSION);
        response
            .headers_mut()
            .extend(removed.map(|it| (header::SET_COOKIE, it)));
        Ok(response)
    }

    /// The page for somebody who may not pass.
    pub(super) fn page(&self, page: &SignInPage) -> Response {
        sign_in_page::page(page, &self.provider)
    }

    fn opened(&self, session: Session, to: String) -> Response {
        let cookie = self.cookies.set(SESSION, &self.provider.context(), session);
        match cookie {
            Some(cookie) => to_other(&to, [Some(cookie), self.cookies.remove(ATTEMPT)]),
            None => self.page(&SignInPage::Failed),
        }
    }

    fn refused(&self, error: LoginError) -> SignInPage {
        let error = Box::new(error);
        tracing::warn!(error = %Chain(&*error), "a sign-in to the operator's page failed");
        SignInPage::Refused(error)
    }
}

/// One of the page's own addresses; anything else becomes the overview's.
fn own(to: &str) -> String {
    let (path, query) = to.split_once('?').unwrap_or((to, ""));
    let Some(place) = Place::parse(path) else {
        return Place::Overview.path();
    };
    let is_plain = query.bytes().all(|it| it.is_ascii_graphic() && it != b'#');
    match query {
        "" => place.path(),
        query if is_plain => format!("{}?{query}", place.path()),
        _ => place.path(),
    }
}

fn to_other(address: &str, cookies: [Option<HeaderValue>; 2]) -> Response {
    let Ok(location) = HeaderValue::try_from(address) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    headers.insert(header::LOCATION, location);
    let no_store = HeaderValue::from_static("no-store");
    headers.insert(header::CACHE_CONTROL, no_store);
    headers.extend(
        cookies
            .into_iter()
            .flatten()
            .map(|it| (header::SET_COOKIE, it)),
    );
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_leads_to_the_pages_own_addresses_alone() {
        for (to, expected) in [
            ("/console/calls?tool=hello", "/console/calls?tool=hello"),
            ("/console/tenants/acme", "/console/tenants/acme"),
            ("/console/", "/console"),
            ("", "/console"),
            ("https://evil.example/console", "/console"),
            ("//evil.example/console", "/console"),
            ("/console/../x", "/console"),
            ("/console/calls?a\r\nb: c", "/console/calls"),
            ("/console\\@evil.example", "/console"),
            ("/consolevil.example", "/console"),
        ] {
            assert_eq!(own(to), expected, "{to}");
        }
    }
}
