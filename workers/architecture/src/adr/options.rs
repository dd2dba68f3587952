//! The considered options, with arguments for and against each.

mod table;

use std::collections::HashMap;

use super::parts::{Part, Segment, normalized, polarity};
use super::{ConsideredOption, Passage, Verdict};
use crate::markdown::{Block, BlockKind, Markdown, sentences};
use table::{Column, columns};

/// At most this many options are read per record.
const MAX_OPTIONS: usize = 100;
/// The longest option name, in bytes.
const MAX_NAME: usize = 120;

/// The longest name that begins a paragraph, in bytes.
const MAX_LEADING_NAME: usize = 60;

/// Prefixes of arguments for an option (`FOR_PREFIXES`) and against it (`AGAINST_PREFIXES`).
const FOR_PREFIXES: [&str; 12] = [
    "good, because",
    "good because",
    "good:",
    "pro:",
    "pros:",
    "advantage:",
    "advantages:",
    "benefit:",
    "+ ",
    "(+)",
    "👍",
    "✅",
];
const AGAINST_PREFIXES: [&str; 12] = [
    "bad, because",
    "bad because",
    "bad:",
    "con:",
    "cons:",
    "disadvantage:",
    "disadvantages:",
    "drawback:",
    "- ",
    "(-)",
    "👎",
    "❌",
];

/// All options, in the order in which they are first named.
pub(super) fn of(markdown: &Markdown, segments: &[Segment]) -> Vec<ConsideredOption> {
    let mut options = Options::default();
    for segment in segments {
        if let Part::Options { are_rejected } = segment.part {
            options.are_rejected = are_rejected;
            options.add_segment(markdown, segment);
        }
    }
    options.all
}

/// The name of an option: without its number, and without the description after a colon or dash.
/// Text in brackets, quotation marks or code is never cut.
pub(super) fn name(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let line = without_number(line);
    let sentence = sentences(line).into_iter().next();
    let line = sentence
        .and_then(|sentence| line.get(sentence))
        .unwrap_or(line);
    let name = line.get(..end_of_name(line)).unwrap_or(line);
    let name = name.trim_matches([' ', ':', '.', '"', '“', '”', '[', ']', '*', ',']);
    let most = name.floor_char_boundary(MAX_NAME);
    name.get(..most).unwrap_or(name).to_owned()
}

fn end_of_name(line: &str) -> usize {
    let (mut depth, mut quoted) = (0_usize, None);
    for (at, letter) in line.char_indices() {
        match (quoted, letter) {
            (Some(mark), letter) if mark == letter => quoted = None,
            (Some(_), _) => {}
            (None, '`' | '"') => quoted = Some(letter),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth = depth.saturating_sub(1),
            (None, _) => {
                let rest = line.get(at..).unwrap_or_default();
                let ends = [": ", " – ", " — ", " - ", "; "];
                if depth == 0 && ends.iter().any(|end| rest.starts_with(end)) {
                    return at;
                }
            }
        }
    }
    line.len()
}

