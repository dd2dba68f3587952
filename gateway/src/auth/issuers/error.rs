//! What can be wrong with the issuers file. For operators: errors repeat what they wrote.

use std::{io, path::PathBuf};

use archway_proto::host_account::MAX_ACCOUNTS;

/// Seconds.
pub(super) const MOST_LEEWAY: u64 = 120;
/// Each issuer refreshes its keys on its own.
pub(super) const MOST_ISSUERS: usize = 100;
/// The same bound as for a key: each call carries the list to its worker.
pub(super) const MOST_PROJECTS: usize = 200;

/// Why the issuers can't be used.
#[derive(Debug, thiserror::Error)]
pub enum IssuersError {
    /// A file can't be read.
    #[error("reading {what}, {}", .path.display())]
    Read {
        /// Which file.
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// A file is too large.
    #[error("{what}, {}, is larger than 1 MiB", .path.display())]
    TooLarge {
        /// Which file.
        what: &'static str,
        /// Its path.
        path: PathBuf,
    },
    /// The file is malformed; the text says where.
    #[error("{0}")]
    Syntax(String),
    /// The number of issuers is out of range.
    #[error("the file lists {0} issuers: 1 to {MOST_ISSUERS} are expected under `issuers`")]
    Number(usize),
    /// Two entries name the same issuer.
    #[error("issuer {0} is listed twice")]
    Twice(String),
    /// Something is wrong with an issuer.
    #[error("issuer number {number}")]
    Issuer {
        /// Its number in the file, from 1. Its URL may contain what readers of the log should not
        /// see.
        number: usize,
        /// What is wrong.
        #[source]
        problem: IssuerProblem,
    },
    /// Without it, clients cannot be told where to get tokens.
    #[error(
        "--resource (ARCHWAY_RESOURCE) is missing: the URL by which clients reach this gateway"
    )]
    NoResource,
    /// The gateway's own URL is invalid.
    #[error(
        "--resource (ARCHWAY_RESOURCE) is not https://host or https://host/mcp (http:// for \
         loopback only)"
    )]
    Resource,
}

/// What is wrong with one issuer.
#[derive(Debug, thiserror::Error)]
pub enum IssuerProblem {
    /// Its name is not a URL that can be trusted.
    #[error(
        "`{0}` must be an https:// URL without user, query and fragment (http:// for loopback only)"
    )]
    Url(&'static str),
    /// Its keys' URL cannot be trusted, or contains a password, which this text does not repeat.
    #[error(
        "`jwks_uri` must be an https:// URL without user and password: keys are public \
         (http:// for loopback only, of an issuer there)"
    )]
    KeysUrl,
    /// It has no audience.
    #[error("`audience` must name what its tokens say in `aud`, and no empty text")]
    Audience,
    /// An unknown algorithm.
    #[error(
        "unknown algorithm {0:?}: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 \
         and EdDSA are supported"
    )]
    Algorithm(String),
    /// Neither of the two ways to assign tenants, or both.
    #[error(
        "say which tenants it speaks for: either `tenant: SLUG`, or `tenant_claim` with the list `tenants`"
    )]
    Tenants,
    /// An invalid slug of a tenant or project.
    #[error(
        "`{0}` has {1:?}, which is not a slug: lower-case letters, digits and hyphens, at most 63"
    )]
    Slug(&'static str, String),
    /// A claim without a name.
    #[error("`{0}` must name a claim")]
    Claim(&'static str),
    /// More accounts than a call can carry.
    #[error("`host_accounts` has {0} entries: at most {MAX_ACCOUNTS} are allowed")]
    Accounts(usize),
    /// Not exactly one claim for an account, or none with a name, or no connection of that name can be.
    #[error(
        "`host_accounts` has {0:?}: write a connection's name, and exactly one of `id`, `login` and `email` with a claim"
    )]
    Account(String),
    /// An empty list, which would allow nothing.
    #[error("`{0}` is an empty list: leave it out for all")]
    Nothing(&'static str),
    /// More projects than a call can carry.
    #[error("`projects` has more than {MOST_PROJECTS}")]
    Projects,
    /// The default project is not among the visible ones.
    #[error("`default_project` is not among `projects`")]
    DefaultOutside,
    /// The leeway is too large.
    #[error("`leeway` is {0} seconds: at most {MOST_LEEWAY} are allowed")]
    Leeway(u64),
    /// The CA file can't be read.
    #[error("`ca_file` can't be used")]
    Authorities(#[source] Box<IssuersError>),
    /// The CA file contains no certificate.
    #[error("`ca_file` holds no certificate in PEM form")]
    NoAuthorities,
    /// Its HTTP client could not be built.
    #[error("preparing the HTTP client for its keys")]
    Client(#[source] reqwest::Error),
}
