//! Cuts documents before each heading.

use std::ops::Range;

use archway_repo::{Cancel, Stopped};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{
    Chunk, Kind, MAX_CHUNKS,
    cutter::{Cutter, Label},
    name,
    size::STRUCTURED,
};

/// The byte order mark.
const MARK: char = '\u{feff}';

/// Events between two checks for cancellation.
const EVENTS_PER_CHECK: usize = 4096;

/// A heading of the document itself, not of a quotation or list in it.
struct Heading {
    level: HeadingLevel,
    title: String,
    bytes: Range<usize>,
}

/// The sections of a document: a heading and all up to the next heading of any level.
///
/// # Errors
/// If `cancel` stops the work.
pub(super) fn sections(text: &str, cancel: &Cancel) -> Result<Vec<Chunk>, Stopped> {
    let headings = headings(text, cancel)?;
    let mut cutter = Cutter::new(text, MAX_CHUNKS);
    let first = headings
        .first()
        .map_or(text.len(), |first| first.bytes.start);
    let preface = Label::new(Kind::Section, None, None);
    cutter.add(0..first, &preface, None, &STRUCTURED);
    let mut above: Vec<&Heading> = Vec::new();
    for (at, heading) in headings.iter().enumerate() {
        above.retain(|other| other.level < heading.level);
        let end = headings
            .get(at + 1)
            .map_or(text.len(), |next| next.bytes.start);
        // A heading without text is not a section; those below it name it as their parent.
        let body = text.get(heading.bytes.end..end).unwrap_or_default();
        if !body.trim().is_empty() {
            let parent = above.last().and_then(|other| name(&other.title));
            let label = Label::new(Kind::Section, name(&heading.title), parent);
            cutter.add(heading.bytes.start..end, &label, None, &STRUCTURED);
        }
        above.push(heading);
    }
    Ok(cutter.done())
}

fn headings(text: &str, cancel: &Cancel) -> Result<Vec<Heading>, Stopped> {
    // Without this, front matter would be parsed as an underlined heading.
    let options = Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    let (mut found, mut depth, mut open) = (Vec::new(), 0_usize, None);
    // The parser finds no heading directly after the mark.
    let mark = if text.starts_with(MARK) {
        MARK.len_utf8()
    } else {
        0
    };
    let marked = text.get(mark..).unwrap_or_default();
    let events = Parser::new_ext(marked, options).into_offset_iter();
    for (number, (event, bytes)) in events.enumerate() {
        let bytes = bytes.start + mark..bytes.end + mark;
        if number.is_multiple_of(EVENTS_PER_CHECK) {
            cancel.check()?;
        }
        match event {
            Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                depth += 1;
                let title = String::new();
                open = Some(Heading {
                    level,
                    title,
                    bytes,
                });
            }
            Event::Start(_) => depth += 1,
            Event::End(TagEnd::Heading(_)) if depth == 1 => {
                depth = 0;
                found.extend(open.take());
                if found.len() > MAX_CHUNKS {
                    break;
                }
            }
            Event::End(_) => depth -= 1,
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut open {
                    heading.title.push_str(&words);
                }
            }
            _ => {}
        }
    }
    Ok(found)
}
