//! The pages of somebody who is not let in: how to sign in, what went wrong, and what to do about it.

use archway_proto::misleading::escape;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use maud::html;

use super::{
    address::Place,
    page,
    sign_in::{SIGN_IN, TOKEN},
};
use crate::auth::{CALLBACK, LoginError, LoginProvider};

/// Why somebody sees no page.
#[derive(Debug)]
pub(super) enum SignInPage {
    /// Nobody is signed in. The address to go to afterwards, and whether there is a token.
    Offered {
        /// Empty for the overview.
        to: String,
        has_token: bool,
    },
    /// There is no session to end.
    Closed,
    /// The session is over. The provider's page for signing out, if it has one.
    SignedOut { provider: Option<String> },
    /// This browser has begun no sign-in, or not the one that it comes back from.
    NotBegun,
    /// The provider did not let somebody in.
    Refused(Box<LoginError>),
    /// The gateway could not seal a cookie.
    Failed,
}

/// What a page says.
struct Words {
    status: StatusCode,
    title: &'static str,
    /// What happened.
    said: String,
    /// What to do.
    todo: String,
}

/// The page. Its links are absolute where cookies need the page's own address.
pub(super) fn page(page: &SignInPage, provider: &LoginProvider) -> Response {
    let words = words(page, provider);
    let link = |to: &str, again: bool| {
        let mut url = provider.page().clone();
        url.set_path(SIGN_IN);
        if !to.is_empty() {
            url.query_pairs_mut().append_pair("to", to);
        }
        if again {
            url.query_pairs_mut().append_pair("again", "");
        }
        url
    };
    let (to, has_token) = match page {
        SignInPage::Offered { to, has_token } => (to.as_str(), *has_token),
        _ => ("", false),
    };
    let is_other = matches!(page, SignInPage::Refused(error) if matches!(**error, LoginError::NotAdmitted { .. }));
    let content = html! {
        section class="sign-in" {
            p { (words.said) }
            @if !words.todo.is_empty() { p { (words.todo) } }
            p class="pages" {
                @if is_other { a class="button" href=(link(to, true)) { "Sign in as somebody else" } }
                @else { a class="button" href=(link(to, false)) { "Sign in with " (provider.host()) } }
                @if has_token { a href=(TOKEN) { "use the token" } }
                @if let SignInPage::SignedOut { provider: Some(address) } = page {
                    a href=(address) rel="noreferrer" { "sign out there, too" }
                }
            }
        }
    };
    let html = page::plain(words.title, &content).into_string();
    let html = escape(&html).0.into_owned();
    (words.status, page::headers(), html).into_response()
}

fn words(page: &SignInPage, provider: &LoginProvider) -> Words {
    let of = |status, title, said: &str, todo: &str| Words {
        status,
        title,
        said: said.to_owned(),
        todo: todo.to_owned(),
    };
    match page {
        SignInPage::Offered { .. } | SignInPage::Closed => of(
            StatusCode::UNAUTHORIZED,
            "Sign in",
            "These pages are for the operators of this installation.",
            "",
        ),
        SignInPage::SignedOut { .. } => of(
            StatusCode::OK,
            "Signed out",
            "This browser is signed out of these pages.",
            "The provider may still know you, and would sign you in again without a question. A browser that was given the \
             token sends it until it is closed.",
        ),
        SignInPage::NotBegun => of(
            StatusCode::BAD_REQUEST,
            "Not signed in",
            "This browser did not begin this sign-in, or began another one since, or took longer than ten minutes.",
            "Sign in again. If this page comes back, allow cookies for it.",
        ),
        SignInPage::Failed => of(
            StatusCode::INTERNAL_SERVER_ERROR,
            "Not signed in",
            "The gateway could not seal a cookie.",
            "Sign in again.",
        ),
        SignInPage::Refused(error) => refused(error, provider),
    }
}

fn refused(error: &LoginError, provider: &LoginProvider) -> Words {
    let name = provider.name();
    let (status, said, todo) = match error {
        LoginError::Unreachable(_) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("The provider {name} does not answer, or its keys are not known."),
            "Sign in again in a minute. The gateway's log has the reason.".to_owned(),
        ),
        LoginError::Crowded => (
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many people sign in at the moment.".to_owned(),
            "Sign in again in some seconds.".to_owned(),
        ),
        LoginError::Endpoint(what) => (
            StatusCode::BAD_GATEWAY,
            format!("The discovery document of {name} has no usable {what}."),
            "Check `issuer` in the file of --console-oidc.".to_owned(),
        ),
        LoginError::Refused(code) => (
            StatusCode::FORBIDDEN,
            format!("The provider {name} refused: {code}."),
            advice(code, provider),
        ),
        LoginError::Answer(what) => (
            StatusCode::BAD_GATEWAY,
            format!("The answer of {name} has no usable {what}."),
            "Sign in again. The gateway's log has the reason.".to_owned(),
        ),
        LoginError::Token(why) => (
            StatusCode::BAD_GATEWAY,
            format!("The ID token of {name} is not valid: {why}."),
            "Compare the clocks of both machines, and `issuer`, `client_id` and `algorithms` in the file of \
             --console-oidc."
                .to_owned(),
        ),
        LoginError::NotAdmitted { name: who, needed, .. } => (
            StatusCode::FORBIDDEN,
            format!("You are {who}, and the provider {name} does not grant you {needed}."),
            "Ask whoever administers the provider for it.".to_owned(),
        ),
    };
    Words {
        status,
        title: "Not signed in",
        said,
        todo,
    }
}

/// What to do about an error of OAuth (RFC 6749, 4.1.2.1 and 5.2).
fn advice(code: &str, provider: &LoginProvider) -> String {
    match code {
        "access_denied" => "You declined, or the provider lets you in nowhere. Sign in again, or ask whoever \
                            administers the provider."
            .to_owned(),
        "invalid_client" | "unauthorized_client" | "401" => {
            "Compare `client_id` and the file of the client's secret with what the provider has.".to_owned()
        }
        "invalid_scope" => {
            "Allow the client the requested scopes at the provider, or set `scopes` in the file of --console-oidc."
                .to_owned()
        }
        "invalid_grant" | "invalid_request" => {
            let mut address = provider.page().clone();
            address.set_path(CALLBACK);
            format!("Sign in again. If it stays so, register {address} at the provider as the address to return to.")
        }
        _ => "Sign in again. If it stays so, the provider's log has the reason.".to_owned(),
    }
}

/// The address of a page with its query, to come back to.
pub(super) fn come_back(place: Option<&Place>, query: Option<&str>) -> String {
    let path = place.map_or_else(String::new, Place::path);
    match query {
        Some(query) if !path.is_empty() => format!("{path}?{query}"),
        _ => path,
    }
}
