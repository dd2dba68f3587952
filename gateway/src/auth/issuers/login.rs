//! Signs people in at a provider: the authorization code flow of OpenID Connect Core 1.0, 3.1, with PKCE (RFC 7636).
//!
//! Nothing of a sign-in is kept here between its two requests: the browser keeps an [`Attempt`], sealed by whoever uses
//! this. So one gateway may begin a sign-in and another finish it.

use std::{path::Path, sync::Arc, time::Duration};

use aws_lc_rs::{
    digest::{SHA256, digest},
    rand,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::{sync::Semaphore, time::timeout};

use super::{
    super::AuthError,
    claims::{now, times},
    fetch::FetchError,
    source::Signatures,
    token::UnverifiedToken,
};
use crate::metrics::Metrics;
use config::LoginConfig;

pub use config::LoginConfigError;
pub(crate) use error::LoginError;

mod config;
mod endpoints;
mod error;

/// The path to which the provider sends browsers back.
pub(crate) const CALLBACK: &str = "/console/callback";
/// For all requests to the provider of one step.
const PATIENCE: Duration = Duration::from_secs(8);
/// How long a step waits for its turn.
const TURN: Duration = Duration::from_secs(2);
/// Steps at a time.
const MOST_STEPS: usize = 8;
/// Seconds from issue to expiry of an ID token, at most. It is used once, when it arrives.
const LONGEST_LIFE: f64 = 86_400.0;
/// Characters of a person's name, and of a provider's code of an error, at most.
const LONGEST_NAME: usize = 100;

/// A provider that signs people in.
pub(crate) struct LoginProvider {
    config: LoginConfig,
    signatures: Signatures,
    steps: Semaphore,
}

/// What a browser keeps between the two steps of a sign-in.
#[derive(Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) state: String,
    nonce: String,
    verifier: String,
}

impl Attempt {
    /// A new one; `None` if the system has no random bytes.
    pub(crate) fn new() -> Option<Attempt> {
        let text = || {
            let mut bytes = [0; 32];
            rand::fill(&mut bytes).ok()?;
            Some(URL_SAFE_NO_PAD.encode(bytes))
        };
        Some(Attempt {
            state: text()?,
            nonce: text()?,
            verifier: text()?,
        })
    }
}

impl LoginProvider {
    /// The provider of a file.
    ///
    /// # Errors
    /// [`LoginConfigError`].
    pub(crate) fn load(path: &Path, metrics: &Arc<Metrics>) -> Result<Self, LoginConfigError> {
        let config = LoginConfig::load(path)?;
        Ok(LoginProvider {
            signatures: Signatures::new(&config.source, LONGEST_LIFE, metrics)?,
            steps: Semaphore::new(MOST_STEPS),
            config,
        })
    }

    /// Refreshes its keys for as long as it is polled.
    pub(crate) async fn run(&self) {
        self.signatures.run().await;
    }

    /// The address under which browsers reach the page.
    pub(crate) fn page(&self) -> &Url {
        &self.config.url
    }

    /// The provider's name.
    pub(crate) fn name(&self) -> &str {
        &self.config.source.name
    }

    /// The provider's host, for people.
    pub(crate) fn host(&self) -> &str {
        self.config.source.url.host_str().unwrap_or_default()
    }

    /// Whom this lets in where, in one text: after a change of it nobody is signed in any longer.
    pub(crate) fn context(&self) -> String {
        let LoginConfig { url, client_id, .. } = &self.config;
        format!("{} {client_id} {url} {}", self.name(), self.config.needed())
    }

    /// Where to send a browser to sign in. `again`: the provider asks who it is, whoever it knows.
    pub(crate) async fn begin(&self, attempt: &Attempt, again: bool) -> Result<Url, LoginError> {
        let endpoints = self.step(self.endpoints()).await?;
        let mut url = endpoints.authorization;
        let challenge = digest(&SHA256, attempt.verifier.as_bytes());
        let challenge = URL_SAFE_NO_PAD.encode(challenge);
        url.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &self.config.client_id),
            ("redirect_uri", self.callback().as_str()),
            ("scope", &self.config.scopes),
            ("state", &attempt.state),
            ("nonce", &attempt.nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        if again {
            url.query_pairs_mut().append_pair("prompt", "login");
        }
        Ok(url)
    }

