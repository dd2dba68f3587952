//! What may be wrong with how the embedder is set up.

use std::io;
use std::path::PathBuf;

use super::super::table::TableError;
use super::LONGEST_MODEL;

/// What is wrong with how the embedder is set up. Never carries its key or where it is.
#[derive(Debug, thiserror::Error)]
pub enum EmbedderConfigError {
    /// Something that a service needs is missing.
    #[error("an embedding service needs {0}")]
    Missing(&'static str),
    /// The URL is none, or says more than where the service is.
    #[error(
        "--embedder-url (ARCHWAY_EMBEDDER_URL) is none of the form http://host/v1 or \
         https://host/v1: a key goes into --embedder-key-file, not into the URL"
    )]
    Url,
    /// The model's name can't be one.
    #[error(
        "--embedder-model (ARCHWAY_EMBEDDER_MODEL) is no model's name: it has 1 to {LONGEST_MODEL} \
         bytes, without spaces"
    )]
    Model,
    /// A number is out of its range.
    #[error("{0} is at most {1}")]
    TooMany(&'static str, usize),
    /// What stands before each text leaves too little of it.
    #[error("{0} is longer than half of what a text may have (--embedder-text-chars)")]
    Prefix(&'static str),
    /// Both the key and a file with it.
    #[error("--embedder-key and --embedder-key-file are both given: leave one out")]
    TwoKeys,
    /// The key can't be sent.
    #[error("the embedding service's key is empty or has characters that no key has")]
    Key,
    /// A file can't be read.
    #[error("{option} {} can't be read", path.display())]
    File {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's word.
        #[source]
        source: io::Error,
    },
    /// There are no certificates in the file.
    #[error("--embedder-ca-file (ARCHWAY_EMBEDDER_CA_FILE) has no certificates in PEM")]
    Authorities,
    /// No client for it.
    #[error(
        "nothing here can speak to the embedding service: for https:// install the system's CA \
         certificates, or name some (--embedder-ca-file)"
    )]
    Client(#[source] reqwest::Error),
    /// The table of this build is broken.
    #[error("the built-in table of vectors can't be used")]
    Table(#[from] TableError),
}
