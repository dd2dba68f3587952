//! Reads the texts of a segment.

use std::cell::RefCell;
use std::ops::Range;

use super::{Segment, TABLES};
use crate::error::SegmentError;
use crate::layout::{DocumentRow, SectionRow};
use crate::number_set::NumberSet;

/// The longest text, in bytes: a file of 8 MiB of which every byte became U+FFFD.
const MAX_TEXT: usize = 3 * (8 << 20);

/// Buffer capacity that a thread keeps between texts, in bytes.
const KEPT_BUFFER: usize = 1 << 20;

thread_local! {
    static COMPRESSED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Segment {
    /// Reads the text of a document, or its sections that are in `among`, into `text`, replacing its
    /// content: UTF-8. Returns false if the document has no text.
    ///
    /// # Errors
    /// [`SegmentError::Damaged`] or [`SegmentError::Io`].
    pub fn text(
        &self,
        number: u32,
        among: Option<&NumberSet>,
        text: &mut Vec<u8>,
    ) -> Result<bool, SegmentError> {
        text.clear();
        if self.row(number)?.flags.get() & DocumentRow::NO_TEXT != 0 {
            return Ok(false);
        }
        for section in self.sections_of(number) {
            if among.is_none_or(|among| among.contains(section)) {
                self.append_section(section, text)?;
            }
        }
        Ok(true)
    }

    /// Where the sections of a document that are in `among` are in its text, in bytes.
    pub fn ranges(&self, number: u32, among: &NumberSet) -> Vec<Range<usize>> {
        let (mut ranges, mut at): (Vec<Range<usize>>, usize) = (Vec::new(), 0);
        for section in self.sections_of(number) {
            let row = self.sections.get(section as usize);
            let end = at + row.map_or(0, |row| row.length.get() as usize);
            match ranges.last_mut() {
                _ if !among.contains(section) => {}
                Some(last) if last.end == at => last.end = end,
                _ => ranges.push(at..end),
            }
            at = end;
        }
        ranges
    }

    fn append_section(&self, number: u32, text: &mut Vec<u8>) -> Result<(), SegmentError> {
        const BAD: SegmentError = SegmentError::Damaged("a text");

        let row = self.sections.get(number as usize).ok_or(BAD)?;
        let (begin, length) = (text.len(), row.length.get() as usize);
        if begin + length > MAX_TEXT {
            return Err(BAD);
        }
        text.resize(begin + length, 0);
        let into = text.get_mut(begin..).ok_or(BAD)?;
        COMPRESSED.with_borrow_mut(|compressed| {
            self.read_compressed(row, compressed)?;
            let written = lz4_flex::block::decompress_into(compressed, into);
            compressed.shrink_to(KEPT_BUFFER);
            match written.is_ok_and(|written| written == length) {
                true => Ok(()),
                false => Err(BAD),
            }
        })
    }

    /// A document's row.
    pub(crate) fn row(&self, number: u32) -> Result<DocumentRow, SegmentError> {
        self.documents.get(number as usize).copied().ok_or(TABLES)
    }

    /// The length of a section's text, and its compressed text.
    pub(crate) fn section(&self, number: u32) -> Result<(u32, Vec<u8>), SegmentError> {
        let row = self.sections.get(number as usize).ok_or(TABLES)?;
        let mut compressed = Vec::new();
        self.read_compressed(row, &mut compressed)?;
        Ok((row.length.get(), compressed))
    }

    fn read_compressed(
        &self,
        row: &SectionRow,
        compressed: &mut Vec<u8>,
    ) -> Result<(), SegmentError> {
        let stored = row.stored.get();
        if u64::from(stored) > self.length {
            return Err(TABLES);
        }
        self.source
            .read(row.at.get(), stored as usize, compressed)?;
        match crc32fast::hash(compressed) == row.checksum.get() {
            true => Ok(()),
            false => Err(SegmentError::Damaged("a text")),
        }
    }
}
