//! The token of a GitHub App: signed with the App's key, exchanged at the host, and used until shortly
//! before its end.

use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::{SignedDuration, Timestamp};
use reqwest::{Client, Method};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::json;
use tokio::{sync::Mutex, time::timeout};
use url::Url;

use super::{
    client::HostClient,
    connection::Source,
    dialect::HostKind,
    error::ListingError,
    settings::AppCredential,
    wire::{self, Answer, Question},
};

/// For one exchange.
const DEADLINE: Duration = Duration::from_secs(30);
/// How long before its end a token is replaced.
const MARGIN: SignedDuration = SignedDuration::from_mins(5);
/// GitHub's tokens last an hour; no host makes us keep one longer.
const LONGEST_LIFE: SignedDuration = SignedDuration::from_hours(1);
/// GitHub's advice against clocks that differ.
const BACKDATED: SignedDuration = SignedDuration::from_secs(60);
/// GitHub accepts at most 10 minutes.
const JWT_LIFE: SignedDuration = SignedDuration::from_mins(9);
const LONGEST_KEY: usize = 64 << 10;
const LONGEST_TOKEN: usize = 4096;

/// Why an App has no token. Never carries the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppKeyError {
    /// The connection names no App.
    #[error("the connection has no App: write `credential: {{app: {{id: 1, installation: 2}}}}`")]
    NoApp,
    /// The key can't be used.
    #[error(
        "the App's key is not an RSA key of at least 2,048 bits in PEM: take the file that GitHub gives \
         for a new private key"
    )]
    Key,
}

/// The tokens of one installation of a GitHub App.
pub struct AppToken {
    key: KeyPair,
    app: AppCredential,
    http: Client,
    exchange: Url,
    cached: Mutex<Option<CachedToken>>,
}

struct CachedToken {
    token: SecretString,
    replaced_at: Timestamp,
}

/// `POST /app/installations/{id}/access_tokens`, of which only these are read.
#[derive(Deserialize)]
struct Exchanged {
    token: String,
    expires_at: String,
}

impl AppToken {
    /// The tokens of the connection's App. `pem` is its private key, PKCS#1 (as GitHub gives it) or
    /// PKCS#8.
    ///
    /// # Errors
    /// [`AppKeyError`].
    pub fn new(client: &HostClient, pem: &SecretString) -> Result<AppToken, AppKeyError> {
        let app = client.connection.app.ok_or(AppKeyError::NoApp)?;
        let Source::Host(address) = &client.connection.source else {
            return Err(AppKeyError::NoApp);
        };
        let path = format!("/app/installations/{}/access_tokens", app.installation);
        Ok(AppToken {
            key: key(pem.expose_secret()).ok_or(AppKeyError::Key)?,
            app,
            http: client.http.clone(),
            exchange: address.at(&path).ok_or(AppKeyError::NoApp)?,
            cached: Mutex::new(None),
        })
    }

    /// A token that lasts at least five more minutes, unless the host's last less. Callers that ask at
    /// the same time wait for one exchange.
    ///
    /// # Errors
    /// [`ListingError`]; within 30 s.
    pub async fn token(&self) -> Result<SecretString, ListingError> {
        let mut cached = self.cached.lock().await;
        let now = Timestamp::now();
        if let Some(held) = cached.as_ref().filter(|held| now < held.replaced_at) {
            return Ok(held.token.clone());
        }
        let limit = DEADLINE;
        let new = timeout(limit, self.exchanged(now)).await;
        let new = new.unwrap_or(Err(ListingError::TimedOut { limit }))?;
        Ok(cached.insert(new).token.clone())
    }

    async fn exchanged(&self, now: Timestamp) -> Result<CachedToken, ListingError> {
        let jwt = self.jwt(now)?;
        let question = Question {
            method: Method::POST,
            url: self.exchange.clone(),
            token: Some(&jwt),
            etag: None,
            budget: None,
        };
        let page = match wire::ask(&self.http, HostKind::Github, question).await? {
            Answer::Page(page) => page,
            Answer::Missing | Answer::NotModified(_) => {
                return Err(ListingError::NotFound {
                    what: "installation of the App",
                });
            }
        };
        // A message of the parser could quote the token.
        let exchanged: Exchanged = serde_json::from_slice(&page.body)
            .map_err(|_could_quote_it| ListingError::invalid("it gives the App no token"))?;
        let length = exchanged.token.len();
        let end: Option<Timestamp> = exchanged.expires_at.parse().ok();
        let end = end.filter(|_| (1..=LONGEST_TOKEN).contains(&length));
        let end = end.ok_or_else(|| ListingError::invalid("it gives the App no token"))?;
        let latest = now.saturating_add(LONGEST_LIFE).unwrap_or(now);
        let replaced_at = end.min(latest).saturating_sub(MARGIN).unwrap_or(now);
        Ok(CachedToken {
            token: exchanged.token.into(),
            replaced_at,
        })
    }

    /// RFC 7519 with RS256, as GitHub asks for it. It is signed here since the key is parsed once, and
    /// `jsonwebtoken` takes PKCS#1 alone.
    fn jwt(&self, now: Timestamp) -> Result<SecretString, ListingError> {
        let second = |by: SignedDuration| now.as_second().saturating_add(by.as_secs());
        let header = json!({ "alg": "RS256", "typ": "JWT" }).to_string();
        let claims = json!({
            "iat": second(-BACKDATED),
            "exp": second(JWT_LIFE),
            "iss": self.app.id.to_string(),
        });
        let claims = claims.to_string();
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part));
        let signed = format!("{header}.{claims}");
        let mut signature = vec![0; self.key.public_modulus_len()];
        let random = SystemRandom::new();
        let done = self.key.sign(
            &RSA_PKCS1_SHA256,
            &random,
            signed.as_bytes(),
            &mut signature,
        );
        done.map_err(|_unspecified| ListingError::Refused {
            said: "the App's key cannot sign".to_owned(),
        })?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        Ok(format!("{signed}.{signature}").into())
    }
}

/// The RSA key of a PEM file (RFC 7468), by whichever of its two labels.
fn key(pem: &str) -> Option<KeyPair> {
    if pem.len() > LONGEST_KEY {
        return None;
    }
    let der = |label: &str| {
        let (_, rest) = pem.split_once(&format!("-----BEGIN {label}-----"))?;
        let (text, _) = rest.split_once(&format!("-----END {label}-----"))?;
        let text: String = text.split_whitespace().collect();
        STANDARD.decode(text).ok()
    };
    match der("RSA PRIVATE KEY") {
        Some(der) => KeyPair::from_der(&der).ok(),
        None => KeyPair::from_pkcs8(&der("PRIVATE KEY")?).ok(),
    }
}
