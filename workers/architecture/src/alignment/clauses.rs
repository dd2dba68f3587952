//! Splits a text into clauses, and finds which products and techniques each clause adopts or drops.
//!
//! The same grammar parses proposals and decisions. A word such as `never`, `instead of` or
//! `retire` inverts what it governs: the words after it, up to the next such word. In a passive
//! clause it inverts the subject as well ("secrets are never kept …", "staging is shut down").

mod governed;
mod roles;

use std::ops::Range;

use super::measures::{Measure, measures, violates};
use super::names::Alternatives;
use super::words::{Concept, Separator, Token, joined, tokens};
use crate::markdown::sentences;

/// The most tokens of one clause. Longer text is split into several clauses, because each negation
/// inverts all tokens before it, which is quadratic.
const MAX_TOKENS: usize = 400;
/// At most this many terms of a clause are compared.
pub(super) const MAX_TERMS: usize = 400;

/// A part of a sentence that makes one statement.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    /// Byte range of the clause's sentence in the text.
    pub(super) sentence: Range<usize>,
    /// The terms, in order.
    pub(super) terms: Vec<Term>,
    /// Numbers with units.
    pub(super) measures: Vec<Measure>,
    /// Whether the clause asserts, asks or reports.
    pub(super) mode: Mode,
    /// Whether the clause excludes everything else: `only`, `nowhere else`.
    pub(super) is_exclusive: bool,
}

impl Clause {
    /// Whether the clause's numbers violate a statement's bounds; `None` if they are not
    /// comparable.
    pub(super) fn violates(&self, statement: &Clause) -> Option<bool> {
        let compared = |number| {
            let bounds = statement.measures.iter();
            bounds.filter_map(move |bound| violates(number, bound))
        };
        let violations: Vec<bool> = self.measures.iter().flat_map(compared).collect();
        (!violations.is_empty()).then(|| violations.iter().all(|violates| *violates))
    }
}

/// A mention of a concept in a clause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    pub(super) concept: Concept,
    /// The groups of alternatives that the concept is in.
    pub(super) alternatives: Alternatives,
    /// Whether the concept is a technical term.
    pub(super) is_technical: bool,
    /// Whether the term is part of a list: it follows a comma or `and`.
    pub(super) is_listed: bool,
    /// Whether the term is not written, but is the kind of one that is.
    pub(super) is_implied: bool,
    pub(super) role: Role,
    /// Whether the term is the means or the place of an action: "use X", "in X", but not "X's
    /// nodes".
    pub(super) is_means: bool,
    /// Whether a verb ends the term: "delete the X", "drop X".
    pub(super) is_ended: bool,
    /// Whether the term is spelled as a name, or is a known name.
    pub(super) is_name: bool,
    /// Byte offset of the term's start in the text.
    pub(super) start: usize,
    /// Byte offset of its end.
    pub(super) end: usize,
}

/// The role of a term in a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Uses, has or does it.
    Adopts,
    /// Rejects, removes or forbids it.
    Drops,
    /// Mentions it alongside another: `in addition to`.
    Alongside,
}

/// The mode of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Asserts that something holds or should hold.
    Asserts,
    /// Asks a question.
    Asks,
    /// Reports what was considered.
    Reports,
}

pub(super) fn clauses(text: &str) -> Vec<Clause> {
    let mut found: Vec<Clause> = Vec::new();
    // The number of clauses that earlier negative answers already covered.
    let mut rejected = 0;
    for sentence in sentences(text) {
        let words = text.get(sentence.clone()).unwrap_or_default();
        let tokens = tokens(words);
        let mode = mode(words, &tokens);
        if answers_no(&tokens) {
            rejected = reject(&mut found, rejected);
        }
        for part in parts(&tokens) {
            let part = tokens.get(part).unwrap_or_default();
            if is_rejection(part) {
                rejected = reject(&mut found, rejected);
            }
            found.push(Clause {
                sentence: sentence.clone(),
                terms: terms(part, sentence.start),
                measures: measures(part),
                mode,
                is_exclusive: is_exclusive(part),
            });
        }
    }
    found
}

