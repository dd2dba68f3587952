//! Writes a segment.

use std::collections::HashMap;
use std::io::Write;

use foldhash::fast::RandomState;
use zerocopy::IntoBytes as _;

use crate::BlobId;
use crate::error::SegmentError;
use crate::layout::{BLOCK_ROWS, BlockRow, DocumentRow, Footer, MAGIC, TrigramRow, VERSION};
use crate::posting_list::PostingListBuilder;
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
        let mut row = DocumentRow {
            blob,
            at: 0.into(),
            stored: 0.into(),
            length: 0.into(),
            checksum: 0.into(),
            flags: if is_skipped { DocumentRow::SKIPPED } else { 0 }.into(),
        };
        let Some(text) = text else {
            row.flags |= DocumentRow::NO_TEXT;
            return self.parts.document(row, &[]).map(|_| ());
        };
        row.length = length(text.len())?.into();
        let compressed = lz4_flex::block::compress(text.as_bytes());
        let document = self.parts.document(row, &compressed)?;
        for trigram in self.trigrams.of(text) {
            self.lists.entry(*trigram).or_default().push(document);
        }
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
    documents: Vec<DocumentRow>,
}

impl<W: Write> PartsWriter<W> {
    pub(crate) fn new(out: W) -> PartsWriter<W> {
        PartsWriter {
            out,
            at: 0,
            documents: Vec::new(),
        }
    }

    /// Adds a document with its compressed text, wherever that was before. Returns its number.
    pub(crate) fn document(
        &mut self,
        row: DocumentRow,
        compressed: &[u8],
    ) -> Result<u32, SegmentError> {
        let document = length(self.documents.len())?;
        self.documents.push(DocumentRow {
            at: self.at.into(),
            stored: length(compressed.len())?.into(),
            checksum: crc32fast::hash(compressed).into(),
            ..row
        });
        self.write(compressed)?;
        Ok(document)
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
        let encoded = list.encode(length(self.parts.documents.len())?);
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
        let documents_at = self.parts.at;
        let documents = std::mem::take(&mut self.parts.documents);
        self.parts.write(documents.as_bytes())?;
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(blocks.as_bytes());
        checksum.update(documents.as_bytes());
        let mut footer = Footer {
            dictionary_at: dictionary_at.into(),
            blocks_at: blocks_at.into(),
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
