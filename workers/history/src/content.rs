//! Contents of the two sides of a change, within bounds.
//!
//! Only the content decides whether a file is text. Attributes are ignored, since they may differ
//! between the two sides.

use gix::objs::tree::EntryKind;

use super::blobs::Blobs;
use super::similarity::is_binary;
use super::{HistoryError, Side};

/// The largest file that is compared by lines, in bytes.
const MAX_BYTES: u64 = 8 << 20;

/// Maximum number of lines: splitting into lines can't be interrupted.
const MAX_LINES: usize = 250_000;

/// Both sides of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents<'b> {
    /// Before and after. A missing file is empty.
    Text(&'b [u8], &'b [u8]),
    /// A side is binary: it has a NUL in its first 8,000 bytes.
    Binary,
    /// A side is too large to compare.
    TooLarge,
}

/// Reads both sides of changes, reusing its buffers.
#[derive(Debug, Default)]
pub(super) struct Reader {
    old: Vec<u8>,
    new: Vec<u8>,
}

impl Reader {
    /// The contents of a change. A link's content is its target, a submodule's a line that names
    /// its commit.
    ///
    /// # Errors
    /// If a side can't be read.
    pub(super) fn read(
        &mut self,
        blobs: &Blobs<'_>,
        old: Option<Side>,
        new: Option<Side>,
    ) -> Result<Contents<'_>, HistoryError> {
        let fits = fill(blobs, old, &mut self.old)? && fill(blobs, new, &mut self.new)?;
        let (old, new) = (self.old.as_slice(), self.new.as_slice());
        Ok(if !fits {
            Contents::TooLarge
        } else if is_binary(old) || is_binary(new) {
            Contents::Binary
        } else if has_many_lines(old) || has_many_lines(new) {
            Contents::TooLarge
        } else {
            Contents::Text(old, new)
        })
    }
}

/// Reads a file into `buffer`. Returns false if it is too large; its size is checked before it is
/// read.
fn fill(blobs: &Blobs<'_>, side: Option<Side>, buffer: &mut Vec<u8>) -> Result<bool, HistoryError> {
    buffer.clear();
    let Some(side) = side else { return Ok(true) };
    if side.mode.kind() == EntryKind::Commit {
        buffer.extend_from_slice(format!("Subproject commit {}\n", side.id).as_bytes());
        return Ok(true);
    }
    Ok(blobs.size(side.id)? <= MAX_BYTES && blobs.read(side.id, buffer)?)
}

fn has_many_lines(text: &[u8]) -> bool {
    text.len() > MAX_LINES && memchr::memchr_iter(b'\n', text).count() > MAX_LINES
}
