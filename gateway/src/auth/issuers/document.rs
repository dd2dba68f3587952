//! The issuers file: its format, and how it is read.
//!
//! YAML, read as `archway apply` reads it. It contains no secret: everything that verifies a token
//! is public. An unknown word is refused with its line and column, because ignoring it would
//! silently skip a check.

use std::{collections::BTreeMap, fs::File, io::Read, path::Path};

use archway_proto::catalog::Scope;
use serde::{Deserialize, de::DeserializeOwned};

use super::error::IssuersError;

/// Maximum size of the file in bytes.
const LARGEST_FILE: u64 = 1 << 20;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IssuersFile {
    /// In any order.
    pub(super) issuers: Vec<IssuerEntry>,
}

/// An issuer as the operator wrote it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IssuerEntry {
    /// Its tokens' `iss`, compared character by character.
    pub(super) issuer: String,
    /// Required in its tokens' `aud`, among any others: one value, or any of a list.
    pub(super) audience: ScopeWords,
    /// Permitted signature algorithms; RS256 by default.
    #[serde(default)]
    pub(super) algorithms: Vec<String>,
    /// The only tenant that it speaks for.
    pub(super) tenant: Option<String>,
    /// Alternatively the claim that selects one of `tenants`.
    pub(super) tenant_claim: Option<ScopeWords>,
    /// With `tenant_claim`: the permitted slugs, or a map from each permitted value to a slug.
    pub(super) tenants: Option<TenantEntry>,
    /// The claim that identifies the caller; `sub` by default.
    pub(super) subject_claim: Option<ScopeWords>,
    /// The claim that lists the caller's groups, for access rules, as a list or as one text; none by default.
    pub(super) groups_claim: Option<ScopeWords>,
    /// The claims that name the caller's accounts at git hosts, by the names of connections; none by default.
    #[serde(default)]
    pub(super) host_accounts: BTreeMap<String, AccountEntry>,
    /// The claim that lists what the token allows, as a list or as text with spaces; `scope` by
    /// default.
    pub(super) scope_claim: Option<ScopeWords>,
    /// What the words of that claim mean here; by default they are Archway's own scope names.
    pub(super) scopes: Option<BTreeMap<String, Vec<Scope>>>,
    /// What a token without the claim allows; nothing by default.
    #[serde(default)]
    pub(super) default_scopes: Vec<Scope>,
    /// The projects that its callers see; all of their tenant's by default.
    pub(super) projects: Option<Vec<String>>,
    /// The families of tools that they see; all by default.
    pub(super) families: Option<Vec<String>>,
    /// The project for calls that name none.
    pub(super) default_project: Option<String>,
    /// Seconds by which its clock may differ from the gateway's, 0 to 120; 60 by default.
    pub(super) leeway: Option<u64>,
    /// URL of its keys; taken from its discovery document by default.
    pub(super) jwks_uri: Option<String>,
    /// File with CA certificates (PEM) that are trusted for it in addition to the system's.
    pub(super) ca_file: Option<String>,
}

/// The claim that names the caller's account at the host of a connection: exactly one of these.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountEntry {
    /// By the host's own number.
    pub(super) id: Option<ScopeWords>,
    /// By the name that its owner logs in by.
    pub(super) login: Option<ScopeWords>,
    /// By an email address. That of the claim `email` counts only with `email_verified: true`.
    pub(super) email: Option<ScopeWords>,
}

/// One word or several. For a claim, several words are a path into nested objects, so a name may
/// contain dots or slashes.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(super) enum ScopeWords {
    One(String),
    Many(Vec<String>),
}

/// The tenants that an issuer may speak for.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a list of tenants' slugs, or a slug for each value of the claim"
)]
pub(super) enum TenantEntry {
    List(Vec<String>),
    Map(BTreeMap<String, String>),
}

impl ScopeWords {
    pub(super) fn list(self) -> Vec<String> {
        match self {
            ScopeWords::One(word) => vec![word],
            ScopeWords::Many(words) => words,
        }
    }
}

impl IssuersFile {
    /// Reads a file.
    pub(super) fn load(path: &Path) -> Result<IssuersFile, IssuersError> {
        IssuersFile::parse(&read("the file", path)?)
    }

    /// Parses the text of a file.
    pub(super) fn parse(text: &str) -> Result<IssuersFile, IssuersError> {
        parsed(text)
    }
}

/// Parses the text of a file (YAML).
pub(super) fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, IssuersError> {
    // Without a snippet of the text, since someone may have put a secret there by mistake.
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        IssuersError::Syntax(error.render_with_formatter(&serde_saphyr::UserMessageFormatter))
    })
}

/// The text of a file, if it is not too large.
pub(super) fn read(what: &'static str, path: &Path) -> Result<String, IssuersError> {
    let failed = |source| IssuersError::Read {
        what,
        path: path.to_owned(),
        source,
    };
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    file.take(LARGEST_FILE + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > LARGEST_FILE {
        return Err(IssuersError::TooLarge {
            what,
            path: path.to_owned(),
        });
    }
    Ok(text)
}
