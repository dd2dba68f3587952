//! Texts cut into chunks: what is found and shown as one.
//!
//! Source code is cut into its declarations, a document at its headings, any other text into
//! windows of lines; so is code that can't be parsed. The chunks of a text come in its order and
//! never share a byte, and the same bytes under the same extension give the same chunks. Not all
//! of a text is in one: blank lines, imports, licences and lone brackets are what nobody looks for.
//! Two chunks may share a line, where two declarations do.

// From the text to its parts: code first, then the others, then what they share.
mod code;
mod found;
mod declared;
mod comment;
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

/// How many chunks a file has at most: twice those of a mebibyte of ordinary code. What comes
/// after them in a longer file is not found by its meaning.
const MAX_CHUNKS: usize = 4_000;

/// The same for a text that is neither code nor a document: half a megabyte of it. What is longer
/// is data, a log, a list of locked versions, rather than what someone wrote.
const MAX_WINDOWS: usize = 250;

/// The same for a text whose lines are too long to be read: packed for machines. Its start may
/// still say what it is.
const MAX_DENSE: usize = 10;

/// Texts of so many bytes are dense, if their lines have [`DENSE_LINE`] on the average.
const DENSE_FROM: usize = 8 << 10;
/// A line that is not read: a paragraph on one line is shorter, together with the empty line
/// after it.
const DENSE_LINE: usize = 1_000;

/// In how many bytes at the start a binary file shows a NUL.
const BINARY_LOOK: usize = 8 << 10;

/// How much of a name is kept, in bytes.
const MAX_NAME: usize = 200;

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

impl Kind {
    /// All there are, in no order that means anything.
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
    pub(crate) lines: RangeInclusive<usize>,
    /// Where its doc comment stands in the text.
    pub doc: Option<Range<usize>>,
}

/// Cuts `text` into chunks, as the extension of `path` says. A binary file has none.
///
/// Bytes that are not UTF-8 are cut like any other, and stand as `?` in symbols. Parses on a
/// thread of its own, so that a caller needs no large stack.
///
/// # Errors
/// If the call has to stop.
pub fn chunks(path: &RepoPath, text: &[u8], cancel: &Cancel) -> Result<Vec<Chunk>, Stopped> {
    let start = text.get(..BINARY_LOOK).unwrap_or(text);
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
                tracing::debug!(error = %Chain(&error), "a file is indexed by windows of lines");
                Ok(windows(text, MAX_CHUNKS))
            }
        };
    }
    if is_markdown(path) && text.len() <= syntax::MAX_BYTES {
        return markdown::sections(text, cancel);
    }
    Ok(windows(text, MAX_WINDOWS))
}

/// The text with a `?` for each byte that is not UTF-8, so that all places stay where they are.
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

/// The text by windows of lines.
fn windows(text: &str, most: usize) -> Vec<Chunk> {
    let label = Label {
        kind: Kind::Lines,
        symbol: None,
        parent: None,
    };
    let mut cutter = Cutter::new(text, most);
    cutter.add(0..text.len(), &label, None, &size::WINDOW);
    cutter.done()
}

/// A name on one line, of bounded length; `None` if nothing is left of it.
fn name(text: &str) -> Option<String> {
    let words: Vec<&str> = start(text).split_whitespace().collect();
    Some(words.join(" ")).filter(|name| !name.is_empty())
}

/// As much of a text as a name may have.
fn start(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_NAME))
        .unwrap_or_default()
}
