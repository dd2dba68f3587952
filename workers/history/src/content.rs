//! What the two sides of a change hold, within bounds.
//!
//! What is text is told by the content alone: attributes that call a file binary, or text, are
//! not asked, since they may differ between the two sides.

use gix::objs::tree::EntryKind;

use super::blobs::Blobs;
use super::similarity::is_binary;
use super::{HistoryError, Side};

/// The largest file that is compared by lines, in bytes.
const MAX_BYTES: u64 = 8 << 20;

/// How many lines it may have: to tell them apart can't be interrupted.
const MAX_LINES: usize = 250_000;

/// Both sides of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents<'b> {
    /// Before and after; a file that isn't there is empty.
    Text(&'b [u8], &'b [u8]),
    /// A side is no text: it has a NUL in its first 8,000 bytes.
    Binary,
    /// A side is larger than what is compared.
    TooLarge,
}

/// Reads both sides of one change after another, into the same memory.
#[derive(Debug, Default)]
pub(super) struct Reader {
    old: Vec<u8>,
    new: Vec<u8>,
}

impl Reader {
    /// What a change is about. A link is its target, a submodule a line that names its commit.
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

/// Reads a file into `buffer`; false if it is too large, which is found out without reading it.
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
