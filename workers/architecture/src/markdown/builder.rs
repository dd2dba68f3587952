//! Assembles the parser's events into sections, blocks and fences.

use std::mem;
use std::ops::Range;

use archway_repo::{Cancel, Stopped};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::line_index::LineIndex;
use super::{Block, BlockKind, Fence, Link, Section};

/// Cancellation is checked once per this many events.
const BETWEEN_CHECKS: usize = 4096;
/// At most this many headings, blocks and fences of a document are kept.
const MAX_PARTS: usize = 20_000;

/// Parses the text from the offset `body`.
pub(super) fn build(
    text: &str,
    body: usize,
    cancel: &Cancel,
) -> Result<(Vec<Section>, Vec<Fence>), Stopped> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut builder = MarkdownBuilder::new(text, body);
    let events = Parser::new_ext(text.get(body..).unwrap_or_default(), options);
    for (number, (event, bytes)) in events.into_offset_iter().enumerate() {
        if number.is_multiple_of(BETWEEN_CHECKS) {
            cancel.check()?;
        }
        if builder.count > MAX_PARTS {
            break;
        }
        builder.handle(event, bytes.start + body..bytes.end + body);
    }
    Ok(builder.finish(text))
}

struct MarkdownBuilder {
    lines: LineIndex,
    sections: Vec<Section>,
    fences: Vec<Fence>,
    /// The open heading.
    heading: Option<Section>,
    /// The open block.
    block: Option<Block>,
    /// The open code block.
    fence: Option<Fence>,
    /// The open link: the offset of its text, and its target.
    link: Option<(usize, String)>,
    /// The nesting depth in quotations and footnotes (`quote_depth`), and in lists (`list_depth`).
    quote_depth: usize,
    list_depth: u8,
    /// Whether the next block is the first of a list item.
    begins_item: bool,
    /// The nesting depth in strikethrough.
    strikethrough_depth: usize,
    count: usize,
}

impl MarkdownBuilder {
    fn new(text: &str, body: usize) -> MarkdownBuilder {
        let first = Section::new(0, body..body);
        MarkdownBuilder {
            lines: LineIndex::of(text),
            sections: vec![first],
            fences: Vec::new(),
            heading: None,
            block: None,
            fence: None,
            link: None,
            quote_depth: 0,
            list_depth: 0,
            begins_item: false,
            strikethrough_depth: 0,
            count: 0,
        }
    }

    fn handle(&mut self, event: Event<'_>, bytes: Range<usize>) {
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
            Tag::Heading { level, .. } if self.quote_depth == 0 && self.list_depth == 0 => {
                self.close_block();
                self.heading = Some(Section::new(level_number(level), bytes));
            }
            Tag::Paragraph | Tag::Heading { .. } | Tag::HtmlBlock => self.close_block(),
            Tag::BlockQuote(_) | Tag::FootnoteDefinition(_) => {
                self.close_block();
                self.quote_depth += 1;
            }
            Tag::List(_) => {
                self.close_block();
                self.list_depth = self.list_depth.saturating_add(1);
            }
            Tag::Item => {
                self.close_block();
                self.begins_item = true;
            }
            Tag::TableHead => self.begin_row(BlockKind::Head, &bytes),
            Tag::TableRow => self.begin_row(BlockKind::Row, &bytes),
            Tag::TableCell => self.begin_cell(),
            Tag::CodeBlock(kind) => self.begin_code(&kind, &bytes),
            Tag::Strikethrough => self.strikethrough_depth += 1,
            Tag::Link { dest_url, .. } => {
                let start = self.block.as_ref().map_or(0, |block| block.text.len());
                self.link = Some((start, dest_url.into_string()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => self.end_heading(),
            TagEnd::Paragraph | TagEnd::Item | TagEnd::TableHead | TagEnd::TableRow => {
                self.close_block()
            }
            TagEnd::BlockQuote(_) | TagEnd::FootnoteDefinition => {
                self.close_block();
                self.quote_depth = self.quote_depth.saturating_sub(1);
            }
            TagEnd::List(_) => {
                self.close_block();
                self.list_depth = self.list_depth.saturating_sub(1);
                self.begins_item = false;
            }
            TagEnd::CodeBlock => {
                self.fences.extend(self.fence.take());
                self.count += 1;
            }
            TagEnd::Strikethrough => {
                self.strikethrough_depth = self.strikethrough_depth.saturating_sub(1)
            }
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
        } else if self.strikethrough_depth > 0 {
            // Strikethrough text is obsolete.
        } else if let Some(heading) = &mut self.heading {
            let words = if words == "\n" { " " } else { words };
            heading.heading.push_str(words);
        } else {
            let (line, depth) = (self.lines.at(bytes.start), self.list_depth);
            let begins_item = mem::take(&mut self.begins_item);
            let kind = if begins_item {
                BlockKind::Item
            } else {
                BlockKind::Paragraph
            };
            let block = &mut self.block;
            let block = block.get_or_insert_with(|| Block::new(kind, depth, line));
            block.offsets.push((block.text.len(), bytes.start));
            block.text.push_str(words);
            if let Some(cell) = block.cells.last_mut() {
                cell.push_str(words);
            }
        }
    }

    fn begin_row(&mut self, kind: BlockKind, bytes: &Range<usize>) {
        self.close_block();
        let line = self.lines.at(bytes.start);
        self.block = Some(Block::new(kind, self.list_depth, line));
    }

    fn begin_cell(&mut self) {
        if let Some(block) = &mut self.block {
            if !block.cells.is_empty() {
                block.text.push_str(" | ");
            }
            block.cells.push(String::new());
        }
    }

    fn begin_code(&mut self, kind: &CodeBlockKind<'_>, bytes: &Range<usize>) {
        self.close_block();
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
            return self.close_block();
        };
        heading.heading = heading.heading.trim().to_owned();
        self.sections.push(heading);
        self.count += 1;
    }

    fn end_link(&mut self) {
        let (Some((start, target)), Some(block)) = (self.link.take(), &mut self.block) else {
            return;
        };
        // A link that began in another block has no text in this one.
        let text = start.min(block.text.len())..block.text.len();
        block.links.push(Link { text, target });
    }

    /// Closes the open block.
    fn close_block(&mut self) {
        let Some(block) = self.block.take() else {
            return;
        };
        if let Some(section) = self.sections.last_mut()
            && !block.text.trim().is_empty()
        {
            section.blocks.push(block);
            self.count += 1;
        }
    }

    fn finish(mut self, text: &str) -> (Vec<Section>, Vec<Fence>) {
        self.close_block();
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
    /// An empty section. `finish` sets its end.
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
            offsets: Vec::new(),
        }
    }
}

fn level_number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
