//! Why a segment cannot be used.

use std::io;

/// Why a segment cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// It is not a segment of this version, it is truncated, or a checksum does not match.
    #[error("a search index is damaged: {0}")]
    Damaged(&'static str),
    /// It would have more documents or bytes than its numbers can express.
    #[error("a search index is too large")]
    TooLarge,
    /// The operating system refused to read or write it.
    #[error("a search index can't be read or written")]
    Io(#[from] io::Error),
}

impl SegmentError {
    /// Whether the file itself is wrong, and not the moment at which it was read.
    pub fn is_damage(&self) -> bool {
        match self {
            SegmentError::Damaged(_) => true,
            SegmentError::Io(error) => error.kind() == io::ErrorKind::UnexpectedEof,
            SegmentError::TooLarge => false,
        }
    }
}
