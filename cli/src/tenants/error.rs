//! Why an administrative change was refused. Read by operators: names what they named.

use super::{LimitError, MemoryError, keys::MOST_PROJECTS};

/// Why an administrative change was refused.
#[derive(Debug, thiserror::Error)]
pub enum TenantError {
    /// Not a slug.
    #[error("{0:?} is not a slug: lower-case letters, digits and hyphens, at most 63")]
    Slug(String),
    /// A word that addresses of architecture resources need.
    #[error("no project can be called {0:?}: the words adr, pattern and guideline are reserved")]
    Reserved(String),
    /// A name or label that can't be shown.
    #[error("{what} {text:?} is too long (over 200 characters) or holds control characters")]
    Text {
        /// `name` or `label`.
        what: &'static str,
        /// What was asked for.
        text: String,
    },
    /// The slug is in use.
    #[error("there already is a {kind} {slug}")]
    Exists {
        /// `tenant` or `project`.
        kind: &'static str,
        /// The slug that was asked for.
        slug: String,
    },
    /// Nothing has this name.
    #[error("there is no {kind} {name}; `{}` tells which there are", list_of(kind))]
    Missing {
        /// `tenant`, `project` or `key`.
        kind: &'static str,
        /// The slug or id that was asked for.
        name: String,
    },
    /// The project was removed, and its rows are still there.
    #[error(
        "project {0} was removed: `archway project restore` brings it back, `archway project purge` \
         erases it and frees its slug"
    )]
    Removed(String),
    /// Only what was put out of use can be erased.
    #[error("{kind} {slug} is in use; {first} it first")]
    InUse {
        /// `tenant` or `project`.
        kind: &'static str,
        /// Which.
        slug: String,
        /// `disable` or `remove`.
        first: &'static str,
    },
    /// A list that narrows a key to nothing.
    #[error("a key that is narrowed needs at least one {0}")]
    Nothing(&'static str),
    /// More projects than a pass carries.
    #[error(
        "a key can be narrowed to at most {MOST_PROJECTS} projects, not {0}: issue several keys, or \
         one for all projects"
    )]
    Projects(usize),
    /// A key's share of agents.
    #[error("a key is for 1 to 10000 agents, not {0}")]
    Agents(u32),
    /// A key's default project must be one that the key may read.
    #[error("the default project {0} is not among the projects of the key")]
    DefaultOutside(String),
    /// A limit that makes no sense.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// Records that would be removed are not what was written.
    #[error(
        "audit records that would be removed are not what gateways wrote: `archway audit verify` says \
         which; nothing was removed"
    )]
    Tampered,
    /// Nothing in memory that could be erased so.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The text is no key.
    #[error("the text is no API key; `archway key generate` makes one")]
    NoKey,
    /// The key's id is another tenant's, or its secret differs from what is stored.
    #[error("key {0} is in use for something else; `archway key generate` makes a new one")]
    KeyTaken(String),
    /// A key ends when it is rotated; another successor would be given that end.
    #[error("key {id} was rotated before, and its successor {successor} is good: rotate that one")]
    Rotated {
        /// The key that was to be rotated.
        id: String,
        /// What took its place.
        successor: String,
    },
    /// The root secret verifies none of the keys that are good: it is not the gateways'.
    #[error(
        "none of the {0} keys that are good was made under this root secret, so it is not the \
         gateways': name theirs with --secret-file; if theirs is lost and this one takes its \
         place, say so with --replace-secret"
    )]
    OtherSecret(u64),
    /// What was revoked stays so.
    #[error("key {0} was revoked and can't be used again; make a new one")]
    KeyRevoked(String),
    /// Another change is under way.
    #[error("another administrative change is under way; try again when it is done")]
    Busy,
    /// No token can name such a subject.
    #[error("a subject has 1 to 255 bytes and no control characters")]
    Subject,
    /// No random bytes could be had.
    #[error("the cryptographic library failed")]
    Crypto,
    /// Postgres failed.
    #[error("asking Postgres to {what}")]
    Query {
        /// What was to be done.
        what: &'static str,
        /// What sqlx said.
        #[source]
        source: sqlx::Error,
    },
}

/// What Postgres says when it waited for a lock long enough.
const LOCK_NOT_AVAILABLE: &str = "55P03";

/// The command that lists what there is.
fn list_of(kind: &str) -> &'static str {
    match kind {
        "project" => "archway project list TENANT",
        "key" => "archway key list TENANT",
        _ => "archway tenant list",
    }
}

/// For `map_err`: names what was to be done.
pub(super) fn query(what: &'static str) -> impl FnOnce(sqlx::Error) -> TenantError {
    move |source| {
        let code = source.as_database_error().and_then(|error| error.code());
        if code.is_some_and(|code| code == LOCK_NOT_AVAILABLE) {
            return TenantError::Busy;
        }
        TenantError::Query { what, source }
    }
}

/// For `ok_or_else`: nothing has this name.
pub(super) fn missing(kind: &'static str, name: impl Into<String>) -> TenantError {
    TenantError::Missing {
        kind,
        name: name.into(),
    }
}
