//! Turns ranges of a text into chunks: trims them, cuts long ones, and counts lines.

use std::ops::Range;

use memchr::memchr_iter;

use super::{Chunk, DeclarationPlace, Kind, size::Size};

/// Least number of letters and digits of a chunk: those of a constant's name and value.
const MIN_LETTERS: usize = 20;

/// The properties that all parts of a range share.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) kind: Kind,
    pub(super) symbol: Option<String>,
    pub(super) parent: Option<String>,
    /// The declaration that the range is of.
    pub(super) declaration: Option<DeclarationPlace>,
}

impl Label {
    /// The label of what is no declaration.
    pub(super) fn new(kind: Kind, symbol: Option<String>, parent: Option<String>) -> Label {
        Label {
            kind,
            symbol,
            parent,
            declaration: None,
        }
    }
}

/// Collects the chunks of a text, from its start to its end.
pub(super) struct Cutter<'a> {
    text: &'a str,
    /// Number of chunks, at most.
    most: usize,
    chunks: Vec<Chunk>,
    /// The offset up to which lines were counted, and the line there.
    counted: (usize, usize),
}

impl<'a> Cutter<'a> {
    pub(super) fn new(text: &'a str, most: usize) -> Cutter<'a> {
        Cutter {
            text,
            most,
            chunks: Vec::new(),
            counted: (0, 1),
        }
    }

    /// Whether it ignores further ranges.
    pub(super) fn is_full(&self) -> bool {
        self.chunks.len() >= self.most
    }

    /// Adds `range`, which must not start before the end of the previous one.
    pub(super) fn add(
        &mut self,
        range: Range<usize>,
        label: &Label,
        mut doc: Option<Range<usize>>,
        size: &Size,
    ) {
        let mut rest = trimmed(self.text, range);
        while !rest.is_empty() && !self.is_full() {
            let end = size.part_end(self.text, &rest);
            let part = trimmed(self.text, rest.start..end);
            self.push(part, label, doc.take());
            rest = trimmed(self.text, end..rest.end);
        }
    }

    pub(super) fn done(self) -> Vec<Chunk> {
        self.chunks
    }

    fn push(&mut self, bytes: Range<usize>, label: &Label, doc: Option<Range<usize>>) {
        if bytes.is_empty() {
            return;
        }
        let first = self.line(bytes.start);
        let last = self.line(bytes.end);
        let doc = doc
            .map(|doc| doc.start.max(bytes.start)..doc.end.min(bytes.end))
            .filter(|doc| !doc.is_empty());
        let is_part = |of: &DeclarationPlace| {
            bytes.start > of.bytes.0 as usize || bytes.end < of.bytes.1 as usize
        };
        let declaration = label.declaration.filter(is_part);
        self.chunks.push(Chunk {
            kind: label.kind,
            symbol: label.symbol.clone(),
            parent: label.parent.clone(),
            bytes,
            lines: first..=last,
            doc,
            declaration,
        });
    }

    /// The line of an offset, which must not be smaller than in the previous call.
    fn line(&mut self, at: usize) -> usize {
        let (from, line) = self.counted;
        let between = self.text.as_bytes().get(from..at).unwrap_or_default();
        self.counted = (at, line + memchr_iter(b'\n', between).count());
        self.counted.1
    }
}

/// `range` without leading empty lines and trailing white space. Keeps the indentation of its first
/// line.
pub(super) fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let inside = text.get(range.clone()).unwrap_or_default();
    let inside = inside.trim_end();
    let blank = inside.len() - inside.trim_start_matches(is_blank).len();
    let lead = inside.get(..blank).unwrap_or_default();
    let skipped = lead.rfind('\n').map_or(0, |at| at + 1);
    let mark = lead
        .find('\u{feff}')
        .map_or(0, |at| at + '\u{feff}'.len_utf8());
    range.start + skipped.max(mark).min(inside.len())..range.start + inside.len()
}

/// Whether a range of code is worth finding.
pub(super) fn has_substance(text: &str) -> bool {
    let letters = text
        .bytes()
        .filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    letters.take(MIN_LETTERS).count() == MIN_LETTERS
}

/// White space, or a byte order mark.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}
