//! Assigns each passage of a record to a part.
//!
//! A heading opens a part; so does a bold word or a list line (`**Status:** accepted`, `* Date:
//! …`), or the first cell of a table row. Content under an unknown heading belongs to the part
//! above it. Under the options, a heading is an option's name.

mod words;

use std::ops::Range;

use super::Passage;
use crate::markdown::{Block, BlockKind, Markdown, Section};
use words::{part_of_heading, part_of_label};

pub(super) use words::{normalized, polarity};

/// A part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The passages directly under the title.
    Preface,
    Status,
    Date,
    Context,
    Drivers,
    /// `are_rejected`: the heading says that these options were rejected.
    Options {
        are_rejected: bool,
    },
    Decision,
    /// Whether they are positive, if the heading says so.
    Consequences(Option<bool>),
    Links,
    Other,
}

/// A passage and the part it belongs to.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) part: Part,
    pub(super) passage: Passage,
    /// The option whose heading the passage is under.
    pub(super) option: Option<String>,
    /// Whether the heading is for the option or against it.
    pub(super) is_for: Option<bool>,
}

/// All passages with their parts, in order.
pub(super) fn segments(markdown: &Markdown) -> Vec<Segment> {
    let title = title_at(markdown);
    let mut segments = Vec::new();
    let mut above: Vec<Frame> = Vec::new();
    for (at, section) in markdown.sections.iter().enumerate() {
        above.retain(|frame| frame.level < section.level);
        let frame = if title.is_none_or(|title| at > title) {
            Frame::of(section, above.last())
        } else {
            Frame::title(section.level)
        };
        split_section(section, at, &frame, &mut segments);
        above.push(frame);
    }
    segments
}

/// The index of the title's section.
fn title_at(markdown: &Markdown) -> Option<usize> {
    let title = markdown.title()?;
    let is_title = |section: &Section| section.level > 0 && section.heading == title;
    let at = markdown.sections.iter().position(is_title)?;
    // Some documents begin with a part's heading: their title is elsewhere.
    part_of_label(title).is_none().then_some(at)
}

/// The part, option and polarity that a heading sets for the text under it.
struct Frame {
    level: u8,
    part: Part,
    option: Option<String>,
    is_for: Option<bool>,
}

impl Frame {
    fn title(level: u8) -> Frame {
        Frame {
            level,
            part: Part::Preface,
            option: None,
            is_for: None,
        }
    }

    fn of(section: &Section, above: Option<&Frame>) -> Frame {
        let (heading, level) = (section.heading.as_str(), section.level);
        let plain = |part| Frame {
            level,
            part,
            option: None,
            is_for: None,
        };
        match above {
            Some(above) if is_options(above.part) => above.under_options(section),
            Some(above) if above.part != Part::Preface => {
                plain(part_of_heading(heading).unwrap_or(above.part))
            }
            _ if level == 0 => plain(Part::Preface),
            _ => plain(part_of_heading(heading).unwrap_or(Part::Other)),
        }
    }

    /// Under the options, a heading names an option or introduces arguments for or against it.
    fn under_options(&self, section: &Section) -> Frame {
        let is_for = polarity(&section.heading);
        let named = || Some(super::options::name(&section.heading));
        let option = match (&self.option, is_for) {
            (Some(option), _) => Some(option.clone()),
            (None, Some(_)) => None,
            (None, None) => named(),
        };
        Frame {
            level: section.level,
            part: self.part,
            option,
            is_for: is_for.or(self.is_for),
        }
    }
}

/// Splits the blocks of a section into segments.
fn split_section(section: &Section, at: usize, frame: &Frame, segments: &mut Vec<Segment>) {
    let mut part = frame.part;
    // Nested list items inherit the part of their parent item.
    let mut nested: Option<(u8, Part)> = None;
    for (number, block) in section.blocks.iter().enumerate() {
        let whole = Passage::whole(at, number, block);
        nested = nested.filter(|(depth, _)| block.depth > *depth);
        if block.kind == BlockKind::Paragraph
            && block.depth == 0
            && let Some(other) = part_of_label(&block.text)
            && !(is_options(part) && matches!(other, Part::Consequences(_)))
        {
            part = other;
            continue;
        }
        let here = nested.map_or(part, |(_, part)| part);
        for (part_of_piece, range) in pieces(block, here) {
            let opens = !matches!(part_of_piece, Part::Status | Part::Date | Part::Links);
            if opens && part_of_piece != here {
                match block.kind {
                    BlockKind::Paragraph if block.depth == 0 => part = part_of_piece,
                    BlockKind::Item => nested = Some((block.depth, part_of_piece)),
                    _ => {}
                }
            }
            segments.push(Segment {
                part: part_of_piece,
                passage: whole.within(range),
                option: frame.option.clone(),
                is_for: frame.is_for,
            });
        }
    }
}

/// The pieces of a block. A line that begins with a part's label opens a new piece.
fn pieces(block: &Block, part: Part) -> Vec<(Part, Range<usize>)> {
    let text = &block.text;
    if is_options(part) && !closes_options(block) {
        return vec![(part, 0..text.len())];
    }
    if let [key, value] = block.cells.as_slice()
        && let Some(part) = part_of_label(key)
    {
        return vec![(part, text.len() - value.len()..text.len())];
    }
    let mut pieces = Vec::new();
    let (mut current, mut start, mut offset) = (part, 0, 0);
    for line in text.split_inclusive('\n') {
        if let Some((other, value)) = labelled(line) {
            pieces.push((current, start..offset));
            (current, start) = (other, offset + value);
        }
        offset += line.len();
    }
    pieces.push((current, start..text.len()));
    pieces.retain(|(_, range)| {
        text.get(range.clone())
            .is_some_and(|piece| !piece.trim().is_empty())
    });
    pieces
}

/// Whether a paragraph after the options begins with the label of another part.
fn closes_options(block: &Block) -> bool {
    let is_plain = block.kind == BlockKind::Paragraph && block.depth == 0;
    let other = labelled(&block.text).map(|(part, _)| part);
    is_plain
        && other
            .is_some_and(|part| !is_options(part) && !matches!(part, Part::Consequences(Some(_))))
}

/// The part whose label begins a line, and the offset of the text after the label. The label ends
/// at a colon, or at a full stop as in Tyree and Akerman's form.
fn labelled(line: &str) -> Option<(Part, usize)> {
    let stop = line.find(". ").into_iter();
    let (key, _) = line.split_at_checked(stop.chain(line.find(':')).min()?)?;
    let part = part_of_label(key)?;
    // The chosen option is read from the label and the text together.
    let start = if key.to_lowercase().contains("chosen") {
        0
    } else {
        key.len() + 1
    };
    Some((part, start))
}

/// Whether the options reader handles this part: it reads pros and cons itself.
fn is_options(part: Part) -> bool {
    matches!(part, Part::Options { .. })
}
