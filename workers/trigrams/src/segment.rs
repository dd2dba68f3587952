//! Reads a segment.

use std::ops::Range;

use zerocopy::FromBytes as _;

use crate::BlobId;
use crate::error::SegmentError;
use crate::layout::{BLOCK_ROWS, BlockRow, DocumentRow, Footer, SectionRow, TrigramRow};
use crate::number_set::NumberSet;
use crate::posting_list;
use crate::requirement::Requirement;
use crate::source::Source;
use crate::trigram::Trigram;

pub(crate) use lists::Lists;

mod footer;
mod lists;
mod texts;

const TABLES: SegmentError = SegmentError::Damaged("its tables");

/// An open segment. Its tables are in memory, 40 bytes a document and 20 a section; lists and texts
/// are read when they are asked for.
#[derive(Debug)]
pub struct Segment {
    source: Source,
    blocks: Vec<BlockRow>,
    sections: Vec<SectionRow>,
    documents: Vec<DocumentRow>,
    /// The numbers of the documents in the order of their blobs.
    by_blob: Vec<u32>,
    dictionary_at: u64,
    blocks_at: u64,
    length: u64,
}

/// A document of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its blob.
    pub blob: BlobId,
    /// Whether it has a text to search; a binary file has none.
    pub has_text: bool,
    /// Whether its text, or a part of it, is not searched.
    pub is_skipped: bool,
    /// The length of its text, in bytes.
    pub length: u32,
}

impl Segment {
    /// Opens a segment and checks its tables.
    ///
    /// # Errors
    /// [`SegmentError::Damaged`] or [`SegmentError::Io`].
    pub fn open(source: Source) -> Result<Segment, SegmentError> {
        let length = source.length()?;
        let mut buffer = Vec::new();
        let footer = footer::read(&source, length, &mut buffer)?;
        let (blocks_at, sections_at) = (footer.blocks_at.get(), footer.sections_at.get());
        let documents_at = footer.documents_at.get();
        let tables = (length - Footer::LENGTH).checked_sub(blocks_at);
        let tables = tables.and_then(|tables| usize::try_from(tables).ok());
        source.read(blocks_at, tables.ok_or(TABLES)?, &mut buffer)?;
        if crc32fast::hash(&buffer) != footer.tables_checksum.get() {
            return Err(TABLES);
        }
        let (blocks, rest) = split(&buffer, sections_at - blocks_at)?;
        let (sections, documents) = split(rest, documents_at - sections_at)?;
        let blocks = <[BlockRow]>::ref_from_bytes(blocks).map_err(|_cast| TABLES)?;
        let sections = <[SectionRow]>::ref_from_bytes(sections).map_err(|_cast| TABLES)?;
        let documents = <[DocumentRow]>::ref_from_bytes(documents).map_err(|_cast| TABLES)?;
        let mut by_blob: Vec<u32> = (0u32..).take(documents.len()).collect();
        by_blob.sort_unstable_by_key(|number| documents.get(*number as usize).map(|row| row.blob));
        Ok(Segment {
            blocks: blocks.to_vec(),
            sections: sections.to_vec(),
            documents: documents.to_vec(),
            by_blob,
            dictionary_at: footer.dictionary_at.get(),
            blocks_at,
            length,
            source,
        })
    }

    /// The number of documents.
    pub fn len(&self) -> u32 {
        u32::try_from(self.documents.len()).unwrap_or(u32::MAX)
    }

    /// The number of sections of all documents.
    pub fn sections(&self) -> u32 {
        u32::try_from(self.sections.len()).unwrap_or(u32::MAX)
    }

    /// The numbers of a document's sections, in the order of its text.
    pub fn sections_of(&self, number: u32) -> Range<u32> {
        let row = self.documents.get(number as usize);
        row.map_or(0..0, |row| {
            let first = row.first_section.get();
            first..first.saturating_add(row.sections.get())
        })
    }

