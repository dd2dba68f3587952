//! Splits a text into sentences, and those into words with their roles.
//!
//! Proposals and decisions are read alike. `never`, `instead of` or `retire` change what a sentence
//! does with the words after them, up to the next comma, `with` or the like. It is a rough grammar: whoever uses it
//! must be content with `Role::Adopts` where nothing else is known.

mod stem;
mod vocabulary;

use std::ops::Range;

use super::embedding::Embedding;
use super::measures::{Measure, measures};
use super::names::{self, Product};
use super::tokens::{Token, tokens};
use crate::markdown::sentences;
use vocabulary::{
    AFTER_NO, ALONGSIDE, CONTINUES, ENDS, EXCEPTIONS, MOVES, NEGATES, RESTARTS, STOPS, TURNED_DOWN,
    USES, WHOLES,
};

/// At most this many bytes of a sentence are embedded.
const MAX_EMBEDDED: usize = 4096;

/// What a sentence does with a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Uses or does it.
    Adopts,
    /// Ends it or puts something else in its place.
    Drops,
    /// Negates it.
    Negates,
    /// Keeps it beside something else.
    Alongside,
}

/// A word that is not a stop word.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// Without its ending, in lower case.
    pub(super) stem: String,
    pub(super) product: Option<Product>,
    /// Whether the word before it says that it is used: `in`, `uses`.
    pub(super) is_used: bool,
    pub(super) role: Role,
}

/// A sentence, with what is compared.
#[derive(Clone, Debug)]
pub(super) struct Sentence {
    /// Its place in the text, in bytes.
    pub(super) range: Range<usize>,
    pub(super) words: Vec<Word>,
    pub(super) measures: Vec<Measure>,
    /// Whether it is a question.
    pub(super) asks: bool,
    /// Whether it has a negation.
    pub(super) is_negated: bool,
    /// Whether it turns down what it names: an answer of "no".
    pub(super) refuses: bool,
    /// Whether it says that something was considered and not chosen.
    pub(super) turned_down: bool,
    /// Whether it holds under a condition: `unless`, `except`.
    pub(super) has_exception: bool,
    pub(super) embedding: Option<Embedding>,
}

impl Sentence {
    /// For each number of this sentence and each of a rule that measure the same kind of thing, whether it is
    /// outside of what the rule allows.
    pub(super) fn breaks(&self, rule: &Sentence) -> Vec<bool> {
        let pairs = self
            .measures
            .iter()
            .flat_map(|own| rule.measures.iter().map(move |bound| (own, bound)));
        pairs.filter_map(|(own, bound)| own.breaks(bound)).collect()
    }
}

/// The sentences of a text that have words. Line ends of a proposal end sentences, too (`by_line`).
pub(super) fn read(text: &str, by_line: bool) -> Vec<Sentence> {
    let mut ranges = Vec::new();
    for range in sentences(text) {
        let sentence = text.get(range.clone()).unwrap_or_default();
        let mut start = range.start;
        for line in sentence.split_inclusive('\n').filter(|_| by_line) {
            ranges.push(start..start + line.len());
            start += line.len();
        }
        if !by_line {
            ranges.push(range);
        }
    }
    let mut all: Vec<Sentence> = Vec::new();
    for range in ranges {
        let one = sentence(text.get(range.clone()).unwrap_or_default(), range);
        // A "no" answers the sentence before it, too: "Kafka again? No."
        if let Some(before) = all.last_mut() {
            before.refuses |= one.refuses;
        }
        if !one.words.is_empty() {
            all.push(one);
        }
    }
    all
}

/// The first bytes of a text, at most as many as are embedded.
pub(super) fn embedded(text: &str) -> &str {
    let end = text.floor_char_boundary(MAX_EMBEDDED);
    text.get(..end).unwrap_or(text)
}

fn sentence(text: &str, range: Range<usize>) -> Sentence {
    let tokens = tokens(text);
    Sentence {
        range,
        words: words(&tokens),
        measures: measures(&tokens),
        asks: text.trim_end().ends_with('?'),
        is_negated: has(&tokens, NEGATES),
        refuses: refuses(&tokens),
        turned_down: says(&tokens, TURNED_DOWN),
        has_exception: has(&tokens, EXCEPTIONS),
        embedding: Embedding::of(embedded(text)),
    }
}

fn has(tokens: &[Token], words: &[&str]) -> bool {
    tokens
        .iter()
        .any(|token| words.contains(&token.lower.as_str()))
}