/// The terms of a clause with their roles. The concepts that a term implies follow it.
fn terms(tokens: &[Token], start: usize) -> Vec<Term> {
    let mut terms = Vec::new();
    for (at, (token, role)) in tokens.iter().zip(roles::of(tokens)).enumerate() {
        let Some(concept) = token.concept else {
            continue;
        };
        let term = Term {
            concept,
            alternatives: token.alternatives,
            is_technical: token.is_technical,
            is_listed: token.before == Separator::Comma || is_joined(tokens, at),
            is_implied: false,
            role,
            is_means: governed::is_means(tokens, at),
            is_ended: governed::is_ended(tokens, at),
            is_name: token.is_name,
            start: start + token.at.start,
            end: start + token.at.end,
        };
        terms.push(term);
        let implied = token.implied.iter().map(|concept| Term {
            concept: *concept,
            alternatives: Alternatives::default(),
            is_implied: true,
            ..term
        });
        terms.extend(implied);
    }
    terms.truncate(MAX_TERMS);
    terms
}

/// Whether `and`, `or` or `plus` precedes a token.
fn is_joined(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    before.is_some_and(|before| matches!(before.lower.as_str(), "and" | "or" | "plus"))
}

/// Splits a sentence at semicolons, colons and dashes into parts of at most `MAX_TOKENS` tokens.
fn parts(tokens: &[Token]) -> Vec<Range<usize>> {
    let mut starts = vec![0];
    let is_start = |at: &usize| {
        tokens
            .get(*at)
            .is_some_and(|token| token.before == Separator::Break)
    };
    starts.extend((1..tokens.len()).filter(is_start));
    let ends = starts.iter().skip(1).copied().chain([tokens.len()]);
    let parts = starts
        .iter()
        .copied()
        .zip(ends)
        .map(|(start, end)| start..end);
    let cut = |part: Range<usize>| {
        let end = part.end;
        part.step_by(MAX_TOKENS)
            .map(move |start| start..end.min(start + MAX_TOKENS))
    };
    parts.flat_map(cut).collect()
}

/// Whether a sentence answers the previous one with "no".
fn answers_no(tokens: &[Token]) -> bool {
    let no = |at: usize| tokens.get(at).is_some_and(|token| token.lower == "no");
    let ends = |at: usize| {
        tokens
            .get(at + 1)
            .is_none_or(|next| next.before != Separator::None)
    };
    (0..tokens.len()).any(|at| no(at) && ends(at))
}

/// Whether the words by themselves reject the preceding text: "GPL: never".
fn is_rejection(tokens: &[Token]) -> bool {
    let words = tokens.iter().map(|token| token.lower.as_str());
    let forbids = [
        "never",
        "no",
        "forbidden",
        "prohibited",
        "banned",
        "rejected",
        "declined",
    ];
    !tokens.is_empty() && tokens.len() <= 2 && words.clone().any(|word| forbids.contains(&word))
}

/// Drops the terms of the last sentence's clauses, except the first `done` clauses, which an
/// earlier answer covered. Returns how many clauses are covered now.
fn reject(found: &mut [Clause], done: usize) -> usize {
    let count = found.len();
    let Some(sentence) = found.last().map(|clause| clause.sentence.clone()) else {
        return count;
    };
    let same_sentence = found
        .iter_mut()
        .skip(done)
        .rev()
        .take_while(|clause| clause.sentence == sentence);
    for clause in same_sentence {
        clause.mode = Mode::Asserts;
        for term in &mut clause.terms {
            term.role = Role::Drops;
        }
    }
    count
}

fn mode(text: &str, tokens: &[Token]) -> Mode {
    let joined = joined(tokens);
    const REPORTING: [&str; 13] = [
        " we considered ",
        " we looked at ",
        " we compared ",
        " was considered ",
        " were considered ",
        " other candidate ",
        " we thought about ",
        " came up ",
        " we talked ",
        " asked for ",
        " was proposed ",
        " we discussed ",
        " we had ",
    ];
    const ASKING: [&str; 8] = [
        " should we ",
        " do we ",
        " propose nothing ",
        " we'd like to hear ",
        " not decided ",
        " undecided ",
        " haven't decided ",
        " open question ",
    ];
    if text.trim_end().ends_with('?') || ASKING.iter().any(|word| joined.contains(word)) {
        Mode::Asks
    } else if REPORTING.iter().any(|word| joined.contains(word)) {
        Mode::Reports
    } else {
        Mode::Asserts
    }
}

fn is_exclusive(tokens: &[Token]) -> bool {
    let joined = joined(tokens);
    [" only ", " nowhere else ", " nothing else ", " no other "]
        .iter()
        .any(|word| joined.contains(word))
}

#[cfg(test)]
mod tests;
