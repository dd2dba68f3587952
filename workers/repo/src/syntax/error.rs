//! Why a text could not be parsed.

use std::io;

use tree_sitter::LanguageError;

use super::{MAX_BYTES, MAX_TIME, large_stack::LargeStackError};
use crate::Stopped;

/// Why a text could not be parsed.
#[derive(Debug, thiserror::Error)]
pub enum SyntaxError {
    /// It is too large.
    #[error("the file has more than {MAX_BYTES} bytes, which are not parsed")]
    TooLarge,
    /// Parsing reached its time limit.
    #[error("parsing the file took longer than {} s", MAX_TIME.as_secs())]
    TooSlow,
    /// The maximum number of parses is running.
    #[error("too many other files are parsed now; try again")]
    Busy,
    /// Grammar and parser have incompatible versions: a build error.
    #[error("the grammar can't be used")]
    Grammar(#[source] LanguageError),
    /// No thread could be started.
    #[error("the file can't be parsed now; try again")]
    Thread(#[source] io::Error),
    /// The call was stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl From<LargeStackError> for SyntaxError {
    fn from(error: LargeStackError) -> SyntaxError {
        match error {
            LargeStackError::Busy => SyntaxError::Busy,
            LargeStackError::Thread(source) => SyntaxError::Thread(source),
            LargeStackError::Stopped(stopped) => SyntaxError::Stopped(stopped),
        }
    }
}
