//! A search index of trigrams: which of many texts can match a pattern, and the texts themselves.
//!
//! A [`Requirement`] says which trigrams a text must have for a pattern to match in it. A
//! [`Segment`] is an immutable file of documents. The text of each is divided into sections of whole
//! lines: the segment has the compressed sections, and for each trigram the sections that have it.
//! [`SegmentWriter`] writes one, [`merge()`] joins several. A segment proposes sections, and the
//! caller's own matcher decides: the index may be wider than the pattern, and is never narrower.
//!
//! Every part of a segment has a checksum, which is checked whenever that part is read.

// In the order in which a search uses them.
mod trigram;
mod requirement;
mod segment;
mod source;
mod layout;
mod posting_list;
mod number_set;
mod section;
mod writer;
mod merge;
mod error;

pub use error::SegmentError;
pub use merge::merge;
pub use number_set::NumberSet;
pub use requirement::Requirement;
pub use segment::{Document, Segment};
pub use source::Source;
pub use writer::SegmentWriter;

/// The version of segments: a program reads and writes one version.
pub const VERSION: u32 = layout::VERSION;

/// The id of a git blob: SHA-1 of its header and content.
pub type BlobId = [u8; 20];
