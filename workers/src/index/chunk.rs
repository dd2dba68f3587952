//! Texts cut into chunks: what is found and shown as one.

use std::ops::{Range, RangeInclusive};

/// What a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A function, or a macro that is used like one.
    Function,
    /// A class, struct, enum, union or record.
    Class,
    /// A function that belongs to a type.
    Method,
    /// An interface, trait or protocol.
    Interface,
    /// An alias or definition of a type.
    Type,
    /// A part of a document, under its heading.
    Section,
    /// Lines of any other text.
    Lines,
    /// What was discovered, or written to memory.
    Entry,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// What it is.
    pub kind: Kind,
    /// What it is called, or its heading.
    pub symbol: Option<String>,
    /// The type, module or heading that it belongs to.
    pub parent: Option<String>,
    /// Where it stands in the text, its doc comment included.
    pub bytes: Range<usize>,
    /// The same in lines, from 1.
    pub lines: RangeInclusive<usize>,
    /// Where its doc comment stands in the text.
    pub doc: Option<Range<usize>>,
}
