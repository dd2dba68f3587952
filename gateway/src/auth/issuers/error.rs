//! What can be wrong with the file that names the issuers. Read by operators: names what they wrote.

use std::{io, path::PathBuf};

/// Seconds.
pub(super) const MOST_LEEWAY: u64 = 120;
/// Each refreshes its keys on its own.
pub(super) const MOST_ISSUERS: usize = 100;
/// As many as a key may be narrowed to: each call carries them to its worker.
pub(super) const MOST_PROJECTS: usize = 200;

/// Why the issuers can't be used.
#[derive(Debug, thiserror::Error)]
pub enum IssuersError {
    /// A file can't be read.
    #[error("reading {what}, {}", .path.display())]
    Read {
        /// Which.
        what: &'static str,
        /// Its path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file is larger than makes sense.
    #[error("{what}, {}, is larger than 1 MiB", .path.display())]
    TooLarge {
        /// Which.
        what: &'static str,
        /// Its path.
        path: PathBuf,
    },
    /// It is not what was expected; says where.
    #[error("{0}")]
    Syntax(String),
    /// How many issuers it names.
    #[error("it names {0} issuers: 1 to {MOST_ISSUERS} are expected under `issuers`")]
    Number(usize),
    /// Two entries of one issuer.
    #[error("issuer {0} stands there twice")]
    Twice(String),
    /// Something is wrong with an issuer.
    #[error("issuer number {place}")]
    Issuer {
        /// In the file, from 1. Its URL may hold what nobody should read.
        place: usize,
        /// What is wrong.
        #[source]
        problem: IssuerProblem,
    },
    /// Clients could not be told where tokens come from.
    #[error(
        "--resource (ARCHWAY_RESOURCE) is missing: the URL by which clients reach this gateway"
    )]
    NoResource,
    /// The gateway's own URL.
    #[error(
        "--resource (ARCHWAY_RESOURCE) is not https://host or https://host/mcp (http:// for \
         loopback only)"
    )]
    Resource,
}

/// What is wrong with one issuer.
#[derive(Debug, thiserror::Error)]
pub enum IssuerProblem {
    /// Its name is no URL that tokens could be trusted by.
    #[error(
        "`{0}` must be an https:// URL without user, query and fragment (http:// for loopback only)"
    )]
    Url(&'static str),
    /// Its keys are where they can't be trusted, or behind a password, which this does not repeat.
    #[error(
        "`jwks_uri` must be an https:// URL without user and password: keys are read by anybody \
         (http:// for loopback only, of an issuer there)"
    )]
    KeysUrl,
    /// It has no audience.
    #[error("`audience` must name what its tokens say in `aud`, and no empty text")]
    Audience,
    /// An algorithm that is not among ours.
    #[error(
        "there is no algorithm {0:?} here: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384 \
         and EdDSA are known"
    )]
    Algorithm(String),
    /// Not one of the two ways to say its tenants.
    #[error(
        "say for whom it speaks: either `tenant: SLUG`, or `tenant_claim` with the list `tenants`"
    )]
    Tenants,
    /// A tenant's or project's name is none.
    #[error(
        "`{0}` has {1:?}, which is no slug: lower-case letters, digits and hyphens, at most 63"
    )]
    Slug(&'static str, String),
    /// A claim without a name.
    #[error("`{0}` must name a claim")]
    Claim(&'static str),
    /// A list that leaves nothing.
    #[error("`{0}` is an empty list: leave it out for all")]
    Nothing(&'static str),
    /// More projects than a call can carry.
    #[error("`projects` has more than {MOST_PROJECTS}")]
    Projects,
    /// The default is not among what can be seen.
    #[error("`default_project` is not among `projects`")]
    DefaultOutside,
    /// Clocks may not differ so much.
    #[error("`leeway` is {0} seconds: at most {MOST_LEEWAY} are allowed")]
    Leeway(u64),
    /// The authorities' file can't be read.
    #[error("`ca_file` can't be used")]
    Authorities(#[source] Box<IssuersError>),
    /// The authorities' file holds none.
    #[error("`ca_file` holds no certificate in PEM form")]
    NoAuthorities,
    /// No client for it could be made.
    #[error("preparing to ask it for its keys")]
    Client(#[source] reqwest::Error),
}
