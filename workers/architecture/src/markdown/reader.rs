//! Assembles the parser's events into sections, blocks and fences.

use std::mem;
use std::ops::Range;

use archway_repo::{Cancel, Stopped};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::lines::Lines;
use super::{Block, BlockKind, Fence, Link, Section};

/// Cancellation is checked once per this many events.
const BETWEEN_CHECKS: usize = 4096;
/// At most this many headings, blocks and fences of a document are kept.
const MAX_BLOCKS: usize = 20_000;

/// Parses the text from the offset `body`.
pub(super) fn read(
    text: &str,
    body: usize,
    cancel: &Cancel,
) -> Result<(Vec<Section>, Vec<Fence>), Stopped> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut reader = Reader::new(text, body);
    let events = Parser::new_ext(text.get(body..).unwrap_or_default(), options);
    for (number, (event, bytes)) in events.into_offset_iter().enumerate() {
        if number.is_multiple_of(BETWEEN_CHECKS) {
            cancel.check()?;
        }
        if reader.kept > MAX_BLOCKS {
            break;
        }
        reader.take(event, bytes.start + body..bytes.end + body);
    }
    Ok(reader.done(text))
}

struct Reader {
    lines: Lines,
    sections: Vec<Section>,
    fences: Vec<Fence>,
    /// The open heading.
    heading: Option<Section>,
    /// The open block.
    open: Option<Block>,
    /// The open code block.
    fence: Option<Fence>,
    /// The open link: the offset of its text, and its target.
    link: Option<(usize, String)>,
    /// The nesting depth in quotations and footnotes (`quotes`), and in lists (`lists`).
    quotes: usize,
    lists: u8,
    /// Whether the next block is the first of a list item.
    begins_item: bool,
    /// The nesting depth in strikethrough.
    crossed: usize,
    kept: usize,
}

impl Reader {
    fn new(text: &str, body: usize) -> Reader {
        let first = Section::new(0, body..body);
        Reader {
            lines: Lines::of(text),
            sections: vec![first],
            fences: Vec::new(),
            heading: None,
            open: None,
            fence: None,
            link: None,
            quotes: 0,
            lists: 0,
            begins_item: false,
            crossed: 0,
            kept: 0,
        }
    }

    fn take(&mut self, event: Event<'_>, bytes: Range<usize>) {
        match event {
            Event::Start(tag) => self.begin(tag, bytes),
            Event::End(tag) => self.end(tag),
            Event::Text(words) => self.text(&words, &bytes),
            Event::Code(code) => self.text(&format!("`{code}`"), &bytes),
            Event::SoftBreak | Event::HardBreak => self.text("\n", &bytes),
            // HTML, rules and task list markers have no text.
            _ => {}
        }
    }

