//! Administration by command: tenants, projects, keys, principals, limits, memory, the audit
//! trail, what state things are in, and `apply`.
//!
//! Each command connects as the owner of the database, does its work in one transaction and
//! prints what it did: a table or a few lines for people, one JSON document with `--json`. A
//! command that refuses says so on standard error and changed nothing.

// What can be asked, then what all of it stands on.
pub mod tenant;
pub mod project;
pub mod key;
pub mod principal;
pub mod limits;
pub mod index;
pub mod memory;
pub mod audit;
pub mod status;
pub mod apply;

mod connect;
mod told;
mod whose;
mod spending;
mod input;
mod print;

use crate::tenants::TenantError;
use archway_gateway::secrets::SecretError;

use crate::dev::ProjectsError;
use crate::output::OutputError;
pub use apply::ApplyError;
pub use audit::KnownError;
pub use connect::ConnectError;

/// Why an administrative command failed.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// There is no database to work on.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The change was refused.
    #[error(transparent)]
    Tenants(#[from] TenantError),
    /// The root secret is not right.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The file can't be applied.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A folder can't be served by `archway dev`.
    #[error(transparent)]
    Projects(#[from] ProjectsError),
    /// What an earlier verification printed can't be used.
    #[error(transparent)]
    Known(#[from] KnownError),
    /// Audit records were changed or removed; the answer that was printed says which.
    #[error(
        "the audit trail is not what gateways wrote: keep the database as it is, and find out who \
         can write to it"
    )]
    Tampered,
    /// What was asked for makes no sense here; says what would.
    #[error("{0}")]
    Refused(String),
    /// Something is not ready; the answer that was printed says what.
    #[error("not ready: {0}")]
    NotReady(String),
    /// Standard output can't be written.
    #[error("writing to standard output")]
    Output(#[source] OutputError),
}

/// Lets a deletion pass that was confirmed by its slug, given twice.
fn confirmed(given: Option<&str>, slug: &str, stakes: &str) -> Result<(), AdminError> {
    if given == Some(slug) {
        return Ok(());
    }
    Err(AdminError::Refused(format!(
        "this erases {stakes}, and there is no way back; to do it, add --confirm {slug}"
    )))
}
