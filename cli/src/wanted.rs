//! Tenants, limits, projects and keys as they shall be, and how the database is made to say so.
//!
//! `archway apply` takes them from a file, `archway dev` from the folders it serves; both go the
//! same way from here, in one transaction of theirs.

// In the order in which it is used.
mod carry_out;
mod compare;
mod report;

use crate::tenants::{KeyRequest, TenantError};
use archway_gateway::terms::Level;
use secrecy::SecretString;

pub(crate) use carry_out::carry_out;
pub(crate) use report::Report;

/// Tenants as they shall be.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) tenants: Vec<WantedTenant>,
}

/// A tenant as it shall be.
#[derive(Debug)]
pub(crate) struct WantedTenant {
    pub(crate) slug: String,
    pub(crate) name: WantedName,
    /// `None`: as it is.
    pub(crate) disabled: Option<bool>,
    /// The workers that serve it; `None`: as it is, `shared` at first.
    pub(crate) pool: Option<String>,
    /// `None`: as they are.
    pub(crate) limits: Option<Vec<WantedLimit>>,
    /// `None`: as they are.
    pub(crate) projects: Option<Vec<WantedProject>>,
    /// `None`: as they are.
    pub(crate) keys: Option<Vec<WantedKey>>,
}

/// A project as it shall be.
#[derive(Debug)]
pub(crate) struct WantedProject {
    pub(crate) slug: String,
    pub(crate) name: WantedName,
    /// `None`: as they are, the built-in ones at first.
    pub(crate) globs: Option<Globs>,
}

/// What a tenant or project is called, for people. `None` in either: its slug.
#[derive(Debug)]
pub(crate) enum WantedName {
    /// This.
    Always(Option<String>),
    /// This if it is made now; one that is there keeps its own.
    AtFirst(Option<String>),
}

/// The path rules of a project.
#[derive(Debug)]
pub(crate) struct Globs {
    pub(crate) allow: Option<Vec<String>>,
    pub(crate) open: Vec<String>,
    pub(crate) close: Vec<String>,
}

/// A key as it shall be. `Debug` doesn't show its secret.
#[derive(Debug)]
pub(crate) struct WantedKey {
    /// Well-formed.
    pub(crate) text: SecretString,
    pub(crate) terms: KeyRequest,
    /// `None`: as they are.
    pub(crate) limits: Option<Vec<WantedLimit>>,
}

/// A limit as it shall be.
#[derive(Debug)]
pub(crate) struct WantedLimit {
    pub(crate) level: Level,
    /// What has it: a tool, `prompts/get` or `total`.
    pub(crate) of: String,
    /// 0: none at this level.
    pub(crate) per_minute: u32,
}

/// What is put out of use because it isn't listed. Shown by `archway apply --help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Prune {
    /// Limits, projects and keys of the tenants that the file names.
    Contents,
    /// That, and tenants which it doesn't name.
    Tenants,
}

/// Why the database was not made to say what is wanted. The transaction must not be committed.
#[derive(Debug, thiserror::Error)]
pub enum WantedError {
    /// One entry was refused.
    #[error("{place}")]
    Refused {
        /// Which.
        place: String,
        /// Why.
        #[source]
        source: TenantError,
    },
    /// The database failed.
    #[error(transparent)]
    Tenants(#[from] TenantError),
}

impl Wanted {
    /// Whether the root secret is needed.
    pub(crate) fn has_keys(&self) -> bool {
        let mut keys = self.tenants.iter().flat_map(|tenant| &tenant.keys);
        keys.any(|keys| !keys.is_empty())
    }
}
