//! Which part of a record each of its passages is.
//!
//! A heading opens a part; so does a bold word or a list line (`**Status:** accepted`, `* Date: …`),
//! or the first cell of a table's row. What is beneath an unknown heading belongs to the part above
//! it. Beneath the options, a heading is an option's name.

mod words;

use std::ops::Range;

use super::Passage;
use crate::markdown::{Block, BlockKind, Markdown, Section};
use words::{of_heading, of_key};

pub(super) use words::{normal, polarity};

/// A part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// What stands beneath the title.
    Preface,
    Status,
    Date,
    Context,
    Drivers,
    /// Whether they were turned down, as their heading says.
    Options {
        are_rejected: bool,
    },
    Decision,
    /// Whether they are welcome, if the heading says.
    Consequences(Option<bool>),
    Links,
    Other,
}

/// A passage, and what it is.
#[derive(Debug)]
pub(super) struct Bit {
    pub(super) part: Part,
    pub(super) passage: Passage,
    /// The option whose heading it stands beneath.
    pub(super) option: Option<String>,
    /// Whether the heading says that this speaks for the option, or against it.
    pub(super) is_for: Option<bool>,
}

/// All passages, in order.
pub(super) fn bits(markdown: &Markdown) -> Vec<Bit> {
    let title = title_at(markdown);
    let mut bits = Vec::new();
    let mut above: Vec<Frame> = Vec::new();
    for (at, section) in markdown.sections.iter().enumerate() {
        above.retain(|frame| frame.level < section.level);
        let frame = if title.is_none_or(|title| at > title) {
            Frame::of(section, above.last())
        } else {
            Frame::title(section.level)
        };
        read(section, at, &frame, &mut bits);
        above.push(frame);
    }
    bits
}

/// Which section is the title's.
fn title_at(markdown: &Markdown) -> Option<usize> {
    let title = markdown.title()?;
    let is_title = |section: &Section| section.level > 0 && section.heading == title;
    let at = markdown.sections.iter().position(is_title)?;
    // Some begin with a part: what they are called stands elsewhere.
    of_key(title).is_none().then_some(at)
}

/// What holds beneath a heading.
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
            Some(above) if is_options(above.part) => above.beneath(section),
            Some(above) if above.part != Part::Preface => {
                plain(of_heading(heading).unwrap_or(above.part))
            }
            _ if level == 0 => plain(Part::Preface),
            _ => plain(of_heading(heading).unwrap_or(Part::Other)),
        }
    }

    /// Beneath the options a heading names one, or says what speaks for or against it.
    fn beneath(&self, section: &Section) -> Frame {
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

/// Parts the blocks of a section.
fn read(section: &Section, at: usize, frame: &Frame, bits: &mut Vec<Bit>) {
    let mut part = frame.part;
    // What an entry of a list says that it is, its own entries are, too.
    let mut nested: Option<(u8, Part)> = None;
    for (number, block) in section.blocks.iter().enumerate() {
        let whole = Passage::whole(at, number, block);
        nested = nested.filter(|(depth, _)| block.depth > *depth);
        if block.kind == BlockKind::Paragraph
            && block.depth == 0
            && let Some(other) = of_key(&block.text)
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
            bits.push(Bit {
                part: part_of_piece,
                passage: whole.within(range),
                option: frame.option.clone(),
                is_for: frame.is_for,
            });
        }
    }
}

/// The pieces of a block: its lines, where one begins with the name of a part.
fn pieces(block: &Block, part: Part) -> Vec<(Part, Range<usize>)> {
    let text = &block.text;
    if is_options(part) && !closes_options(block) {
        return vec![(part, 0..text.len())];
    }
    if let [key, value] = block.cells.as_slice()
        && let Some(part) = of_key(key)
    {
        return vec![(part, text.len() - value.len()..text.len())];
    }
    let mut pieces = Vec::new();
    let (mut current, mut start, mut place) = (part, 0, 0);
    for line in text.split_inclusive('\n') {
        if let Some((other, value)) = keyed(line) {
            pieces.push((current, start..place));
            (current, start) = (other, place + value);
        }
        place += line.len();
    }
    pieces.push((current, start..text.len()));
    pieces.retain(|(_, range)| {
        text.get(range.clone())
            .is_some_and(|piece| !piece.trim().is_empty())
    });
    pieces
}

/// Whether a paragraph behind options begins with the name of another part, and goes on.
fn closes_options(block: &Block) -> bool {
    let is_plain = block.kind == BlockKind::Paragraph && block.depth == 0;
    let other = keyed(&block.text).map(|(part, _)| part);
    is_plain
        && other
            .is_some_and(|part| !is_options(part) && !matches!(part, Part::Consequences(Some(_))))
}

/// The part that a line says it is, and where its text begins: behind a colon, or behind a full
/// stop, as Tyree and Akerman's form has it.
fn keyed(line: &str) -> Option<(Part, usize)> {
    let stop = line.find(". ").into_iter();
    let (key, _) = line.split_at_checked(stop.chain(line.find(':')).min()?)?;
    let part = of_key(key)?;
    // What was chosen is said together with the words that say so.
    let start = if key.to_lowercase().contains("chosen") {
        0
    } else {
        key.len() + 1
    };
    Some((part, start))
}

/// Of an option's pros and cons its own reader knows.
fn is_options(part: Part) -> bool {
    matches!(part, Part::Options { .. })
}