fn refuses(tokens: &[Token]) -> bool {
    tokens.iter().zip(1..).any(|(token, next)| {
        let ends = |next: &Token| AFTER_NO.contains(&next.lower.as_str());
        token.lower == "no" && tokens.get(next).is_none_or(ends)
    })
}

fn says(tokens: &[Token], phrases: &[&[&str]]) -> bool {
    (0..tokens.len()).any(|at| {
        let rest = tokens.get(at..).unwrap_or_default();
        phrases.iter().any(|phrase| {
            let mut pairs = rest.iter().zip(*phrase);
            rest.len() >= phrase.len() && pairs.all(|(token, word)| token.lower == **word)
        })
    })
}

/// The words with their roles.
fn words(tokens: &[Token]) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut role = Role::Adopts;
    for (at, token) in tokens.iter().enumerate() {
        role = match role_after(tokens, at, role) {
            Step::Now(other) => {
                role = other;
                continue;
            }
            Step::Still => role,
        };
        let lower = token.lower.as_str();
        let next = tokens.get(at + 1).map_or("", |next| next.lower.as_str());
        let is_first = at == 0
            || tokens
                .get(at - 1)
                .is_some_and(|before| is_end(&before.lower));
        let product = names::product(lower, next, token.is_capital, is_first);
        if STOPS.contains(&lower) && product.is_none() {
            continue;
        }
        if let Some(product) = product {
            let before = at.checked_sub(1).and_then(|at| tokens.get(at));
            words.push(Word {
                stem: product.name().to_owned(),
                product: Some(product),
                is_used: before.is_some_and(|before| USES.contains(&before.lower.as_str())),
                role,
            });
            if product.name() == lower {
                continue;
            }
        }
        words.extend(stems(lower).map(|stem| Word {
            stem,
            product: None,
            is_used: false,
            role,
        }));
    }
    words
}

/// The stems of a word's parts, and of a word with several parts all of it.
fn stems(lower: &str) -> impl Iterator<Item = String> {
    let parts = lower
        .split(['-', '_', '.'])
        .filter(|part| part.len() > 1 || part.starts_with(char::is_numeric));
    let parts: Vec<&str> = parts.collect();
    let whole = (parts.len() > 1).then(|| parts.concat());
    let parts = parts.into_iter().filter(|part| !STOPS.contains(part));
    whole.into_iter().chain(parts.map(stem::of))
}

/// Whether a token changes the role of those after it.
enum Step {
    Now(Role),
    Still,
}

fn role_after(tokens: &[Token], at: usize, role: Role) -> Step {
    let word = |at: usize| tokens.get(at).map_or("", |token| token.lower.as_str());
    let (this, next) = (word(at), word(at + 1));
    let before = at.checked_sub(1).map_or("", word);
    let was_moved = || (at.saturating_sub(8)..at).any(|before| MOVES.contains(&word(before)));
    let pair = [this, next];
    match this {
        ";" | ":" | "—" | "–" | "(" | "→" | "." | "!" | "?" => Step::Now(Role::Adopts),
        "," if RESTARTS.contains(&next) => Step::Now(Role::Adopts),
        _ if is_end(this) || this == "," || this == ")" || this == "/" || this == "|" => {
            Step::Now(role)
        }
        _ if ENDS.contains(&this) => Step::Now(Role::Drops),
        "from" if was_moved() => Step::Now(Role::Drops),
        "from" | "of" | "on" if role == Role::Drops && WHOLES.contains(&before) => Step::Still,
        "from" | "in" | "of" | "on" if role == Role::Drops => Step::Now(Role::Adopts),
        _ if CONTINUES.contains(&pair) => Step::Now(Role::Drops),
        "with" | "by" | "to" | "into" | "onto" | "for" if role == Role::Drops => {
            Step::Now(Role::Adopts)
        }
        _ if ALONGSIDE.contains(&this) || pair == ["addition", "to"] || pair == ["next", "to"] => {
            Step::Now(Role::Alongside)
        }
        _ if NEGATES.contains(&this) => Step::Now(Role::Negates),
        "but" | "because" | "since" => Step::Now(Role::Adopts),
        _ => Step::Still,
    }
}

fn is_end(token: &str) -> bool {
    matches!(token, "." | "!" | "?" | ";" | ":" | "(" | "|" | "%")
}
