//! The file of `--console-oidc`: the provider that signs people in, and whom it lets in.

use std::path::{Path, PathBuf};

use reqwest::Url;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::{
    claims::ClaimPath,
    document::{self, ScopeWords},
    error::{IssuerProblem, IssuersError},
    source::{SourceConfig, SourceEntry, trusted},
};

/// Characters of the client's id, of a word or of a scope at most.
const LONGEST_WORD: usize = 256;
/// Scopes and words at most.
const MOST_WORDS: usize = 20;
/// The claims that have scopes, as one text or as a list.
const SCOPES: [&str; 2] = ["scope", "scp"];
/// The word that admits, unless the file names others.
const ADMIN: &str = "admin";

/// Why people cannot be signed in with this file.
#[derive(Debug, thiserror::Error)]
pub enum LoginConfigError {
    /// The file cannot be read or parsed.
    #[error(transparent)]
    File(#[from] IssuersError),
    /// How the provider is reached.
    #[error(transparent)]
    Provider(#[from] IssuerProblem),
    /// The page's own address is invalid.
    #[error(
        "`url` must be https://host without a path (http:// for loopback only): the address under which browsers \
         reach the page"
    )]
    Url,
    /// A text is empty, too long, or has characters that it cannot have.
    #[error(
        "`{0}` must be 1 to 20 texts of 1 to 256 visible characters, of ASCII but for `admits` with `claim`"
    )]
    Words(&'static str),
    /// The file with the client's secret is not one line.
    #[error(
        "the file of `client_secret_file` must be one line of 1 to 256 visible ASCII characters"
    )]
    Secret,
}

/// The file as the operator wrote it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoginEntry {
    /// The provider, as its tokens write it in `iss`.
    issuer: String,
    /// The name under which the page is registered there.
    client_id: String,
    /// File with the client's secret; a public client has none.
    client_secret_file: Option<PathBuf>,
    /// The address under which browsers reach the page, without a path.
    url: String,
    /// The claim of the ID token that lists what its holder may do; by default the granted scopes.
    claim: Option<ScopeWords>,
    /// The words of which one is needed; `admin` by default.
    admits: Option<ScopeWords>,
    /// The scopes to request beside `openid`; by default those of `admits`, and none with `claim`.
    scopes: Option<Vec<String>>,
    #[serde(default)]
    algorithms: Vec<String>,
    leeway: Option<u64>,
    jwks_uri: Option<String>,
    ca_file: Option<String>,
}

/// The same after validation.
pub(super) struct LoginConfig {
    pub(super) source: SourceConfig,
    pub(super) client_id: String,
    pub(super) secret: Option<SecretString>,
    /// Ends with a slash.
    pub(super) url: Url,
    claim: Option<ClaimPath>,
    /// The name of a claim at the top, else empty.
    claim_name: String,
    admits: Vec<String>,
    /// The scopes to request, as one text.
    pub(super) scopes: String,
}

impl LoginConfig {
    pub(super) fn load(path: &Path) -> Result<Self, LoginConfigError> {
        Self::checked(document::parsed(&document::read("the file", path)?)?)
    }

    fn checked(entry: LoginEntry) -> Result<Self, LoginConfigError> {
        let source = SourceConfig::new(SourceEntry {
            issuer: entry.issuer,
            algorithms: &entry.algorithms,
            leeway: entry.leeway,
            jwks_uri: entry.jwks_uri.as_deref(),
            ca_file: entry.ca_file.as_deref(),
        })?;
        let url = trusted(&entry.url).filter(|url| url.path() == "/");
        let claim_name = match &entry.claim {
            Some(ScopeWords::One(name)) => name.clone(),
            Some(ScopeWords::Many(_)) | None => String::new(),
        };
        let claim = entry.claim.map(|words| {
            let path = ClaimPath::new(words.list());
            path.ok_or(IssuerProblem::Claim("claim"))
        });
        let claim = claim.transpose()?;
        let admits = entry.admits.map(ScopeWords::list);
        let admits = admits.unwrap_or_else(|| vec![ADMIN.to_owned()]);
        let admits = match claim {
            // Names of groups may have spaces.
            Some(_) => texts("admits", admits, |it| !it.is_control())?,
            None => words("admits", admits)?,
        };
        let mut scopes = match entry.scopes {
            Some(scopes) if scopes.is_empty() => scopes,
            Some(scopes) => words("scopes", scopes)?,
            // A provider refuses to be asked for a scope that it does not know.
            None if claim.is_some() => Vec::new(),
            None => admits.clone(),
        };
        scopes.retain(|scope| scope != "openid");
        scopes.insert(0, "openid".to_owned());
        Ok(LoginConfig {
            source,
            client_id: words("client_id", vec![entry.client_id])?.remove(0),
            secret: entry
                .client_secret_file
                .as_deref()
                .map(secret)
                .transpose()?,
            url: url.ok_or(LoginConfigError::Url)?,
            claim,
            claim_name,
            admits,
            scopes: scopes.join(" "),
        })
    }

    /// Whether verified claims of an ID token, or the scopes that the provider says it granted, let their holder in.
    pub(super) fn lets_in(&self, claims: &Map<String, Value>, granted: Option<&str>) -> bool {
        let has_scope = |value: &Value| match value {
            Value::String(text) => self.has_word(text),
            list => self.names(list),
        };
        let Some(path) = &self.claim else {
            let scopes = SCOPES.into_iter().filter_map(|name| claims.get(name));
            return granted.is_some_and(|granted| self.has_word(granted)) || { scopes }
                .any(has_scope);
        };
        path.of(claims)
            .is_some_and(|value| match &*self.claim_name {
                name if SCOPES.contains(&name) => has_scope(value),
                // Anybody may write any address into an account where the provider does not verify it.
                "email" => claims.get("email_verified") == Some(&true.into()) && self.names(value),
                _ => self.names(value),
            })
    }

