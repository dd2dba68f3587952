//! The parts of a segment file, in their order:
//!
//! 1. the compressed sections of the texts, those of a text together and in their order;
//! 2. for each trigram, in ascending order, the list of its sections;
//! 3. the dictionary: [`TrigramRow`]s in blocks of [`BLOCK_ROWS`];
//! 4. a [`BlockRow`] for each block;
//! 5. a [`SectionRow`] for each section;
//! 6. a [`DocumentRow`] for each document;
//! 7. the [`Footer`].
//!
//! Numbers are little-endian. Checksums are CRC-32. The version changes with the layout and with
//! the normal form of texts.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::BlobId;

pub(crate) const MAGIC: [u8; 8] = *b"archwtri";
pub(crate) const VERSION: u32 = 2;

/// Rows of a block of the dictionary: a look-up reads one block.
pub(crate) const BLOCK_ROWS: usize = 256;

/// Where a trigram's list is: the lists of a block follow one another.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct TrigramRow {
    pub(crate) trigram: U32,
    pub(crate) length: U32,
    pub(crate) checksum: U32,
}

/// A block of the dictionary.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct BlockRow {
    /// Its first trigram.
    pub(crate) first: U32,
    /// The checksum of its rows.
    pub(crate) checksum: U32,
    /// The position of its first list.
    pub(crate) lists_at: U64,
}

/// A section of a text: some of its lines.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct SectionRow {
    /// The position of its compressed text.
    pub(crate) at: U64,
    /// The length of its compressed text.
    pub(crate) stored: U32,
    /// The length of its text.
    pub(crate) length: U32,
    /// The checksum of its compressed text.
    pub(crate) checksum: U32,
}

/// A document.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct DocumentRow {
    pub(crate) blob: BlobId,
    /// The number of its first section.
    pub(crate) first_section: U32,
    /// How many sections it has.
    pub(crate) sections: U32,
    /// The length of its text.
    pub(crate) length: U32,
    pub(crate) flags: U32,
}

impl DocumentRow {
    /// It has no text to search: it is binary or too large.
    pub(crate) const NO_TEXT: u32 = 1;
    /// Its text, or a part of it, is not searched.
    pub(crate) const SKIPPED: u32 = 2;
}

/// The end of the file.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct Footer {
    /// The position of the dictionary.
    pub(crate) dictionary_at: U64,
    /// The position of the rows of blocks.
    pub(crate) blocks_at: U64,
    /// The position of the rows of sections.
    pub(crate) sections_at: U64,
    /// The position of the rows of documents.
    pub(crate) documents_at: U64,
    /// The length of the whole file.
    pub(crate) length: U64,
    /// The checksum of the rows of blocks, sections and documents.
    pub(crate) tables_checksum: U32,
    pub(crate) version: U32,
    pub(crate) magic: [u8; 8],
    /// The checksum of the footer up to here.
    pub(crate) checksum: U32,
}

impl Footer {
    pub(crate) const LENGTH: u64 = size_of::<Footer>() as u64;

    /// The checksum of all fields before the checksum.
    pub(crate) fn own_checksum(&self) -> u32 {
        let fields = self.as_bytes().split_last_chunk::<{ size_of::<U32>() }>();
        crc32fast::hash(fields.map_or(&[], |(fields, _)| fields))
    }
}
