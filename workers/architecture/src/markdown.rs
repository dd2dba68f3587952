//! A document read as markdown: front matter, and blocks of plain text under headings.
//!
//! What a reader would get wrong: the text of a block is plain but for code spans, which keep their
//! backticks, and has line ends where the source has them; text that was crossed out and comments
//! are not in it. [`Block::verbatim`] gives what stands in the document instead. Headings in
//! quotations and lists open no section.

// In the order a document meets them.
mod front;
mod lines;
mod reader;
mod sentences;

use std::ops::{Range, RangeInclusive};

use archway_repo::{Cancel, Stopped};

pub(crate) use front::Field;
pub(crate) use sentences::sentences;

/// A document, read.
#[derive(Debug, Default)]
pub struct Markdown {
    /// The front matter's fields, in order.
    pub(crate) front: Vec<Field>,
    /// In order, each without those beneath it. The first has no heading if text comes before one.
    pub(crate) sections: Vec<Section>,
    /// The blocks of code, in order.
    pub(crate) fences: Vec<Fence>,
}

/// A heading and what follows it, up to the next heading of any level.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Section {
    /// Plain, on one line; empty before the first heading.
    pub(crate) heading: String,
    /// 1 to 6; 0 before the first heading.
    pub(crate) level: u8,
    /// From the heading to the last line before the next one, 1-based.
    pub(crate) lines: RangeInclusive<usize>,
    /// The same, as bytes of the document.
    pub(crate) bytes: Range<usize>,
    /// What is written under the heading.
    pub(crate) blocks: Vec<Block>,
}

/// What a block of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// A paragraph.
    Paragraph,
    /// The first paragraph of an entry of a list.
    Item,
    /// The row of a table that names its columns.
    Head,
    /// Another row of a table.
    Row,
}

/// A paragraph, an entry of a list, or a row of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    /// What it is.
    pub(crate) kind: BlockKind,
    /// In how many lists it stands: 1 for the entries of a list that stands in none.
    pub(crate) depth: u8,
    /// Plain text; the cells of a row are parted by ` | `.
    pub(crate) text: String,
    /// The cells of a row.
    pub(crate) cells: Vec<String>,
    /// Where it begins, 1-based.
    pub(crate) line: usize,
    /// What it links to.
    pub(crate) links: Vec<Link>,
    /// Where pieces of the text stand: a place in it, and the place in the document.
    pub(crate) places: Vec<(usize, usize)>,
}

/// A link in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// What is linked, as a range of the block's text.
    pub(crate) text: Range<usize>,
    /// Where it leads, as it is written.
    pub(crate) target: String,
}

/// A block of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fence {
    /// What is written behind the opening fence, trimmed; empty for code that is only indented.
    pub(crate) info: String,
    /// The code.
    pub(crate) content: String,
    /// The line of its first line, 1-based.
    pub(crate) line: usize,
    /// The section it stands in, by its place among them.
    pub(crate) section: usize,
}

impl Markdown {
    /// Reads a document.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(crate) fn read(text: &str, cancel: &Cancel) -> Result<Markdown, Stopped> {
        let (front, body) = front::split(text);
        let (sections, fences) = reader::read(text, body, cancel)?;
        Ok(Markdown {
            front,
            sections,
            fences,
        })
    }

    /// The values of a field of the front matter; case, `-` and `_` make no difference.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.front.iter().find(|field| field.is(name))
    }

    /// The heading that the document is called by: the first of the highest level.
    pub(crate) fn title(&self) -> Option<&str> {
        let headings = self.sections.iter().filter(|section| section.level > 0);
        let first = headings.min_by_key(|section| section.level)?;
        (!first.heading.is_empty()).then_some(first.heading.as_str())
    }

    /// What the document calls itself: its title, else that of its front matter.
    pub(crate) fn called(&self) -> Option<&str> {
        let field = || self.field("title")?.values.first().map(String::as_str);
        self.title().or_else(field)
    }
}

impl Block {
    /// The line of an offset into the text, 1-based.
    #[cfg(test)]
    pub(crate) fn line_at(&self, place: usize) -> usize {
        let before = self.text.as_bytes().get(..place).unwrap_or_default();
        self.line + memchr::memchr_iter(b'\n', before).count()
    }

    /// The sentences of the text, as ranges of it, with the line each begins on.
    pub(crate) fn sentences(&self) -> impl Iterator<Item = (Range<usize>, usize)> {
        let ranges = sentences(&self.text).into_iter();
        ranges.scan((0, self.line), |(end, line), range| {
            let between = self.text.as_bytes().get(*end..range.start);
            *line += memchr::memchr_iter(b'\n', between.unwrap_or_default()).count();
            *end = range.start;
            Some((range, *line))
        })
    }

    /// What stands in the document (`source`) for a range of the text, blanks made one: with the
    /// marks of emphasis and links that touch it.
    pub(crate) fn verbatim(&self, source: &str, range: &Range<usize>) -> String {
        let start = widened_left(source, self.place_of(range.start));
        // The last character's place, and what it takes: between two pieces marks may stand.
        let last = self
            .text
            .get(range.clone())
            .and_then(|text| text.chars().next_back());
        let width = last.map_or(0, char::len_utf8);
        let end = widened_right(source, self.place_of(range.end - width) + width);
        let words = source
            .get(start..end)
            .unwrap_or_default()
            .split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    }

    fn place_of(&self, place: usize) -> usize {
        let after = self.places.partition_point(|(plain, _)| *plain <= place);
        let piece = after.checked_sub(1).and_then(|at| self.places.get(at));
        piece.map_or(0, |(plain, source)| source + (place - plain))
    }
}

/// The start of the marks of emphasis, code or link that end at `place`.
fn widened_left(source: &str, place: usize) -> usize {
    let before = source.as_bytes().get(..place).unwrap_or_default();
    let marks = before
        .iter()
        .rev()
        .take_while(|byte| b"*_`[".contains(byte));
    place - marks.count()
}

/// The end of the marks of emphasis, code or link that begin at `place`.
fn widened_right(source: &str, place: usize) -> usize {
    let mut end = place;
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
