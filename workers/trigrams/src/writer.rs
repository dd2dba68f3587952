//! Writes a segment.

use std::collections::HashMap;
use std::io::Write;

use foldhash::fast::RandomState;
use zerocopy::IntoBytes as _;

use crate::BlobId;
use crate::error::SegmentError;
use crate::layout::{
    BLOCK_ROWS, BlockRow, DocumentRow, Footer, MAGIC, SectionRow, TrigramRow, VERSION,
};
use crate::posting_list::PostingListBuilder;
use crate::section::sections;
use crate::trigram::{DistinctTrigrams, Trigram};

/// Writes a segment from texts.
pub struct SegmentWriter<W> {
    parts: PartsWriter<W>,
    lists: HashMap<Trigram, PostingListBuilder, RandomState>,
    trigrams: DistinctTrigrams,
}

impl<W: Write> SegmentWriter<W> {
    /// Begins a segment.
    pub fn new(out: W) -> SegmentWriter<W> {
        SegmentWriter {
            parts: PartsWriter::new(out),
            lists: HashMap::default(),
            trigrams: DistinctTrigrams::new(),
        }
    }

    /// Adds a document: `text` is `None` for one that cannot be searched. `is_skipped` says that
    /// its text, or a part of it, is not searched.
    ///
    /// # Errors
    /// [`SegmentError::Io`] or [`SegmentError::TooLarge`]; the segment is then incomplete.
    pub fn add(
        &mut self,
        blob: BlobId,
        text: Option<&str>,
        is_skipped: bool,
    ) -> Result<(), SegmentError> {
        let mut flags = if is_skipped { DocumentRow::SKIPPED } else { 0 };
        if text.is_none() {
            flags |= DocumentRow::NO_TEXT;
        }
        let text = text.unwrap_or_default();
        let first = self.parts.sections();
        for section in sections(text) {
            let compressed = lz4_flex::block::compress(section.as_bytes());
            let number = self.parts.section(length(section.len())?, &compressed)?;
            for trigram in self.trigrams.of(section) {
                self.lists.entry(*trigram).or_default().push(number);
            }
        }
        self.parts.document(DocumentRow {
            blob,
            first_section: length(first)?.into(),
            sections: length(self.parts.sections() - first)?.into(),
            length: length(text.len())?.into(),
            flags: flags.into(),
        })?;
        Ok(())
    }

    /// The number of distinct trigrams so far: some 100 bytes of memory each.
    pub fn trigrams(&self) -> usize {
        self.lists.len()
    }

    /// Completes the segment, and returns what it was written to.
    ///
    /// # Errors
    /// [`SegmentError::Io`]
    pub fn finish(self) -> Result<W, SegmentError> {
        let mut lists: Vec<_> = self.lists.into_iter().collect();
        lists.sort_unstable_by_key(|(trigram, _)| *trigram);
        let mut parts = self.parts.lists();
        for (trigram, list) in lists {
            parts.list(trigram, &list)?;
        }
        parts.finish()
    }
}

/// Writes the documents of a segment, then their lists.
pub(crate) struct PartsWriter<W> {
    out: W,
    at: u64,
    sections: Vec<SectionRow>,
    documents: Vec<DocumentRow>,
}

impl<W: Write> PartsWriter<W> {
    pub(crate) fn new(out: W) -> PartsWriter<W> {
        PartsWriter {
            out,
            at: 0,
            sections: Vec::new(),
            documents: Vec::new(),
        }
    }

    /// The number of sections so far.
    pub(crate) fn sections(&self) -> usize {
        self.sections.len()
    }

    /// Adds the next section of the next document: the length of its text, and the compressed text.
    /// Returns its number.
    pub(crate) fn section(
        &mut self,
        text_length: u32,
        compressed: &[u8],
    ) -> Result<u32, SegmentError> {
        let section = length(self.sections.len())?;
        self.sections.push(SectionRow {
            at: self.at.into(),
            stored: length(compressed.len())?.into(),
            length: text_length.into(),
            checksum: crc32fast::hash(compressed).into(),
        });
        self.write(compressed)?;
        Ok(section)
    }

    /// Adds a document, whose sections were added.
    pub(crate) fn document(&mut self, row: DocumentRow) -> Result<(), SegmentError> {
        length(self.documents.len())?;
        self.documents.push(row);
        Ok(())
    }

    /// Begins the lists.
    pub(crate) fn lists(self) -> ListsWriter<W> {
        ListsWriter {
            lists_at: self.at,
            parts: self,
            rows: Vec::new(),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), SegmentError> {
        self.out.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

/// Writes the lists of a segment in ascending order of their trigrams.
pub(crate) struct ListsWriter<W> {
    parts: PartsWriter<W>,
    lists_at: u64,
    rows: Vec<TrigramRow>,
}

impl<W: Write> ListsWriter<W> {
    /// Adds the list of a trigram.
    pub(crate) fn list(
        &mut self,
        trigram: Trigram,
        list: &PostingListBuilder,
    ) -> Result<(), SegmentError> {
        let encoded = list.encode(length(self.parts.sections.len())?);
        self.rows.push(TrigramRow {
            trigram: trigram.into(),
            length: length(encoded.len())?.into(),
            checksum: crc32fast::hash(&encoded).into(),
        });
        self.parts.write(&encoded)
    }

    /// Completes the segment.
    pub(crate) fn finish(mut self) -> Result<W, SegmentError> {
        let dictionary_at = self.parts.at;
        let mut lists_at = self.lists_at;
        let mut blocks = Vec::new();
        for rows in self.rows.chunks(BLOCK_ROWS) {
            blocks.push(BlockRow {
                first: rows.first().map_or(0.into(), |row| row.trigram),
                checksum: crc32fast::hash(rows.as_bytes()).into(),
                lists_at: lists_at.into(),
            });
            lists_at += rows.iter().map(|row| u64::from(row.length)).sum::<u64>();
            self.parts.write(rows.as_bytes())?;
        }
        let blocks_at = self.parts.at;
        self.parts.write(blocks.as_bytes())?;
        let sections_at = self.parts.at;
        let sections = std::mem::take(&mut self.parts.sections);
        self.parts.write(sections.as_bytes())?;
        let documents_at = self.parts.at;
        let documents = std::mem::take(&mut self.parts.documents);
        self.parts.write(documents.as_bytes())?;
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(blocks.as_bytes());
        checksum.update(sections.as_bytes());
        checksum.update(documents.as_bytes());
        let mut footer = Footer {
            dictionary_at: dictionary_at.into(),
            blocks_at: blocks_at.into(),
            sections_at: sections_at.into(),
            documents_at: documents_at.into(),
            length: (self.parts.at + Footer::LENGTH).into(),
            tables_checksum: checksum.finalize().into(),
            version: VERSION.into(),
            magic: MAGIC,
            checksum: 0.into(),
        };
        footer.checksum = footer.own_checksum().into();
        self.parts.write(footer.as_bytes())?;
        self.parts.out.flush()?;
        Ok(self.parts.out)
    }
}

fn length(length: usize) -> Result<u32, SegmentError> {
    u32::try_from(length).map_err(|_overflow| SegmentError::TooLarge)
}
