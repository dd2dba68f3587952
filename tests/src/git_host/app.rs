//! A GitHub App that a host knows: it exchanges the App's JWT for tokens, and admits these alone.

use std::{fs, time::Duration};

use aws_lc_rs::{
    encoding::{AsDer as _, Pkcs8V1Der},
    rsa::{KeyPair, KeySize},
    signature::KeyPair as _,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use http_body_util::Full;
use hyper::{Request, Response, StatusCode, body::Bytes};
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::{Value, json};
use uuid::Uuid;

use super::GitHost;

/// The App's id, and its installation's.
const ID: u64 = 12;
const INSTALLATION: u64 = 34;
/// GitHub's tokens last an hour.
const LIFE: Duration = Duration::from_secs(60 * 60);
/// GitHub refuses a JWT that is valid for longer.
const LONGEST_JWT: i64 = 10 * 60;

/// An App, and the tokens that its host gave.
pub(super) struct App {
    /// Of the key that signs its JWTs.
    public: Vec<u8>,
    life: Duration,
    tokens: Vec<GivenToken>,
}

/// A token that a host gave to an App.
#[derive(Clone, Debug)]
pub struct GivenToken {
    /// Its text.
    pub token: String,
    /// How many requests were admitted by it.
    pub uses: usize,
    end: Timestamp,
    is_revoked: bool,
}

impl GitHost {
    /// Has a GitHub App installed whose tokens alone are accepted from now on. Returns its private key.
    pub fn install_app(&self) -> String {
        let (app, pem) = App::new();
        *self.state.app.lock() = Some(app);
        pem
    }

    /// The setting `credential` of a connection with that App.
    pub fn app_credential() -> Value {
        json!({ "app": { "id": ID, "installation": INSTALLATION } })
    }

    /// The tokens that the App got, in order.
    pub fn tokens(&self) -> Vec<GivenToken> {
        let app = self.state.app.lock();
        app.as_ref()
            .map(|app| app.tokens.clone())
            .unwrap_or_default()
    }

    /// Accepts none of them any more. Those that it gives from now on end after `life`.
    pub fn revoke_tokens(&self, life: Duration) {
        if let Some(app) = self.state.app.lock().as_mut() {
            app.tokens
                .iter_mut()
                .for_each(|given| given.is_revoked = true);
            app.life = life;
        }
    }

    /// Arguments and environments of the processes of this test, each time that git asked the App's host.
    pub fn seen_processes(&self) -> String {
        self.state.seen_processes.lock().clone()
    }
}

impl App {
    /// An App, and its private key as GitHub's file has it.
    fn new() -> (App, String) {
        let key = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let private: Pkcs8V1Der<'_> = key.as_der().unwrap();
        let text = BASE64_STANDARD.encode(private.as_ref());
        let lines: Vec<String> = text
            .as_bytes()
            .chunks(64)
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        let pem = lines.join("\n");
        let app = App {
            public: key.public_key().as_ref().to_vec(),
            life: LIFE,
            tokens: Vec::new(),
        };
        let pem = format!("-----BEGIN PRIVATE KEY-----\n{pem}\n-----END PRIVATE KEY-----\n");
        (app, pem)
    }

    /// Whether a request's header has a token that is still good: `Bearer`, or as a password.
    pub(super) fn admits(&mut self, authorization: &str) -> bool {
        let now = Timestamp::now();
        let given = self.tokens.iter_mut().find(|given| {
            let password = BASE64_STANDARD.encode(format!("x-access-token:{}", given.token));
            let is_it = authorization == format!("Bearer {}", given.token)
                || authorization == format!("Basic {password}");
            is_it && !given.is_revoked && now < given.end
        });
        given.map(|given| given.uses += 1).is_some()
    }

    /// The answer to the exchange of a JWT; `None` for another request.
    pub(super) fn exchange<B>(
        &mut self,
        request: &Request<B>,
        authorization: &str,
    ) -> Option<Response<Full<Bytes>>> {
        let path = format!("/api/v3/app/installations/{INSTALLATION}/access_tokens");
        if request.method() != "POST" || request.uri().path() != path {
            return None;
        }
        let jwt = authorization.strip_prefix("Bearer ").unwrap_or_default();
        let (status, body) = match self.is_signed(jwt) {
            true => (StatusCode::CREATED, self.give()),
            false => {
                let message = json!({ "message": "A JSON web token could not be decoded" });
                (StatusCode::UNAUTHORIZED, message)
            }
        };
        let answer = Response::builder().status(status);
        Some(answer.body(Full::from(body.to_string())).unwrap())
    }

    fn is_signed(&self, jwt: &str) -> bool {
        let mut rules = Validation::new(Algorithm::RS256);
        rules.set_required_spec_claims(&["exp", "iss"]);
        rules.set_issuer(&[ID.to_string()]);
        rules.leeway = 0;
        let key = DecodingKey::from_rsa_der(&self.public);
        let Ok(decoded) = jsonwebtoken::decode::<Value>(jwt, &key, &rules) else {
            return false;
        };
        let second = |name: &str| decoded.claims[name].as_i64().unwrap_or(i64::MAX);
        let now = Timestamp::now().as_second();
        second("iat") <= now && second("exp") <= now + LONGEST_JWT
    }

    fn give(&mut self) -> Value {
        let token = format!("ghs_{}", Uuid::new_v4().simple());
        let end = Timestamp::now() + self.life;
        let body = json!({ "token": token, "expires_at": end.to_string() });
        self.tokens.push(GivenToken {
            token,
            uses: 0,
            end,
            is_revoked: false,
        });
        body
    }
}

/// What other users of the machine may see of this process's descendants: their arguments and environments.
pub(super) fn shown_of_descendants() -> String {
    let parents: Vec<(u32, u32)> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let process = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
            // After the name, which may have anything in it: the state, and the parent.
            let (_, rest) = stat.rsplit_once(") ")?;
            Some((process, rest.split(' ').nth(1)?.parse().ok()?))
        })
        .collect();
    let (mut family, mut known) = (vec![std::process::id()], 0);
    while known < family.len() {
        let parent = family.get(known).copied();
        let children = parents.iter().filter(|(_, of)| Some(*of) == parent);
        family.extend(children.map(|(process, _)| *process));
        known += 1;
    }
    let descendants = family.iter().skip(1);
    let files = descendants
        .flat_map(|process| ["cmdline", "environ"].map(|file| format!("/proc/{process}/{file}")));
    let texts = files.map(|file| fs::read(file).unwrap_or_default());
    let texts = texts.map(|text| String::from_utf8_lossy(&text).replace('\0', "\n"));
    texts.collect()
}