    /// The name of the person whom the provider signed in, if that person may read the page.
    pub(crate) async fn finish(&self, attempt: &Attempt, code: &str) -> Result<String, LoginError> {
        self.step(async {
            let answer = self.redeemed(attempt, code).await?;
            let token = answer.id_token.ok_or(LoginError::Answer("id_token"))?;
            let claims = self.verified(&token, attempt).await?;
            let name = name(&claims);
            let subject = claims.get("sub").and_then(Value::as_str);
            let subject = visible(subject.unwrap_or_default());
            match self.config.lets_in(&claims, answer.scope.as_deref()) {
                true => {
                    tracing::info!(who = %name, %subject, "an operator signed in to the page");
                    Ok(name)
                }
                false => Err(LoginError::NotAdmitted {
                    name,
                    subject,
                    needed: self.config.needed(),
                }),
            }
        })
        .await
    }

    /// The provider's own page for signing out, if it has one that is known.
    pub(crate) fn sign_out_page(&self) -> Option<Url> {
        let source = self.signatures.source();
        let mut url = source.asked(source.last_discovered()?.text("end_session_endpoint")?)?;
        url.query_pairs_mut()
            .append_pair("client_id", &self.config.client_id);
        Some(url)
    }

    /// Runs a step in its turn, for as long as a step may take.
    async fn step<T>(
        &self,
        step: impl Future<Output = Result<T, LoginError>>,
    ) -> Result<T, LoginError> {
        let turn = timeout(TURN, self.steps.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            return Err(LoginError::Crowded);
        };
        let ended = timeout(PATIENCE, step).await;
        ended.unwrap_or(Err(LoginError::Unreachable(Some(FetchError::TooSlow))))
    }

    fn callback(&self) -> Url {
        let mut url = self.config.url.clone();
        url.set_path(CALLBACK);
        url
    }

    /// The claims of an ID token, if it is valid and of this sign-in (OIDC Core 1.0, 3.1.3.7).
    async fn verified(
        &self,
        token: &str,
        attempt: &Attempt,
    ) -> Result<Map<String, Value>, LoginError> {
        let token = UnverifiedToken::parse(token).ok_or(LoginError::Token("its form"))?;
        if token.issuer() != Some(self.name()) {
            return Err(LoginError::Token("its issuer"));
        }
        let claims = self.signatures.verified(token).await;
        let claims = claims.map_err(|error| match error {
            AuthError::Bad(reason) => LoginError::Token(reason.label()),
            AuthError::Unchecked | AuthError::Missing | AuthError::Crowded => {
                LoginError::Unreachable(None)
            }
        })?;
        let leeway = self.config.source.leeway;
        times(&claims, leeway, now(), LONGEST_LIFE)
            .map_err(|reason| LoginError::Token(reason.label()))?;
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let is_own = |value: &Value| value.as_str() == Some(&self.config.client_id);
        let (is_audience, needs_party) = match claims.get("aud") {
            Some(Value::Array(all)) => (all.iter().any(is_own), all.len() > 1),
            Some(one) => (is_own(one), false),
            None => (false, false),
        };
        let party = claims.get("azp");
        if !is_audience || !party.map_or(!needs_party, is_own) {
            return Err(LoginError::Token("its audience"));
        }
        if text("nonce") != Some(&attempt.nonce) {
            return Err(LoginError::Token("its nonce"));
        }
        if text("sub").is_none_or(str::is_empty) {
            return Err(LoginError::Token("its subject"));
        }
        Ok(claims)
    }
}

/// A person's name, as far as the token says it.
fn name(claims: &Map<String, Value>) -> String {
    let names = ["preferred_username", "email", "name", "sub"].into_iter();
    let mut names = names.filter_map(|name| claims.get(name)?.as_str());
    visible(names.find(|name| !name.is_empty()).unwrap_or_default())
}

/// The first characters of a provider's text.
pub(crate) fn visible(text: &str) -> String {
    let kept = text.chars().filter(|it| !it.is_control());
    kept.take(LONGEST_NAME).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_persons_name_is_short_and_visible() {
        let of = |claims: Value| name(claims.as_object().unwrap());
        assert_eq!(of(json!({ "sub": "7", "email": "a@b" })), "a@b");
        assert_eq!(of(json!({ "sub": "7\n", "email": "" })), "7");
        assert_eq!(of(json!({ "name": "x".repeat(500) })).len(), LONGEST_NAME);
    }
}
