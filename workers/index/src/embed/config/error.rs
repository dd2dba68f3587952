//! What may be wrong with how the embedder is set up.

use super::super::table::TableError;
use crate::openai::EndpointError;

/// What is wrong with how the embedder is set up. Never carries its key or where it is.
#[derive(Debug, thiserror::Error)]
pub enum EmbedderConfigError {
    /// Something that a service needs is missing.
    #[error("an embedding service needs {0}")]
    Missing(&'static str),
    /// Where it is, its model or its key is not set up right.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// A number is out of its range.
    #[error("{0} is at most {1}")]
    TooMany(&'static str, usize),
    /// What stands before each text leaves too little of it.
    #[error("{0} is longer than half of what a text may have (--embedder-text-chars)")]
    Prefix(&'static str),
    /// The table of this build is broken.
    #[error("the built-in table of vectors can't be used")]
    Table(#[from] TableError),
}
