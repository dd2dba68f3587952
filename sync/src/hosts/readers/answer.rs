//! What a host is asked about a repository's readers, and what it answers.

use serde::Serialize;

/// An account that may read a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostReader {
    /// The host's number, above 0.
    pub account: i64,
    /// In lower case, 1 to 255 bytes.
    pub login: Option<String>,
    /// In lower case; only one that the host has verified.
    pub email: Option<String>,
}

/// What a host answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadersAnswer {
    /// The same as when it gave these validators.
    Unchanged,
    /// All who may read it, by number.
    Listed {
        /// At most 50,000.
        readers: Vec<HostReader>,
        /// One for each page; empty if the next answer has to be read anew.
        etags: Vec<String>,
    },
}

/// A repository whose readers are asked for.
#[derive(Clone, Copy, Debug)]
pub struct AskedRepository<'a> {
    /// The host's id.
    pub host_id: &'a str,
    /// Its path at the host.
    pub path: &'a str,
    /// Validators of the last answer.
    pub etags: &'a [String],
    /// Whether somebody waits for it: a larger part of the host's rate limit may be used.
    pub is_requested: bool,
}
