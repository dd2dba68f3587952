//! Cuts texts into chunks, the units of search.
//!
//! Source code is cut into its declarations, a document at its headings, and any other text, or code
//! that cannot be parsed, into windows of lines. Chunks are in the order of the text and share no
//! bytes, and the same bytes under the same extension give the same chunks. Blank lines,
//! imports, licences and lone brackets are in no chunk, since they are useless as results. Two
//! chunks may share a line if two declarations do.

// From the text to its parts: code first, then other texts, then their common parts.
mod code;
mod items;
mod declaration;
mod comment;
mod macros;
mod markdown;
mod cutter;
mod size;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    ops::{Range, RangeInclusive},
};

use archway_proto::chain::Chain;
use memchr::{memchr, memchr_iter};

use archway_repo::{
    Cancel, RepoPath, Stopped,
    syntax::{self, Language, SyntaxError},
};
use cutter::{Cutter, Label};

/// Chunks per file, at most: twice those of a mebibyte of ordinary code. The rest of a longer file
/// is not searchable.
const MAX_CHUNKS: usize = 4_000;

/// Chunks of a text that is neither code nor a document, at most: half a megabyte of it. Longer ones
/// are data, logs or lock files, rather than written by people.
const MAX_WINDOWS: usize = 250;

/// Chunks of a text whose lines are too long to read, at most: it is packed for machines, but its
/// start may still say what it is.
const MAX_DENSE: usize = 10;

/// Texts of at least this many bytes are dense if their lines have [`DENSE_LINE`] bytes on average.
const DENSE_FROM: usize = 8 << 10;
/// Too long for a line to be read: a paragraph on one line is shorter, together with the empty line
/// after it.
const DENSE_LINE: usize = 1_000;

/// A NUL in this many bytes at the start marks a binary file.
const BINARY_PREFIX: usize = 8 << 10;

/// Longest name, in bytes; longer ones are cut.
const MAX_NAME: usize = 200;

/// The kind of a chunk.
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
    /// A discovery, or an entry of the project's memory.
    Entry,
}

impl Kind {
    /// All kinds, in arbitrary order.
    pub(crate) const ALL: [Kind; 8] = [
        Kind::Function,
        Kind::Class,
        Kind::Method,
        Kind::Interface,
        Kind::Type,
        Kind::Section,
        Kind::Lines,
        Kind::Entry,
    ];
}

/// A range of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its kind.
    pub kind: Kind,
    /// Its name, or its heading.
    pub symbol: Option<String>,
    /// The type, module or heading that contains it.
    pub parent: Option<String>,
    /// Its range in the text, doc comment included.
    pub bytes: Range<usize>,
    /// Its first and last line, from 1.
    pub lines: RangeInclusive<usize>,
    /// The range of its doc comment.
    pub doc: Option<Range<usize>>,
    /// The declaration of which it is a part, unless it is all of it.
    pub declaration: Option<DeclarationPlace>,
}

/// Where a declaration stands in its text, without the comment above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclarationPlace {
    /// Byte range, end excluded.
    pub bytes: (u32, u32),
    /// First and last line, from 1.
    pub lines: (u32, u32),
    /// Where its body begins, or its end without a body.
    pub body: u32,
}

/// Cuts `text` into chunks, by the extension of `path`. A binary file has none.
///
/// Bytes that are not UTF-8 become `?` in symbols. Parses on a separate thread, so callers need no
/// large stack.
///
/// # Errors
/// If `cancel` stops the work.
pub fn chunks(path: &RepoPath, text: &[u8], cancel: &Cancel) -> Result<Vec<Chunk>, Stopped> {
    let start = text.get(..BINARY_PREFIX).unwrap_or(text);
    if memchr(0, start).is_some() {
        return Ok(Vec::new());
    }
    cancel.check()?;
    let text = &*readable(text);
    if is_dense(text) {
        return Ok(windows(text, MAX_DENSE));
    }
    if let Some(language) = Language::of(path) {
        return match code::declarations(path, text, language, cancel) {
            Ok(chunks) => Ok(chunks),
            Err(SyntaxError::Stopped(stopped)) => Err(stopped),
            Err(error) => {
                tracing::debug!(error = %Chain(&error), "cutting a file into windows of lines");
                Ok(windows(text, MAX_CHUNKS))
            }
        };
    }
    if is_markdown(path) && text.len() <= syntax::MAX_BYTES {
        return markdown::sections(text, cancel);
    }
    Ok(windows(text, MAX_WINDOWS))
}

/// The text with `?` for each byte that is not UTF-8, so that offsets are unchanged.
fn readable(text: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(text) {
        return Cow::Borrowed(text);
    }
    let mut replaced = String::with_capacity(text.len());
    for part in text.utf8_chunks() {
        replaced.push_str(part.valid());
        replaced.extend(part.invalid().iter().map(|_| '?'));
    }
    Cow::Owned(replaced)
}

fn is_dense(text: &str) -> bool {
    let lines = memchr_iter(b'\n', text.as_bytes()).count() + 1;
    text.len() >= DENSE_FROM && text.len() / lines >= DENSE_LINE
}

fn is_markdown(path: &RepoPath) -> bool {
    let name = path.name().to_ascii_lowercase();
    let endings: [&[u8]; 3] = [b".md", b".markdown", b".mdx"];
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Cuts a text into windows of lines.
fn windows(text: &str, most: usize) -> Vec<Chunk> {
    let label = Label::new(Kind::Lines, None, None);
    let mut cutter = Cutter::new(text, most);
    cutter.add(0..text.len(), &label, None, &size::WINDOW);
    cutter.done()
}

/// A name on one line, of bounded length; `None` if it is blank.
fn name(text: &str) -> Option<String> {
    let words: Vec<&str> = start(text).split_whitespace().collect();
    Some(words.join(" ")).filter(|name| !name.is_empty())
}

/// The start of a text, as long as a name may be.
fn start(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_NAME))
        .unwrap_or_default()
}
