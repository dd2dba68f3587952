//! The options that a record considered, with what speaks for and against each.

mod table;

use std::collections::HashMap;

use super::parts::{Bit, Part, normal, polarity};
use super::{Choice, Passage, Verdict};
use crate::markdown::{Block, BlockKind, Markdown, sentences};
use table::{Column, columns};

/// How many options of one record are kept.
const MAX_OPTIONS: usize = 100;
/// The longest name that is kept, in bytes.
const MAX_NAME: usize = 120;

/// How long a name is that begins a paragraph, at most.
const MAX_LEAD: usize = 60;

/// What an argument for an option begins with, and what one against it does.
const FOR: [&str; 12] = [
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
const AGAINST: [&str; 12] = [
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

/// All options, in the order in which they are named.
pub(super) fn of(markdown: &Markdown, bits: &[Bit]) -> Vec<Choice> {
    let mut options = Options::default();
    for bit in bits {
        if let Part::Options { are_rejected } = bit.part {
            options.are_rejected = are_rejected;
            options.take(markdown, bit);
        }
    }
    options.found
}

/// What an option is called: without a number, and without what is said of it behind a colon or a
/// dash. What stands in brackets, quotation marks or code is never cut.
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

/// Whether an argument is for or against, as its first words say, and the argument without them.
pub(super) fn weighed(markdown: &Markdown, passage: &Passage) -> (Option<bool>, Passage) {
    let text = passage.text(markdown);
    let lower = text.to_lowercase();
    let said = |words: &[&'static str]| words.iter().find(|word| lower.starts_with(*word)).copied();
    let (is_for, word) = match (said(&FOR), said(&AGAINST)) {
        (Some(word), _) => (true, word),
        (None, Some(word)) => (false, word),
        (None, None) => return (None, passage.clone()),
    };
    let rest = text.get(word.len()..).unwrap_or_default();
    let start = text.len() - rest.trim_start().len();
    (Some(is_for), passage.within(start..text.len()))
}

/// `Option 2: `, `A) `, `3. ` before a name.
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
    found: Vec<Choice>,
    /// Where they stand, by their names.
    places: HashMap<String, usize>,
    are_rejected: bool,
    /// Which one the last passage was about.
    current: Option<usize>,
    /// What the last passage said of those beneath it, and how deep it stood.
    lean: Option<(u8, bool)>,
    /// What the columns of the table hold that is being read.
    columns: Vec<Column>,
}

impl Options {
    fn take(&mut self, markdown: &Markdown, bit: &Bit) {
        let Some(block) = bit.passage.block(markdown) else {
            return;
        };
        self.lean = self.lean.filter(|(depth, _)| block.depth > *depth);
        if let Some(option) = &bit.option {
            self.current = self.named(option);
            return self.say(markdown, bit, block);
        }
        match block.kind {
            BlockKind::Head => self.columns = columns(block),
            BlockKind::Row => self.row(block, &bit.passage),
            BlockKind::Item if block.depth == 1 && bit.is_for.is_none() => {
                let (is_for, _) = weighed(markdown, &bit.passage);
                match (
                    is_for.is_some() || polarity(&block.text).is_some(),
                    self.current,
                ) {
                    // Arguments stand on their own where options are paragraphs.
                    (true, Some(_)) => self.say(markdown, bit, block),
                    _ => self.list(block, &bit.passage),
                }
            }
            BlockKind::Paragraph if is_option(markdown, &bit.passage, block) => {
                self.list(block, &bit.passage);
            }
            _ => self.say(markdown, bit, block),
        }
    }

    /// An option that is named in a list, or by a paragraph of its own.
    fn list(&mut self, block: &Block, passage: &Passage) {
        self.current = self.named(&name(&block.text));
        let (text, are_rejected) = (block.text.to_lowercase(), self.are_rejected);
        if let Some(choice) = self.choice() {
            choice.verdict = verdict(&text).unwrap_or(match are_rejected {
                true => Verdict::Rejected,
                false => choice.verdict,
            });
            choice.about.push(passage.clone());
        }
    }

    /// What is said of the option at hand.
    fn say(&mut self, markdown: &Markdown, bit: &Bit, block: &Block) {
        if let Some(is_for) = polarity(&block.text) {
            // A word alone: those beneath it, or behind it.
            let depth = if block.kind == BlockKind::Item {
                block.depth
            } else {
                0
            };
            self.lean = Some((depth, is_for));
            return;
        }
        let (said, passage) = weighed(markdown, &bit.passage);
        let lean = self.lean.map(|(_, is_for)| is_for);
        let are_rejected = self.are_rejected;
        let Some(choice) = self.choice() else { return };
        match said.or(lean).or(bit.is_for) {
            Some(true) => choice.pros.push(passage),
            Some(false) => choice.cons.push(passage),
            None => choice.about.push(passage),
        }
        if are_rejected && choice.verdict == Verdict::Open {
            choice.verdict = Verdict::Rejected;
        }
    }

    fn choice(&mut self) -> Option<&mut Choice> {
        self.current.and_then(|at| self.found.get_mut(at))
    }

    /// Which option is called so; a new one if none is.
    fn named(&mut self, name: &str) -> Option<usize> {
        let wanted = normal(name);
        if wanted.is_empty() {
            return self.current;
        }
        let known = self.places.get(&wanted).copied();
        if known.is_some() || self.found.len() >= MAX_OPTIONS {
            return known.or(self.current);
        }
        self.places.insert(wanted, self.found.len());
        self.found.push(Choice {
            name: name.to_owned(),
            ..Choice::default()
        });
        Some(self.found.len() - 1)
    }
}

/// Whether a paragraph names an option: it says a name and then more of it, or there is no list of
/// them.
fn is_option(markdown: &Markdown, passage: &Passage, block: &Block) -> bool {
    if block.depth > 0 || block.text.ends_with(':') {
        return false;
    }
    let section = markdown.sections.get(passage.section);
    let mut others = section.into_iter().flat_map(|section| &section.blocks);
    let has_list = others.any(|other| other.kind != BlockKind::Paragraph);
    let name = name(&block.text);
    let is_named = name.len() <= MAX_LEAD && name.len() + 1 < end_of_line(&block.text);
    let is_cut = block
        .text
        .get(name.len()..)
        .is_some_and(|rest| !rest.starts_with(['.', '!', '?']));
    !has_list || (is_named && is_cut)
}

fn end_of_line(text: &str) -> usize {
    text.lines().next().map_or(0, str::len)
}

/// What an option's own words say became of it.
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
