//! Errors in the configuration of the embedder.

use super::super::table::TableError;
use crate::openai::EndpointError;

/// An invalid option of the embedder. Contains neither the key nor the URL.
#[derive(Debug, thiserror::Error)]
pub enum EmbedderConfigError {
    /// The service lacks an option.
    #[error("an embedding service needs {0}")]
    Missing(&'static str),
    /// The URL, model, key or certificates are invalid.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// A number exceeds its range.
    #[error("{0} is at most {1}")]
    TooMany(&'static str, usize),
    /// A prefix leaves too little room for the text.
    #[error("{0} is longer than half of a text (--embedder-text-chars)")]
    Prefix(&'static str),
    /// The built-in table is corrupt.
    #[error("the built-in table of vectors can't be used")]
    Table(#[from] TableError),
}
