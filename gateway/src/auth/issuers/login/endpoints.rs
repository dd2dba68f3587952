//! A provider's endpoints, and the request that redeems a code at one of them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderValue, StatusCode};
use reqwest::Url;
use secrecy::ExposeSecret as _;
use serde::Deserialize;

use super::{Attempt, LoginError, LoginProvider, visible};

/// Characters of an authorization code at most.
const LONGEST_CODE: usize = 4_096;

/// What the discovery document names.
pub(super) struct Endpoints {
    pub(super) authorization: Url,
    pub(super) token: Url,
    /// Whether the client's secret belongs into the form (`client_secret_post`).
    secret_in_form: bool,
}

/// The answer of the token endpoint (RFC 6749, 5.1 and 5.2).
#[derive(Deserialize)]
pub(super) struct TokenAnswer {
    pub(super) id_token: Option<String>,
    pub(super) scope: Option<String>,
    error: Option<String>,
}

impl LoginProvider {
    /// Its endpoints, at most five minutes old.
    pub(super) async fn endpoints(&self) -> Result<Endpoints, LoginError> {
        let source = self.signatures.source();
        let found = source.discovered().await?;
        let needed = |member| {
            let url = found.text(member).and_then(|text| source.asked(text));
            url.ok_or(LoginError::Endpoint(member))
        };
        let allows = |method| found.lists("token_endpoint_auth_methods_supported", method);
        Ok(Endpoints {
            authorization: needed("authorization_endpoint")?,
            token: needed("token_endpoint")?,
            // OIDC Discovery 1.0, 3: without a list it is `client_secret_basic`.
            secret_in_form: allows("client_secret_post") && !allows("client_secret_basic"),
        })
    }

    /// Redeems a code for the provider's tokens.
    pub(super) async fn redeemed(
        &self,
        attempt: &Attempt,
        code: &str,
    ) -> Result<TokenAnswer, LoginError> {
        if code.is_empty() || code.len() > LONGEST_CODE {
            return Err(LoginError::Answer("code"));
        }
        let endpoints = self.endpoints().await?;
        let callback = self.callback();
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", callback.as_str()),
            ("code_verifier", &attempt.verifier),
        ];
        let secret = self.config.secret.as_ref().map(|it| it.expose_secret());
        let mut authorization = None;
        match secret {
            Some(secret) if !endpoints.secret_in_form => {
                authorization = basic(&self.config.client_id, secret);
            }
            _ => {
                fields.push(("client_id", &self.config.client_id));
                fields.extend(secret.map(|secret| ("client_secret", secret)));
            }
        }
        let source = self.signatures.source();
        let sent = source.post(&endpoints.token, form(&fields), authorization);
        let (status, body) = sent.await?;
        let answer = serde_json::from_slice::<TokenAnswer>(&body).ok();
        if let Some(code) = answer.as_ref().and_then(|answer| answer.error.as_deref()) {
            return Err(LoginError::Refused(visible(code)));
        }
        match status {
            StatusCode::OK => answer.ok_or(LoginError::Answer("JSON")),
            StatusCode::TOO_MANY_REQUESTS => Err(LoginError::Unreachable(None)),
            status if status.is_server_error() => Err(LoginError::Unreachable(None)),
            status => Err(LoginError::Refused(status.as_str().to_owned())),
        }
    }
}

fn form(fields: &[(&str, &str)]) -> String {
    // A fixed URL parses.
    let Ok(mut url) = Url::parse("http://form/") else {
        return String::new();
    };
    url.query_pairs_mut().extend_pairs(fields);
    url.query().unwrap_or_default().to_owned()
}

/// The client's name and secret (RFC 6749, 2.3.1: each is encoded as in a form).
fn basic(client: &str, secret: &str) -> Option<HeaderValue> {
    let encoded = |text: &str| form(&[(text, "")]).trim_end_matches('=').to_owned();
    let pair = STANDARD.encode(format!("{}:{}", encoded(client), encoded(secret)));
    let mut header = HeaderValue::try_from(format!("Basic {pair}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_name_and_secret_are_encoded_as_in_a_form() {
        let header = basic("a b", "p:w=%").unwrap();
        let pair = header.to_str().unwrap().strip_prefix("Basic ").unwrap();
        assert_eq!(STANDARD.decode(pair).unwrap(), b"a+b:p%3Aw%3D%25");
    }
}
