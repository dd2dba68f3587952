//! The desired state of tenants, limits, projects, connections and keys, and how the database is changed to match.
//!
//! `archway apply` reads it from a file, `archway dev` from the folders it serves. Both apply it the
//! same way, in one transaction.

// In the order of use.
mod apply;
mod compare;
mod field_change;
mod report;

use archway_gateway::terms::Level;
use archway_sync::hosts::ConnectionSettings;
use secrecy::SecretString;

use crate::tenants::{AccessTerms, KeyRequest, ProjectSource, TenantError};

pub(crate) use apply::apply;
pub(crate) use report::ApplyReport;

/// The desired state of a set of tenants.
#[derive(Debug)]
pub(crate) struct DesiredState {
    pub(crate) tenants: Vec<DesiredTenant>,
}

/// A tenant's desired state.
#[derive(Debug)]
pub(crate) struct DesiredTenant {
    pub(crate) slug: String,
    pub(crate) name: DesiredName,
    /// `None`: unchanged.
    pub(crate) disabled: Option<bool>,
    /// The worker pool; `None`: unchanged, or `shared` for a new tenant.
    pub(crate) pool: Option<String>,
    /// `None`: unchanged.
    pub(crate) limits: Option<Vec<DesiredLimit>>,
    /// `None`: unchanged.
    pub(crate) projects: Option<Vec<DesiredProject>>,
    /// `None`: unchanged.
    pub(crate) connections: Option<Vec<ConnectionSettings>>,
    /// `None`: unchanged.
    pub(crate) access: Option<Vec<AccessTerms>>,
    /// `None`: unchanged.
    pub(crate) keys: Option<Vec<DesiredKey>>,
}

/// A project's desired state.
#[derive(Debug)]
pub(crate) struct DesiredProject {
    pub(crate) slug: String,
    pub(crate) name: DesiredName,
    /// `None`: unchanged, or the built-in rules for a new project.
    pub(crate) globs: Option<Globs>,
    pub(crate) source: DesiredSource,
    /// The fields that the file leaves out, as it calls them.
    pub(crate) left_out: Vec<&'static str>,
}

/// Where a project's repository comes from.
#[derive(Debug)]
pub(crate) enum DesiredSource {
    /// As before.
    Unchanged,
    /// Somebody puts it into the folder, unless a connection found it.
    Folder,
    /// `archway sync` mirrors it.
    Mirror(Box<ProjectSource>),
}

/// The display name of a tenant or project. `None` in either variant means its slug.
#[derive(Debug)]
pub(crate) enum DesiredName {
    /// Sets this name.
    Always(Option<String>),
    /// Names a new object only; an existing one keeps its name.
    AtFirst(Option<String>),
}

/// The path rules of a project.
#[derive(Debug)]
pub(crate) struct Globs {
    pub(crate) allow: Option<Vec<String>>,
    pub(crate) open: Vec<String>,
    pub(crate) close: Vec<String>,
}

/// A key's desired state. `Debug` doesn't show its secret.
#[derive(Debug)]
pub(crate) struct DesiredKey {
    /// The whole key, well-formed.
    pub(crate) text: SecretString,
    pub(crate) terms: KeyRequest,
    /// The fields that the file leaves out, as it calls them.
    pub(crate) left_out: Vec<&'static str>,
    /// `None`: unchanged.
    pub(crate) limits: Option<Vec<DesiredLimit>>,
}

/// A limit's desired state.
#[derive(Debug)]
pub(crate) struct DesiredLimit {
    pub(crate) level: Level,
    /// A tool, `prompts/get` or `total`.
    pub(crate) of: String,
    /// 0: no limit at this level.
    pub(crate) per_minute: u32,
}

/// What to disable when the file doesn't list it. Shown by `archway apply --help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Prune {
    /// Unlisted limits, projects and keys of listed tenants.
    Contents,
    /// Those, and tenants that the file doesn't list.
    Tenants,
}

/// Why the desired state was not applied. The transaction must not be committed.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// One entry was refused.
    #[error("{place}")]
    Refused {
        /// The entry: `project acme/site`.
        place: String,
        /// Why.
        #[source]
        source: TenantError,
    },
    /// The database failed.
    #[error(transparent)]
    Tenants(#[from] TenantError),
}

impl DesiredState {
    /// Whether any key is listed. Only then is the root secret needed.
    pub(crate) fn has_keys(&self) -> bool {
        let mut keys = self.tenants.iter().flat_map(|tenant| &tenant.keys);
        keys.any(|keys| !keys.is_empty())
    }
}
