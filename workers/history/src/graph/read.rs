//! Reads and checksums large files in pieces, between which a call can stop.

use std::io::Read;

use archway_repo::Cancel;

use super::GraphError;

/// Bytes that are read, or checksummed, between two deadline checks.
pub(super) const PIECE_BYTES: usize = 8 << 20;

/// Reads a file of at most `max_bytes` bytes.
///
/// # Errors
/// [`GraphError::TooLarge`], [`GraphError::Io`], [`GraphError::Stopped`].
pub(crate) fn read_file(
    mut file: impl Read,
    max_bytes: u64,
    cancel: &Cancel,
) -> Result<Vec<u8>, GraphError> {
    let mut content = Vec::new();
    loop {
        cancel.check()?;
        let mut piece = file.by_ref().take(PIECE_BYTES as u64);
        let read = piece.read_to_end(&mut content)?;
        if content.len() as u64 > max_bytes {
            return Err(GraphError::TooLarge);
        }
        if read == 0 {
            return Ok(content);
        }
    }
}
