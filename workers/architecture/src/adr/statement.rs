//! Y-statements: a whole decision in one sentence. "In the context of …, facing …, we decided for …
//! and neglected …, to achieve …, accepting that …."

use std::ops::Range;

use super::options::name;
use super::parts::normal;
use super::{Adr, Choice, Consequence, Passage, Verdict};
use crate::markdown::Markdown;

/// What the pieces of the sentence begin with, in their order.
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

/// Sorts the pieces of a Y-statement in, wherever it stands. Without one, and without a part that
/// says what was decided, the sentences that say so are the decision.
pub(super) fn take_apart(markdown: &Markdown, adr: &mut Adr) {
    let places = adr.context.iter().chain(&adr.decision).chain(&adr.other);
    let sentences = places.flat_map(|passage| passage.sentences(markdown));
    let statement = sentences
        .into_iter()
        .find_map(|sentence| Statement::of(markdown, sentence));
    if let Some(statement) = statement {
        statement.sort_in(markdown, adr);
    } else if adr.decision.is_empty() {
        let places = adr.context.iter().chain(&adr.other);
        let sentences = places.flat_map(|passage| passage.sentences(markdown));
        adr.decision = sentences
            .filter(|sentence| decides(sentence.text(markdown)))
            .collect();
    }
}

/// Whether a sentence says by itself what was decided.
fn decides(sentence: &str) -> bool {
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

/// The pieces of a Y-statement, as ranges of its sentence.
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
        // A line end is as good as a blank, and as long.
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

    fn sort_in(self, markdown: &Markdown, adr: &mut Adr) {
        let piece = |range: &Range<usize>| self.trimmed(markdown, range);
        let is_within = |passage: &Passage| {
            passage.section == self.sentence.section && passage.block == self.sentence.block
        };
        // What stood elsewhere as a whole stands here in pieces.
        adr.context.retain(|passage| !is_within(passage));
        adr.other.retain(|passage| !is_within(passage));
        adr.context.push(piece(&self.context));
        adr.drivers.extend(self.facing.iter().map(piece));
        if !adr.decision.iter().any(is_within) {
            adr.decision.push(self.sentence.clone());
        }
        let option = |range: &Range<usize>| (piece(range), name(piece(range).text(markdown)));
        name_option(adr, option(&self.decided), Verdict::Chosen);
        if let Some(neglected) = &self.neglected {
            name_option(adr, option(neglected), Verdict::Rejected);
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

    /// A piece without the blanks and commas around it.
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

/// Says what became of an option, which stands elsewhere, too, or here alone.
fn name_option(adr: &mut Adr, (passage, name): (Passage, String), verdict: Verdict) {
    let is_it = |option: &&mut Choice| normal(&option.name) == normal(&name);
    if let Some(known) = adr.options.iter_mut().find(is_it) {
        known.verdict = verdict;
        return;
    }
    adr.options.push(Choice {
        name,
        about: vec![passage],
        verdict,
        ..Choice::default()
    });
}

/// Where a word stands with blanks or commas around it.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let is_apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let mut places = text.match_indices(word);
    let found = places.find(|(at, _)| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let after = text
            .get(at + word.len()..)
            .and_then(|text| text.chars().next());
        is_apart(before) && is_apart(after)
    });
    found.map(|(at, _)| at)
}
