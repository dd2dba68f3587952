//! Reads and checks the end of a segment.

use zerocopy::FromBytes as _;

use crate::error::SegmentError;
use crate::layout::{Footer, MAGIC, VERSION};
use crate::source::Source;

/// Reads the footer of a segment of `length` bytes; `buffer` is scratch memory.
///
/// # Errors
/// [`SegmentError::Damaged`] or [`SegmentError::Io`].
pub(super) fn read(
    source: &Source,
    length: u64,
    buffer: &mut Vec<u8>,
) -> Result<Footer, SegmentError> {
    const BAD: SegmentError = SegmentError::Damaged("its end");

    let at = length.checked_sub(Footer::LENGTH).ok_or(BAD)?;
    source.read(at, size_of::<Footer>(), buffer)?;
    let footer = Footer::read_from_bytes(buffer).map_err(|_cast| BAD)?;
    let is_good = footer.magic == MAGIC
        && footer.version == VERSION
        && footer.checksum == footer.own_checksum()
        && footer.length == length
        && footer.dictionary_at <= footer.blocks_at
        && footer.blocks_at <= footer.sections_at
        && footer.sections_at <= footer.documents_at
        && footer.documents_at.get() <= at;
    is_good.then_some(footer).ok_or(BAD)
}
