//! Administration commands: tenants, projects, connections, keys, principals, limits, memory, the audit trail,
//! usage, status, and `apply`.
//!
//! Each command connects as the database's owner, works in one transaction and prints the result: a
//! table or a few lines for people, one JSON document with `--json`. A command that fails reports the
//! error on standard error, and changes nothing.

// Commands, then what they share.
pub mod tenant;
pub mod project;
pub mod key;
pub mod principal;
pub mod access;
pub mod limits;
pub mod index;
pub(crate) mod sync;
pub mod connection;
pub mod memory;
pub mod audit;
pub mod usage;
pub mod status;
pub mod apply;

mod connect;
mod typed_args;
mod tenant_selector;
mod page;
mod limit_targets;
mod input;
mod source_text;
mod progress_bar;
mod print;

use archway_gateway::secrets::SecretError;

use crate::dev::ProjectsError;
use crate::output::OutputError;
use crate::tenants::TenantError;
pub use apply::ApplyError;
pub use audit::KnownEndsError;
pub use connect::ConnectError;

/// Why an administrative command failed.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The database cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The change was refused.
    #[error(transparent)]
    Tenants(#[from] TenantError),
    /// The root secret is invalid.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The file can't be applied.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// `archway dev` cannot serve a folder.
    #[error(transparent)]
    Projects(#[from] ProjectsError),
    /// The report of an earlier verification cannot be used.
    #[error(transparent)]
    KnownEnds(#[from] KnownEndsError),
    /// Audit records were changed or removed. The printed report says which.
    #[error(
        "the audit trail is not what gateways wrote: keep the database as it is, and find out who \
         can write to it"
    )]
    Tampered,
    /// The request is invalid; the message says what would be valid.
    #[error("{0}")]
    Refused(String),
    /// Something is not ready. The printed answer says what.
    #[error("not ready: {0}")]
    NotReady(String),
    /// Standard output cannot be written.
    #[error("writing to standard output")]
    Output(#[source] OutputError),
}

/// Refuses an erasure unless `--confirm` repeats the name of what it erases.
fn confirmed(given: Option<&str>, slug: &str, stakes: &str) -> Result<(), AdminError> {
    if given == Some(slug) {
        return Ok(());
    }
    Err(AdminError::Refused(format!(
        "this erases {stakes}, and cannot be undone; to do it, add --confirm {slug}"
    )))
}
