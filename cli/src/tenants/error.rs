//! Why an administrative change was refused. The messages name what the operator named.

use super::{AccessError, LimitError, MemoryError, keys::MOST_PROJECTS};

/// Why an administrative change was refused.
#[derive(Debug, thiserror::Error)]
pub enum TenantError {
    /// The text is not a slug.
    #[error("{0:?} is not a slug: lower-case letters, digits and hyphens, at most 63")]
    Slug(String),
    /// A word that addresses of architecture resources reserve.
    #[error("no project can be called {0:?}: the words adr, pattern and guideline are reserved")]
    Reserved(String),
    /// The name or label cannot be shown.
    #[error("{what} {text:?} is too long (over 200 characters) or holds control characters")]
    Text {
        /// `name` or `label`.
        what: &'static str,
        /// The rejected text.
        text: String,
    },
    /// The slug is in use.
    #[error("there already is a {kind} {slug}")]
    Exists {
        /// `tenant` or `project`.
        kind: &'static str,
        /// The requested slug.
        slug: String,
    },
    /// No object has this name.
    #[error(
        "there is no {kind} {}; `{}` lists what exists",
        visible(name),
        list_of(kind, tenant.as_deref())
    )]
    Missing {
        /// `tenant`, `project` or `key`.
        kind: &'static str,
        /// The requested slug or id.
        name: String,
        /// The tenant that has none of this name, if one was named.
        tenant: Option<String>,
    },
    /// The project was removed, and its rows still exist.
    #[error(
        "project {0} was removed: `archway project restore` brings it back, `archway project purge` \
         erases it and frees its slug"
    )]
    Removed(String),
    /// Only a disabled tenant or a removed project can be erased.
    #[error("{kind} {slug} is in use; {first} it first")]
    InUse {
        /// `tenant` or `project`.
        kind: &'static str,
        /// Which.
        slug: String,
        /// `disable` or `remove`.
        first: &'static str,
    },
    /// The project's repository is still listed by its host.
    #[error(
        "the next listing of connection {connection} would bring project {slug} back: exclude its repository there, \
         then erase the project"
    )]
    Listed {
        /// The project.
        slug: String,
        /// The connection that found it.
        connection: String,
    },
    /// A key was restricted to an empty list.
    #[error("a key restricted by {0} needs at least one {0}")]
    Nothing(&'static str),
    /// More projects than fit into a pass.
    #[error(
        "a key can be restricted to at most {MOST_PROJECTS} projects, not {0}: issue several keys, or \
         one for all projects"
    )]
    Projects(usize),
    /// The number of agents that share a key is out of range.
    #[error("a key is for 1 to 10000 agents, not {0}")]
    Agents(u32),
    /// The default project is not among the key's projects.
    #[error("the default project {0} is not among the key's projects")]
    DefaultOutside(String),
    /// The limit is invalid.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// The access rule is invalid.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The records to remove are not what gateways wrote.
    #[error(
        "the audit records to remove are not what gateways wrote: `archway audit verify` shows \
         which; nothing was removed"
    )]
    Tampered,
    /// The records of administration to remove are not what was recorded.
    #[error(
        "the records of administration to remove are not what was recorded: `archway audit verify` shows \
         which; nothing was removed"
    )]
    TamperedAdministration,
    /// The erasure of memory was refused.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The text is not a key.
    #[error("the text is not an API key; `archway key generate` makes one")]
    NoKey,
    /// Another tenant has a key with this id, or the stored secret differs.
    #[error("key {0} is in use for something else; `archway key generate` makes a new one")]
    KeyTaken(String),
    /// The key was rotated before. Another successor would inherit the end that this rotation set, so
    /// only the newest key of a lineage can be rotated.
    #[error("key {id} was rotated before, and its successor {successor} is live: rotate that one")]
    Rotated {
        /// The key to rotate.
        id: String,
        /// The key that succeeded it.
        successor: String,
    },
    /// No live key was made under the root secret, so it is not the gateways'.
    #[error(
        "none of the {0} live keys was made under this root secret, so it is not the gateways': name \
         theirs with --secret-file; if theirs is lost and this one replaces it, add \
         --replace-secret"
    )]
    OtherSecret(u64),
    /// A revoked key stays revoked.
    #[error("key {0} was revoked and can't be used again; make a new one")]
    KeyRevoked(String),
    /// Another change is in progress.
    #[error("another administrative change is in progress; try again when it is done")]
    Busy,
    /// No token can have this subject.
    #[error("a subject has 1 to 255 bytes and no control characters")]
    Subject,
    /// The random number generator failed.
    #[error("the cryptographic library failed")]
    Crypto,
    /// Postgres failed.
    #[error("querying Postgres to {what}")]
    Query {
        /// The purpose of the query.
        what: &'static str,
        /// sqlx's error.
        #[source]
        source: sqlx::Error,
    },
}

/// SQLSTATE of a lock timeout, and of a deadlock that the database ended.
const NO_LOCK: [&str; 2] = ["55P03", "40P01"];

/// A name, which is in quotes if it is empty.
pub(crate) fn visible(name: &str) -> &str {
    match name {
        "" => "\"\"",
        _ => name,
    }
}

/// The command that lists objects of a kind.
fn list_of(kind: &str, tenant: Option<&str>) -> String {
    let command = match kind {
        "project" | "key" | "connection" => kind,
        "access rule" => "access",
        _ => return "archway tenant list".to_owned(),
    };
    format!("archway {command} list {}", tenant.unwrap_or("TENANT"))
}

/// For `map_err`: adds the purpose of the query.
pub(super) fn query(what: &'static str) -> impl FnOnce(sqlx::Error) -> TenantError {
    move |source| {
        let code = source.as_database_error().and_then(|error| error.code());
        if code.is_some_and(|code| NO_LOCK.contains(&&*code)) {
            return TenantError::Busy;
        }
        TenantError::Query { what, source }
    }
}