/// Whether an argument's prefix marks it as for or against, and the argument without that prefix.
pub(super) fn split_polarity(markdown: &Markdown, passage: &Passage) -> (Option<bool>, Passage) {
    let text = passage.text(markdown);
    let lower = text.to_lowercase();
    let prefix =
        |words: &[&'static str]| words.iter().find(|word| lower.starts_with(*word)).copied();
    let (is_for, word) = match (prefix(&FOR_PREFIXES), prefix(&AGAINST_PREFIXES)) {
        (Some(word), _) => (true, word),
        (None, Some(word)) => (false, word),
        (None, None) => return (None, passage.clone()),
    };
    let rest = text.get(word.len()..).unwrap_or_default();
    let start = text.len() - rest.trim_start().len();
    (Some(is_for), passage.within(start..text.len()))
}

/// Removes `Option 2: `, `A) ` or `3. ` before a name.
fn without_number(line: &str) -> &str {
    let lower = line.to_ascii_lowercase();
    let words = ["option", "alternative", "solution", "candidate", "proposal"];
    let word = words.iter().find(|word| lower.starts_with(*word));
    let rest = word.and_then(|word| line.get(word.len()..)).unwrap_or(line);
    let rest = rest.trim_start_matches([' ', '#']);
    let end = rest
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(rest.len());
    let (number, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let is_letter = number.len() == 1 && number.starts_with(|c: char| c.is_ascii_uppercase());
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    let plain = behind
        .trim_start()
        .strip_prefix([':', '.', ')', '-', '–', '—']);
    match plain {
        Some(plain) if (is_letter || is_number) && !plain.trim().is_empty() => plain.trim_start(),
        _ => line,
    }
}

#[derive(Default)]
struct Options {
    all: Vec<ConsideredOption>,
    /// Index of each option, by normalized name.
    by_name: HashMap<String, usize>,
    are_rejected: bool,
    /// The option that the last passage was about.
    current: Option<usize>,
    /// The polarity that the last passage set for the passages beneath it, and that passage's
    /// depth.
    polarity_above: Option<(u8, bool)>,
    /// The columns of the current table.
    columns: Vec<Column>,
}

impl Options {
    fn add_segment(&mut self, markdown: &Markdown, segment: &Segment) {
        let Some(block) = segment.passage.block(markdown) else {
            return;
        };
        self.polarity_above = self
            .polarity_above
            .filter(|(depth, _)| block.depth > *depth);
        if let Some(option) = &segment.option {
            self.current = self.find_or_add(option);
            return self.add_passage(markdown, segment, block);
        }
        match block.kind {
            BlockKind::Head => self.columns = columns(block),
            BlockKind::Row => self.row(block, &segment.passage),
            BlockKind::Item if block.depth == 1 && segment.is_for.is_none() => {
                let (is_for, _) = split_polarity(markdown, &segment.passage);
                match (
                    is_for.is_some() || polarity(&block.text).is_some(),
                    self.current,
                ) {
                    // Where options are paragraphs, a list item is an argument about one.
                    (true, Some(_)) => self.add_passage(markdown, segment, block),
                    _ => self.add_option(block, &segment.passage),
                }
            }
            BlockKind::Paragraph if is_option(markdown, &segment.passage, block) => {
                self.add_option(block, &segment.passage);
            }
            _ => self.add_passage(markdown, segment, block),
        }
    }

    /// Adds an option that is a list item or a paragraph of its own.
    fn add_option(&mut self, block: &Block, passage: &Passage) {
        self.current = self.find_or_add(&name(&block.text));
        let (text, are_rejected) = (block.text.to_lowercase(), self.are_rejected);
        if let Some(current_option) = self.current_option() {
            current_option.verdict = verdict(&text).unwrap_or(match are_rejected {
                true => Verdict::Rejected,
                false => current_option.verdict,
            });
            current_option.about.push(passage.clone());
        }
    }

    /// Adds a passage about the current option.
    fn add_passage(&mut self, markdown: &Markdown, segment: &Segment, block: &Block) {
        if let Some(is_for) = polarity(&block.text) {
            // A polarity word alone applies to the items beneath it, or to the paragraphs after it.
            let depth = if block.kind == BlockKind::Item {
                block.depth
            } else {
                0
            };
            self.polarity_above = Some((depth, is_for));
            return;
        }
        let (prefix, passage) = split_polarity(markdown, &segment.passage);
        let polarity_above = self.polarity_above.map(|(_, is_for)| is_for);
        let are_rejected = self.are_rejected;
        let Some(current_option) = self.current_option() else {
            return;
        };
        match prefix.or(polarity_above).or(segment.is_for) {
            Some(true) => current_option.pros.push(passage),
            Some(false) => current_option.cons.push(passage),
            None => current_option.about.push(passage),
        }
        if are_rejected && current_option.verdict == Verdict::Open {
            current_option.verdict = Verdict::Rejected;
        }
    }

    fn current_option(&mut self) -> Option<&mut ConsideredOption> {
        self.current.and_then(|at| self.all.get_mut(at))
    }

    /// The index of the option with this name, which is added if it is new.
    fn find_or_add(&mut self, name: &str) -> Option<usize> {
        let key = normalized(name);
        if key.is_empty() {
            return self.current;
        }
        let existing = self.by_name.get(&key).copied();
        if existing.is_some() || self.all.len() >= MAX_OPTIONS {
            return existing.or(self.current);
        }
        self.by_name.insert(key, self.all.len());
        self.all.push(ConsideredOption {
            name: name.to_owned(),
            ..ConsideredOption::default()
        });
        Some(self.all.len() - 1)
    }
}

/// Whether a paragraph names an option: it begins with a name and continues with a description, or
/// the section has no list of options.
fn is_option(markdown: &Markdown, passage: &Passage, block: &Block) -> bool {
    if block.depth > 0 || block.text.ends_with(':') {
        return false;
    }
    let section = markdown.sections.get(passage.section);
    let mut others = section.into_iter().flat_map(|section| &section.blocks);
    let has_list = others.any(|other| other.kind != BlockKind::Paragraph);
    let name = name(&block.text);
    let is_named = name.len() <= MAX_LEADING_NAME && name.len() + 1 < end_of_line(&block.text);
    let is_cut = block
        .text
        .get(name.len()..)
        .is_some_and(|rest| !rest.starts_with(['.', '!', '?']));
    !has_list || (is_named && is_cut)
}

fn end_of_line(text: &str) -> usize {
    text.lines().next().map_or(0, str::len)
}

/// The outcome that an option's own text states.
fn verdict(lower: &str) -> Option<Verdict> {
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if has(&[
        "(rejected",
        "[rejected",
        "(not chosen",
        "(discarded",
        "rejected because",
        "rejected:",
        "was rejected",
    ]) {
        return Some(Verdict::Rejected);
    }
    let is_chosen = has(&[
        "(chosen",
        "[chosen",
        "(selected",
        "(accepted",
        "chosen option",
        "(preferred",
    ]);
    is_chosen.then_some(Verdict::Chosen)
}