    /// Whether it has no documents.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.length
    }

    /// The memory that it takes, in bytes.
    pub fn memory(&self) -> usize {
        let row = size_of::<DocumentRow>() + size_of::<u32>();
        let others = size_of_val(self.blocks.as_slice()) + size_of_val(self.sections.as_slice());
        size_of::<Segment>() + self.documents.len() * row + others + self.source.memory()
    }

    /// The number of the document of a blob.
    pub fn find(&self, blob: &BlobId) -> Option<u32> {
        let row = |number: &u32| self.documents.get(*number as usize);
        let found = self
            .by_blob
            .partition_point(|it| row(it).is_some_and(|row| row.blob < *blob));
        let number = self.by_blob.get(found)?;
        (row(number)?.blob == *blob).then_some(*number)
    }

    /// A document by its number.
    pub fn document(&self, number: u32) -> Option<Document> {
        let row = self.documents.get(number as usize)?;
        Some(Document {
            blob: row.blob,
            has_text: row.flags.get() & DocumentRow::NO_TEXT == 0,
            is_skipped: row.flags.get() & DocumentRow::SKIPPED != 0,
            length: row.length.get(),
        })
    }

    /// The sections of `among` that meet a requirement: a pattern matches within a line, and so within
    /// a section.
    ///
    /// # Errors
    /// [`SegmentError::Damaged`] or [`SegmentError::Io`].
    pub fn candidates(
        &self,
        requirement: &Requirement,
        among: &NumberSet,
    ) -> Result<NumberSet, SegmentError> {
        match requirement {
            Requirement::Nothing => Ok(among.clone()),
            Requirement::Trigram(trigram) => {
                let mut found = self.sections_with(*trigram)?;
                found.intersect(among);
                Ok(found)
            }
            Requirement::All(parts) => {
                let mut all = among.clone();
                for part in parts {
                    if all.is_empty() {
                        break;
                    }
                    all = self.candidates(part, &all)?;
                }
                Ok(all)
            }
            Requirement::Any(parts) => {
                let mut any = NumberSet::none(self.sections());
                for part in parts {
                    any.unite(&self.candidates(part, among)?);
                }
                Ok(any)
            }
        }
    }

    fn sections_with(&self, trigram: Trigram) -> Result<NumberSet, SegmentError> {
        let block = self
            .blocks
            .partition_point(|block| block.first.get() <= trigram);
        let Some(block) = block.checked_sub(1) else {
            return Ok(NumberSet::none(self.sections()));
        };
        let mut buffer = Vec::new();
        let (rows, mut at) = self.block(block, &mut buffer)?;
        let mut found = None;
        for row in rows {
            if row.trigram.get() == trigram {
                found = Some(*row);
                break;
            }
            at += u64::from(row.length);
        }
        match found {
            Some(row) => self.list(at, &row),
            None => Ok(NumberSet::none(self.sections())),
        }
    }

    fn list(&self, at: u64, row: &TrigramRow) -> Result<NumberSet, SegmentError> {
        let mut list = Vec::new();
        if u64::from(row.length) > self.length {
            return Err(TABLES);
        }
        self.source.read(at, row.length.get() as usize, &mut list)?;
        if crc32fast::hash(&list) != row.checksum.get() {
            return Err(SegmentError::Damaged("a list of sections"));
        }
        posting_list::decode(&list, self.sections())
    }

    /// Reads the rows of a block, and where its first list is.
    fn block<'b>(
        &self,
        number: usize,
        buffer: &'b mut Vec<u8>,
    ) -> Result<(&'b [TrigramRow], u64), SegmentError> {
        const BAD: SegmentError = SegmentError::Damaged("its dictionary");
        const BYTES: usize = BLOCK_ROWS * size_of::<TrigramRow>();

        let block = self.blocks.get(number).ok_or(BAD)?;
        let at = self.dictionary_at + (number * BYTES) as u64;
        let left = self.blocks_at.saturating_sub(at);
        let length = usize::try_from(left).unwrap_or(BYTES).min(BYTES);
        self.source.read(at, length, buffer)?;
        if crc32fast::hash(buffer) != block.checksum.get() {
            return Err(BAD);
        }
        let rows = <[TrigramRow]>::ref_from_bytes(buffer).map_err(|_cast| BAD)?;
        Ok((rows, block.lists_at.get()))
    }
}

/// Splits bytes after the first `length`.
fn split(bytes: &[u8], length: u64) -> Result<(&[u8], &[u8]), SegmentError> {
    let length = usize::try_from(length).ok();
    let split = length.and_then(|length| bytes.split_at_checked(length));
    split.ok_or(TABLES)
}

#[cfg(test)]
mod tests;