    fn begin(&mut self, tag: Tag<'_>, bytes: Range<usize>) {
        match tag {
            Tag::Heading { level, .. } if self.quotes == 0 && self.lists == 0 => {
                self.close();
                self.heading = Some(Section::new(number(level), bytes));
            }
            Tag::Paragraph | Tag::Heading { .. } | Tag::HtmlBlock => self.close(),
            Tag::BlockQuote(_) | Tag::FootnoteDefinition(_) => {
                self.close();
                self.quotes += 1;
            }
            Tag::List(_) => {
                self.close();
                self.lists = self.lists.saturating_add(1);
            }
            Tag::Item => {
                self.close();
                self.begins_item = true;
            }
            Tag::TableHead => self.begin_row(BlockKind::Head, &bytes),
            Tag::TableRow => self.begin_row(BlockKind::Row, &bytes),
            Tag::TableCell => self.begin_cell(),
            Tag::CodeBlock(kind) => self.begin_code(&kind, &bytes),
            Tag::Strikethrough => self.crossed += 1,
            Tag::Link { dest_url, .. } => {
                let start = self.open.as_ref().map_or(0, |block| block.text.len());
                self.link = Some((start, dest_url.into_string()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => self.end_heading(),
            TagEnd::Paragraph | TagEnd::Item | TagEnd::TableHead | TagEnd::TableRow => self.close(),
            TagEnd::BlockQuote(_) | TagEnd::FootnoteDefinition => {
                self.close();
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::List(_) => {
                self.close();
                self.lists = self.lists.saturating_sub(1);
                self.begins_item = false;
            }
            TagEnd::CodeBlock => {
                self.fences.extend(self.fence.take());
                self.kept += 1;
            }
            TagEnd::Strikethrough => self.crossed = self.crossed.saturating_sub(1),
            TagEnd::Link => self.end_link(),
            _ => {}
        }
    }

    fn text(&mut self, words: &str, bytes: &Range<usize>) {
        if let Some(fence) = &mut self.fence {
            if fence.content.is_empty() {
                fence.line = self.lines.at(bytes.start);
            }
            fence.content.push_str(words);
        } else if self.crossed > 0 {
            // Strikethrough text is obsolete.
        } else if let Some(heading) = &mut self.heading {
            let words = if words == "\n" { " " } else { words };
            heading.heading.push_str(words);
        } else {
            let (line, depth) = (self.lines.at(bytes.start), self.lists);
            let begins_item = mem::take(&mut self.begins_item);
            let kind = if begins_item {
                BlockKind::Item
            } else {
                BlockKind::Paragraph
            };
            let open = &mut self.open;
            let block = open.get_or_insert_with(|| Block::new(kind, depth, line));
            block.places.push((block.text.len(), bytes.start));
            block.text.push_str(words);
            if let Some(cell) = block.cells.last_mut() {
                cell.push_str(words);
            }
        }
    }

    fn begin_row(&mut self, kind: BlockKind, bytes: &Range<usize>) {
        self.close();
        let line = self.lines.at(bytes.start);
        self.open = Some(Block::new(kind, self.lists, line));
    }

    fn begin_cell(&mut self) {
        if let Some(block) = &mut self.open {
            if !block.cells.is_empty() {
                block.text.push_str(" | ");
            }
            block.cells.push(String::new());
        }
    }

    fn begin_code(&mut self, kind: &CodeBlockKind<'_>, bytes: &Range<usize>) {
        self.close();
        let (info, opening) = match kind {
            CodeBlockKind::Fenced(info) => (info.trim().to_owned(), 1),
            CodeBlockKind::Indented => (String::new(), 0),
        };
        self.fence = Some(Fence {
            info,
            content: String::new(),
            line: self.lines.at(bytes.start) + opening,
            section: self.sections.len() - 1,
        });
    }

    fn end_heading(&mut self) {
        let Some(mut heading) = self.heading.take() else {
            return self.close();
        };
        heading.heading = heading.heading.trim().to_owned();
        self.sections.push(heading);
        self.kept += 1;
    }

    fn end_link(&mut self) {
        let (Some((start, target)), Some(block)) = (self.link.take(), &mut self.open) else {
            return;
        };
        // A link that began in another block has no text in this one.
        let text = start.min(block.text.len())..block.text.len();
        block.links.push(Link { text, target });
    }

    /// Closes the open block.
    fn close(&mut self) {
        let Some(block) = self.open.take() else {
            return;
        };
        if let Some(section) = self.sections.last_mut()
            && !block.text.trim().is_empty()
        {
            section.blocks.push(block);
            self.kept += 1;
        }
    }

    fn done(mut self, text: &str) -> (Vec<Section>, Vec<Fence>) {
        self.close();
        let mut end = text.len();
        for section in self.sections.iter_mut().rev() {
            section.bytes.end = end;
            let last = end.saturating_sub(1).max(section.bytes.start);
            section.lines = self.lines.at(section.bytes.start)..=self.lines.at(last);
            end = section.bytes.start;
        }
        let is_empty = self
            .sections
            .first()
            .is_some_and(|first| first.blocks.is_empty());
        let has_code = self.fences.first().is_some_and(|fence| fence.section == 0);
        if is_empty && !has_code {
            self.sections.remove(0);
            for fence in &mut self.fences {
                fence.section -= 1;
            }
        }
        (self.sections, self.fences)
    }
}

impl Section {
    /// An empty section. `done` sets its end.
    fn new(level: u8, bytes: Range<usize>) -> Section {
        Section {
            heading: String::new(),
            level,
            lines: 1..=1,
            bytes,
            blocks: Vec::new(),
        }
    }
}

impl Block {
    fn new(kind: BlockKind, depth: u8, line: usize) -> Block {
        Block {
            kind,
            depth,
            text: String::new(),
            cells: Vec::new(),
            line,
            links: Vec::new(),
            places: Vec::new(),
        }
    }
}

fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
