//! The file that names the issuers: its shape, and how it is read.
//!
//! YAML, as `archway apply` reads it. It holds no secret: what checks a token is public. An unknown
//! word is refused with its line and column: one that was passed over would be a check that nobody
//! makes.

use std::{collections::BTreeMap, fs::File, io::Read, path::Path};

use archway_proto::catalog::Scope;
use serde::Deserialize;

use super::error::IssuersError;

/// Bytes of the file at most.
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
    /// What its tokens say in `iss`, letter by letter.
    pub(super) issuer: String,
    /// What its tokens must say in `aud` beside whatever else: one, or any of a list.
    pub(super) audience: ScopeWords,
    /// What its tokens may be signed by; RS256 if left out.
    #[serde(default)]
    pub(super) algorithms: Vec<String>,
    /// The one tenant that it speaks for.
    pub(super) tenant: Option<String>,
    /// Or: the claim that says for which of `tenants` a token speaks.
    pub(super) tenant_claim: Option<ScopeWords>,
    /// With `tenant_claim`: the slugs that it may say, or for each thing that it may say a slug.
    pub(super) tenants: Option<TenantEntry>,
    /// The claim that says who calls; `sub` if left out.
    pub(super) subject_claim: Option<ScopeWords>,
    /// The claim that says what the token may do, a list or a text with blanks; `scope` if left out.
    pub(super) scope_claim: Option<ScopeWords>,
    /// What the words of that claim mean here; if left out, they are our own.
    pub(super) scopes: Option<BTreeMap<String, Vec<Scope>>>,
    /// What a token may do that lacks the claim; nothing if left out.
    #[serde(default)]
    pub(super) default_scopes: Vec<Scope>,
    /// The projects that its callers see; all of their tenant's if left out.
    pub(super) projects: Option<Vec<String>>,
    /// The families of tools that they see; all if left out.
    pub(super) families: Option<Vec<String>>,
    /// The project that their calls mean unless they name another.
    pub(super) default_project: Option<String>,
    /// Seconds by which its clock may differ from ours, 0 to 120; 60 if left out.
    pub(super) leeway: Option<u64>,
    /// Where its keys are; if left out, its discovery document says so.
    pub(super) jwks_uri: Option<String>,
    /// File with certificates (PEM) of authorities that it is believed by, beside the system's.
    pub(super) ca_file: Option<String>,
}

/// One word or several. Of a claim, several are a way into nested objects, so that a name with dots
/// or slashes is a name.
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

    /// Reads a file's text.
    pub(super) fn parse(text: &str) -> Result<IssuersFile, IssuersError> {
        // Without a snippet of the text: somebody will have put a secret there by mistake.
        let options = serde_saphyr::options! { with_snippet: false };
        serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            IssuersError::Syntax(error.render_with_formatter(&serde_saphyr::UserMessageFormatter))
        })
    }
}

/// A file's text, if it has one of a size that makes sense.
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
