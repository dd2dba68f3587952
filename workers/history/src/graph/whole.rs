//! A file's content, read whole, in pieces between which a call may stop.

use std::io::Read;

use archway_repo::Cancel;

use super::GraphError;

/// What is read, or summed up, between two looks at a call's time, in bytes.
pub(super) const PIECE: usize = 8 << 20;

/// All of a file of at most so many bytes.
///
/// # Errors
/// [`GraphError::TooLarge`], [`GraphError::Io`], [`GraphError::Stopped`].
pub(crate) fn whole(
    mut file: impl Read,
    most: u64,
    cancel: &Cancel,
) -> Result<Vec<u8>, GraphError> {
    let mut content = Vec::new();
    loop {
        cancel.check()?;
        let mut piece = file.by_ref().take(PIECE as u64);
        let read = piece.read_to_end(&mut content)?;
        if content.len() as u64 > most {
            return Err(GraphError::TooLarge);
        }
        if read == 0 {
            return Ok(content);
        }
    }
}
