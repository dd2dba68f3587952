//! What a text says: its clauses, and in each, which things it takes and which it turns down.
//!
//! The same grammar reads proposals and decisions. A word such as `never`, `instead of` or `retire`
//! turns what it governs: what follows, up to where the clause turns again, and the subject too
//! where it stands behind one ("secrets are never kept …", "staging is shut down").

mod governed;
mod roles;

use std::ops::Range;

use super::measures::{Measure, breaks, measures};
use super::names::Rivals;
use super::words::{Concept, Mark, Token, line, tokens};
use crate::markdown::sentences;

/// How many tokens one clause has at most: what is longer is read as clauses of its own, for each
/// negation turns all that stands before it.
const MAX_TOKENS: usize = 400;
/// How many things of one clause are compared.
pub(super) const MAX_TERMS: usize = 400;

/// A part of a sentence that says one thing.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    /// Where its sentence stands in the text.
    pub(super) sentence: Range<usize>,
    /// What it says of things, in order.
    pub(super) terms: Vec<Term>,
    /// Its numbers.
    pub(super) measures: Vec<Measure>,
    /// How it is meant.
    pub(super) mode: Mode,
    /// Whether it says that it holds for nothing else: `only`, `nowhere else`.
    pub(super) is_exclusive: bool,
}

impl Clause {
    /// Whether its numbers break the bounds of a statement; `None` where they can't be compared.
    pub(super) fn breaks(&self, statement: &Clause) -> Option<bool> {
        let compared = |number| {
            let bounds = statement.measures.iter();
            bounds.filter_map(move |bound| breaks(number, bound))
        };
        let held: Vec<bool> = self.measures.iter().flat_map(compared).collect();
        (!held.is_empty()).then(|| held.iter().all(|breaks| *breaks))
    }
}

/// A thing that a clause speaks of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    /// Which.
    pub(super) concept: Concept,
    /// The blocks of rivals it is in.
    pub(super) rivals: Rivals,
    /// Whether it is a word of the trade.
    pub(super) is_technical: bool,
    /// Whether it is one of several: behind a comma, or `and`.
    pub(super) is_listed: bool,
    /// Whether it is not named itself: the kind of what is.
    pub(super) is_besides: bool,
    /// What is done with it.
    pub(super) role: Role,
    /// Whether it is what something is done with, or in: "use X", "in X", and not "X's nodes".
    pub(super) is_means: bool,
    /// Whether it is what a verb ends: "delete the X", "drop X".
    pub(super) is_ended: bool,
    /// Whether it is written as a name, or is one that is known.
    pub(super) is_name: bool,
    /// Where it stands in the text.
    pub(super) start: usize,
    /// Where it ends there.
    pub(super) end: usize,
}

/// What a clause does with a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Uses it, has it, does it.
    Takes,
    /// Has it no longer, turns it down, forbids it.
    Drops,
    /// Merely names it beside another: `in addition to`.
    Beside,
}

/// How a clause is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It holds, or is to hold.
    Says,
    /// It asks.
    Asks,
    /// It tells what was looked at.
    Tells,
}

/// The clauses of a text.
pub(super) fn clauses(text: &str) -> Vec<Clause> {
    let mut found: Vec<Clause> = Vec::new();
    // How many of them were looked at by those that turn others down.
    let mut refused = 0;
    for sentence in sentences(text) {
        let words = text.get(sentence.clone()).unwrap_or_default();
        let tokens = tokens(words);
        let mode = mode(words, &tokens);
        if answers_no(&tokens) {
            refused = refuse(&mut found, refused);
        }
        for part in parts(&tokens) {
            let said = tokens.get(part).unwrap_or_default();
            if is_verdict(said) {
                refused = refuse(&mut found, refused);
            }
            found.push(Clause {
                sentence: sentence.clone(),
                terms: terms(said, sentence.start),
                measures: measures(said),
                mode,
                is_exclusive: is_exclusive(said),
            });
        }
    }
    found
}

/// A clause's things, with their roles; behind each, what it names besides.
fn terms(tokens: &[Token], start: usize) -> Vec<Term> {
    let mut terms = Vec::new();
    for (at, (token, role)) in tokens.iter().zip(roles::of(tokens)).enumerate() {
        let Some(concept) = token.concept else {
            continue;
        };
        let term = Term {
            concept,
            rivals: token.rivals,
            is_technical: token.is_technical,
            is_listed: token.before == Mark::Comma || is_joined(tokens, at),
            is_besides: false,
            role,
            is_means: governed::is_means(tokens, at),
            is_ended: governed::is_ended(tokens, at),
            is_name: token.is_name,
            start: start + token.at.start,
            end: start + token.at.end,
        };
        terms.push(term);
        let besides = token.besides.iter().map(|concept| Term {
            concept: *concept,
            rivals: Rivals::default(),
            is_besides: true,
            ..term
        });
        terms.extend(besides);
    }
    terms.truncate(MAX_TERMS);
    terms
}

/// Whether `and` or `or` stands before a token.
fn is_joined(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    before.is_some_and(|before| matches!(before.lower.as_str(), "and" | "or" | "plus"))
}

/// The parts of a sentence between semicolons, colons and dashes, none longer than a clause may be.
fn parts(tokens: &[Token]) -> Vec<Range<usize>> {
    let mut starts = vec![0];
    let is_start = |at: &usize| {
        tokens
            .get(*at)
            .is_some_and(|token| token.before == Mark::Break)
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

/// Whether a sentence answers the one before with no.
fn answers_no(tokens: &[Token]) -> bool {
    let no = |at: usize| tokens.get(at).is_some_and(|token| token.lower == "no");
    let ends = |at: usize| {
        tokens
            .get(at + 1)
            .is_none_or(|next| next.before != Mark::None)
    };
    (0..tokens.len()).any(|at| no(at) && ends(at))
}

/// Whether words alone forbid what stands before them: "GPL: never".
fn is_verdict(tokens: &[Token]) -> bool {
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

/// Turns down what the last sentence asked for or told, apart from the first `done` clauses, of which
/// that was said before; how many clauses it now was said of.
fn refuse(found: &mut [Clause], done: usize) -> usize {
    let count = found.len();
    let Some(sentence) = found.last().map(|clause| clause.sentence.clone()) else {
        return count;
    };
    let of_it = found
        .iter_mut()
        .skip(done)
        .rev()
        .take_while(|clause| clause.sentence == sentence);
    for clause in of_it {
        clause.mode = Mode::Says;
        for term in &mut clause.terms {
            term.role = Role::Drops;
        }
    }
    count
}

fn mode(text: &str, tokens: &[Token]) -> Mode {
    let line = line(tokens);
    const TELLS: [&str; 13] = [
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
    const ASKS: [&str; 8] = [
        " should we ",
        " do we ",
        " propose nothing ",
        " we'd like to hear ",
        " not decided ",
        " undecided ",
        " haven't decided ",
        " open question ",
    ];
    if text.trim_end().ends_with('?') || ASKS.iter().any(|word| line.contains(word)) {
        Mode::Asks
    } else if TELLS.iter().any(|word| line.contains(word)) {
        Mode::Tells
    } else {
        Mode::Says
    }
}

fn is_exclusive(tokens: &[Token]) -> bool {
    let line = line(tokens);
    [" only ", " nowhere else ", " nothing else ", " no other "]
        .iter()
        .any(|word| line.contains(word))
}

#[cfg(test)]
mod tests;
