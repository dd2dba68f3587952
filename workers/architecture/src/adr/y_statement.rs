//! Y-statements: a whole decision in one sentence. "In the context of …, facing …, we decided for …
//! and neglected …, to achieve …, accepting that …."

use std::ops::Range;

use super::options::name;
use super::parts::normalized;
use super::{Adr, Consequence, ConsideredOption, Passage, Verdict};
use crate::markdown::Markdown;

/// Phrases that begin the pieces of the sentence, in order.
const CONTEXT: &[&str] = &["in the context of"];
const FACING: &[&str] = &["facing"];
const DECIDED: &[&str] = &[
    "we decided for",
    "we decided to",
    "we decided",
    "we chose",
    "we will use",
];
const NEGLECTED: &[&str] = &[
    "and neglected",
    "and against",
    "neglecting",
    "and rejected",
    "instead of",
    "rather than",
    "over",
];
const ACHIEVE: &[&str] = &["to achieve", "in order to achieve"];
const ACCEPTING: &[&str] = &["accepting that", "accepting", "although"];

/// Finds a Y-statement and assigns its pieces to the record's fields. Without a Y-statement or a
/// decision part, the decision is the sentences that announce one.
pub(super) fn extract(markdown: &Markdown, adr: &mut Adr) {
    let passages = adr.context.iter().chain(&adr.decision).chain(&adr.other);
    let sentences = passages.flat_map(|passage| passage.sentences(markdown));
    let y_statement = sentences
        .into_iter()
        .find_map(|sentence| Statement::of(markdown, sentence));
    if let Some(y_statement) = y_statement {
        y_statement.add_to(markdown, adr);
    } else if adr.decision.is_empty() {
        let passages = adr.context.iter().chain(&adr.other);
        let sentences = passages.flat_map(|passage| passage.sentences(markdown));
        adr.decision = sentences
            .filter(|sentence| announces_decision(sentence.text(markdown)))
            .collect();
    }
}

/// Whether a sentence announces a decision by itself.
fn announces_decision(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let words = [
        "we will ",
        "we decided ",
        "we have decided ",
        "we chose ",
        "we use ",
        "we are going to ",
        "we adopt ",
        "we should ",
        "let's ",
        "is chosen",
        "was chosen",
        "we go with ",
        "we agreed ",
    ];
    words.iter().any(|word| lower.contains(word))
}

/// The pieces of a Y-statement, as byte ranges of its sentence.
struct Statement {
    sentence: Passage,
    context: Range<usize>,
    facing: Option<Range<usize>>,
    decided: Range<usize>,
    neglected: Option<Range<usize>>,
    achieve: Option<Range<usize>>,
    accepting: Option<Range<usize>>,
}

impl Statement {
    fn of(markdown: &Markdown, sentence: Passage) -> Option<Statement> {
        // A line end separates words as a space does, and has the same length.
        let text = sentence
            .text(markdown)
            .to_ascii_lowercase()
            .replace('\n', " ");
        let find = |from: usize, words: &[&str]| {
            let rest = text.get(from..)?;
            let found = words
                .iter()
                .filter_map(|word| Some((find_word(rest, word)?, word.len())));
            let (at, length) = found.min_by_key(|(at, length)| (*at, usize::MAX - length))?;
            Some((from + at, from + at + length))
        };
        let context = find(0, CONTEXT)?;
        let decided = find(context.1, DECIDED)?;
        let facing = find(context.1, FACING).filter(|facing| facing.0 < decided.0);
        let neglected = find(decided.1, NEGLECTED);
        let achieve = find(decided.1, ACHIEVE);
        let accepting = find(decided.1, ACCEPTING);
        let starts = [Some(decided), facing, neglected, achieve, accepting];
        let end = |from: usize| {
            let later = starts.iter().flatten().filter(|start| start.0 >= from);
            later.map(|start| start.0).min().unwrap_or(text.len())
        };
        let piece = |start: (usize, usize)| start.1..end(start.1);
        Some(Statement {
            context: piece(context),
            facing: facing.map(piece),
            decided: piece(decided),
            neglected: neglected.map(piece),
            achieve: achieve.map(piece),
            accepting: accepting.map(piece),
            sentence,
        })
    }

    fn add_to(self, markdown: &Markdown, adr: &mut Adr) {
        let piece = |range: &Range<usize>| self.trimmed(markdown, range);
        let is_within = |passage: &Passage| {
            passage.section == self.sentence.section && passage.block == self.sentence.block
        };
        // The pieces replace the whole block.
        adr.context.retain(|passage| !is_within(passage));
        adr.other.retain(|passage| !is_within(passage));
        adr.context.push(piece(&self.context));
        adr.drivers.extend(self.facing.iter().map(piece));
        if !adr.decision.iter().any(is_within) {
            adr.decision.push(self.sentence.clone());
        }
        let option = |range: &Range<usize>| (piece(range), name(piece(range).text(markdown)));
        set_outcome(adr, option(&self.decided), Verdict::Chosen);
        if let Some(neglected) = &self.neglected {
            set_outcome(adr, option(neglected), Verdict::Rejected);
        }
        let follows = |range: &Range<usize>, is_good| Consequence {
            passage: piece(range),
            is_good: Some(is_good),
        };
        adr.consequences
            .extend(self.achieve.iter().map(|range| follows(range, true)));
        adr.consequences
            .extend(self.accepting.iter().map(|range| follows(range, false)));
    }

    /// A piece without the whitespace and punctuation around it.
    fn trimmed(&self, markdown: &Markdown, range: &Range<usize>) -> Passage {
        let whole = self
            .sentence
            .text(markdown)
            .get(range.clone())
            .unwrap_or_default();
        let rest = whole.trim_start();
        let start = range.start + whole.len() - rest.len();
        let piece = rest.trim_end_matches([' ', '\n', ',', '.', ';']);
        self.sentence.within(start..start + piece.len())
    }
}

/// Sets the outcome of an option, and adds the option if the record doesn't list it.
fn set_outcome(adr: &mut Adr, (passage, name): (Passage, String), verdict: Verdict) {
    let has_name = |option: &&mut ConsideredOption| normalized(&option.name) == normalized(&name);
    if let Some(existing) = adr.options.iter_mut().find(has_name) {
        existing.verdict = verdict;
        return;
    }
    adr.options.push(ConsideredOption {
        name,
        about: vec![passage],
        verdict,
        ..ConsideredOption::default()
    });
}

/// The offset of a word that is bounded by non-alphanumeric characters.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let is_apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let mut passages = text.match_indices(word);
    let found = passages.find(|(at, _)| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let after = text
            .get(at + word.len()..)
            .and_then(|text| text.chars().next());
        is_apart(before) && is_apart(after)
    });
    found.map(|(at, _)| at)
}