    /// Whether a value, or one of a list, is a word that admits.
    fn names(&self, value: &Value) -> bool {
        let is_word = |value: &Value| value.as_str().is_some_and(|text| self.is_word(text));
        match value {
            Value::Array(list) => list.iter().any(is_word),
            one => is_word(one),
        }
    }

    /// The words that let people in, for people.
    pub(super) fn needed(&self) -> String {
        self.admits.join(" or ")
    }

    fn has_word(&self, text: &str) -> bool {
        text.split_ascii_whitespace().any(|one| self.is_word(one))
    }

    fn is_word(&self, word: &str) -> bool {
        self.admits.iter().any(|own| own == word)
    }
}

fn words(what: &'static str, words: Vec<String>) -> Result<Vec<String>, LoginConfigError> {
    texts(what, words, |it| it.is_ascii_graphic())
}

fn texts(
    what: &'static str,
    words: Vec<String>,
    may_have: impl Fn(char) -> bool,
) -> Result<Vec<String>, LoginConfigError> {
    let fit =
        |word: &String| (1..=LONGEST_WORD).contains(&word.len()) && word.chars().all(&may_have);
    let are_fit = (1..=MOST_WORDS).contains(&words.len()) && words.iter().all(fit);
    are_fit
        .then_some(words)
        .ok_or(LoginConfigError::Words(what))
}

fn secret(path: &Path) -> Result<SecretString, LoginConfigError> {
    let text = document::read("the client's secret", path)?;
    let text = text.trim();
    let is_fit = (1..=LONGEST_WORD).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic());
    is_fit.then(|| text.into()).ok_or(LoginConfigError::Secret)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BASE: &str = "issuer: 'https://id.example', client_id: page, url: 'https://page.example'";

    fn read(more: &str) -> Result<LoginConfig, LoginConfigError> {
        LoginConfig::checked(document::parsed(&format!("{{{BASE}, {more}}}"))?)
    }

    #[test]
    fn scopes_admit_by_default_and_only_the_claim_if_one_is_named() {
        let lets_in = |more: &str, claims: Value, granted: Option<&str>| {
            let config = read(more).ok().unwrap();
            config.lets_in(claims.as_object().unwrap(), granted)
        };
        assert!(lets_in("", json!({}), Some("openid admin")));
        assert!(lets_in("", json!({ "scope": "openid admin" }), None));
        assert!(lets_in("", json!({ "scp": ["admin"] }), None));
        for (claims, granted) in [
            (json!({}), None),
            (json!({}), Some("openid administrator")),
            (json!({ "scope": ["not admin"] }), Some("")),
            (json!({ "roles": ["admin"] }), Some("openid")),
        ] {
            assert!(!lets_in("", claims.clone(), granted), "{claims}");
        }
        let roles = "claim: [realm_access, roles], admits: [ops, oncall]";
        let held = |roles: Value| json!({ "realm_access": { "roles": roles } });
        assert!(lets_in(roles, held(json!(["dev", "oncall"])), None));
        assert!(!lets_in(roles, held(json!(["dev"])), Some("openid ops")));
        // A text of a claim is one value, and an address has to be verified.
        let department = "claim: department, admits: ['Archway Admins']";
        assert!(lets_in(
            department,
            json!({ "department": "Archway Admins" }),
            None
        ));
        assert!(!lets_in(
            "claim: department",
            json!({ "department": "Sales admin" }),
            None
        ));
        assert!(lets_in(
            "claim: scope",
            json!({ "scope": "openid admin" }),
            None
        ));
        let address = "claim: email, admits: 'ada@acme.example'";
        for (verified, expected) in [
            (json!(true), true),
            (json!(false), false),
            (json!("true"), false),
        ] {
            let claims = json!({ "email": "ada@acme.example", "email_verified": verified });
            assert_eq!(lets_in(address, claims, None), expected);
        }
    }

    #[test]
    fn scopes_are_requested_that_the_provider_can_know() {
        let scopes = |more: &str| read(more).ok().unwrap().scopes;
        assert_eq!(scopes(""), "openid admin");
        assert_eq!(scopes("admits: [a, b]"), "openid a b");
        assert_eq!(scopes("claim: groups, admits: ops"), "openid");
        assert_eq!(
            scopes("claim: groups, scopes: [groups, openid]"),
            "openid groups"
        );
    }

    #[test]
    fn an_unfit_file_is_refused_with_the_reason() {
        let problem = |text: &str| {
            let entry = document::parsed(text).map_err(LoginConfigError::from);
            let refused = entry.and_then(LoginConfig::checked).err().unwrap();
            refused.to_string()
        };
        for (text, says) in [
            (BASE.replace("https://id", "http://id"), "`issuer`"),
            (BASE.replace("https://page", "http://page"), "`url`"),
            (BASE.replace("page.example", "page.example/x"), "`url`"),
            (
                BASE.replace("client_id: page", "client_id: ''"),
                "`client_id`",
            ),
            (format!("{BASE}, admits: []"), "`admits`"),
            (format!("{BASE}, scopes: ['a b']"), "`scopes`"),
            (format!("{BASE}, claim: []"), "`claim`"),
            (format!("{BASE}, client_secret: x"), "client_secret"),
            (
                format!("{BASE}, client_secret_file: /nonexistent"),
                "client's secret",
            ),
        ] {
            let said = problem(&format!("{{{text}}}"));
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
