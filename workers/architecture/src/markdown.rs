//! Parses documents as markdown: front matter, and blocks of plain text under headings.
//!
//! The text of a block is plain except for code spans, which keep their backticks. It has line ends
//! where the source has them, and neither strikethrough text nor comments. [`Block::verbatim`]
//! returns the source instead. Headings in quotations and lists don't open sections.

// In processing order.
mod front_matter;
mod line_index;
mod builder;
mod sentences;

use std::ops::{Range, RangeInclusive};

use archway_repo::{Cancel, Stopped};

pub(crate) use front_matter::Field;
pub(crate) use sentences::sentences;

/// A parsed document.
#[derive(Debug, Default)]
pub struct Markdown {
    /// The front matter's fields, in order.
    pub(crate) front: Vec<Field>,
    /// The sections in order, without subsections. The first has no heading if text precedes the
    /// first heading.
    pub(crate) sections: Vec<Section>,
    /// The code blocks, in order.
    pub(crate) fences: Vec<Fence>,
}

/// A heading and the content up to the next heading of any level.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Section {
    /// Plain text on one line; empty before the first heading.
    pub(crate) heading: String,
    /// 1 to 6; 0 before the first heading.
    pub(crate) level: u8,
    /// The 1-based lines from the heading to the last one before the next heading.
    pub(crate) lines: RangeInclusive<usize>,
    /// The same, as byte offsets in the document.
    pub(crate) bytes: Range<usize>,
    /// The blocks under the heading.
    pub(crate) blocks: Vec<Block>,
}

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Paragraph,
    /// The first paragraph of a list item.
    Item,
    /// The header row of a table.
    Head,
    /// Another row of a table.
    Row,
}

/// A paragraph, a list item, or a table row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) kind: BlockKind,
    /// The number of enclosing lists: 1 for the items of a top-level list.
    pub(crate) depth: u8,
    /// Plain text, with ` | ` between the cells of a row.
    pub(crate) text: String,
    /// The cells of a row.
    pub(crate) cells: Vec<String>,
    /// The 1-based line on which the block begins.
    pub(crate) line: usize,
    pub(crate) links: Vec<Link>,
    /// Offsets of pieces of the text: in the text, and in the document.
    pub(crate) offsets: Vec<(usize, usize)>,
}

/// A link in a block's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The link text, as a range of the block's text.
    pub(crate) text: Range<usize>,
    /// The target, as written.
    pub(crate) target: String,
}

/// A code block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    /// The info string after the opening fence, trimmed; empty for indented code.
    pub(crate) info: String,
    pub(crate) content: String,
    /// The 1-based line on which the code begins.
    pub(crate) line: usize,
    /// Index of the section that contains the block.
    pub(crate) section: usize,
}

impl Markdown {
    /// Parses a document.
    ///
    /// # Errors
    /// If the call is cancelled.
    pub(crate) fn read(text: &str, cancel: &Cancel) -> Result<Markdown, Stopped> {
        let (front, body) = front_matter::split(text);
        let (sections, fences) = builder::build(text, body, cancel)?;
        Ok(Markdown {
            front,
            sections,
            fences,
        })
    }

    /// A field of the front matter; case, `-` and `_` are ignored.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.front.iter().find(|field| field.is(name))
    }

    /// The document's title: the first heading of the highest level.
    pub(crate) fn title(&self) -> Option<&str> {
        let headings = self.sections.iter().filter(|section| section.level > 0);
        let first = headings.min_by_key(|section| section.level)?;
        (!first.heading.is_empty()).then_some(first.heading.as_str())
    }

    /// The title, otherwise the front matter's title.
    pub(crate) fn document_title(&self) -> Option<&str> {
        let field = || self.field("title")?.values.first().map(String::as_str);
        self.title().or_else(field)
    }
}

impl Block {
    /// The 1-based line of an offset in the text.
    #[cfg(test)]
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        self.line + memchr::memchr_iter(b'\n', before).count()
    }

    /// The sentences of the text: ranges, each with the line on which it begins.
    pub(crate) fn sentences(&self) -> impl Iterator<Item = (Range<usize>, usize)> {
        let ranges = sentences(&self.text).into_iter();
        ranges.scan((0, self.line), |(end, line), range| {
            let between = self.text.as_bytes().get(*end..range.start);
            *line += memchr::memchr_iter(b'\n', between.unwrap_or_default()).count();
            *end = range.start;
            Some((range, *line))
        })
    }

    /// The source for a range of the text, with whitespace collapsed, and with adjacent emphasis
    /// and link marks.
    pub(crate) fn verbatim(&self, source: &str, range: &Range<usize>) -> String {
        let start = start_with_marks(source, self.source_offset(range.start));
        // The end is mapped by the last character, because marks may stand between two pieces.
        let last = self
            .text
            .get(range.clone())
            .and_then(|text| text.chars().next_back());
        let width = last.map_or(0, char::len_utf8);
        let end = end_with_marks(source, self.source_offset(range.end - width) + width);
        let words = source
            .get(start..end)
            .unwrap_or_default()
            .split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    }

    fn source_offset(&self, offset: usize) -> usize {
        let after = self.offsets.partition_point(|(plain, _)| *plain <= offset);
        let piece = after.checked_sub(1).and_then(|at| self.offsets.get(at));
        piece.map_or(0, |(plain, source)| source + (offset - plain))
    }
}

/// The start of the emphasis, code or link marks that end at `offset`.
fn start_with_marks(source: &str, offset: usize) -> usize {
    let before = source.as_bytes().get(..offset).unwrap_or_default();
    let marks = before
        .iter()
        .rev()
        .take_while(|byte| b"*_`[".contains(byte));
    offset - marks.count()
}

/// The end of the emphasis, code or link marks that begin at `offset`.
fn end_with_marks(source: &str, offset: usize) -> usize {
    let mut end = offset;
    loop {
        let rest = source.get(end..).unwrap_or_default();
        let marks = rest
            .bytes()
            .take_while(|byte| b"*_`".contains(byte))
            .count();
        end += marks;
        let target = rest.get(marks..).and_then(|rest| rest.strip_prefix("]("));
        match target.and_then(|target| target.find([')', '\n'])) {
            Some(length) => end += "](".len() + length + ")".len(),
            None => return end,
        }
    }
}

#[cfg(test)]
mod tests;
