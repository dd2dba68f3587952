//! What a text says: its clauses, and in each, which things it takes and which it turns down.
//!
//! The same grammar reads proposals and decisions. A word such as `never`, `instead of` or `retire`
//! turns what it governs: what follows, up to where the clause turns again, and the subject too
//! where it stands behind one ("secrets are never kept …", "staging is shut down").

mod roles;

use std::ops::Range;

use super::measures::{Measure, measures};
use super::words::{Concept, Mark, Token, tokens};
use crate::architecture::markdown::sentences;

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
    /// Whether it says that something stays as it is.
    pub(super) is_kept: bool,
    /// Whether it says that it holds for nothing else: `only`, `nowhere else`.
    pub(super) is_exclusive: bool,
}

/// A thing that a clause speaks of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term {
    /// Which.
    pub(super) concept: Concept,
    /// The blocks of rivals it is in, a bit each.
    pub(super) rivals: u64,
    /// Whether it is a word of the trade.
    pub(super) is_technical: bool,
    /// Whether it is one of several: behind a comma, or `and`.
    pub(super) is_listed: bool,
    /// Whether it is not named itself: the kind of what is.
    pub(super) is_besides: bool,
    /// What is done with it.
    pub(super) role: Role,
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
    for sentence in sentences(text) {
        let words = text.get(sentence.clone()).unwrap_or_default();
        let tokens = tokens(words);
        let mode = mode(words, &tokens);
        if answers_no(&tokens) {
            refuse(&mut found);
        }
        let parts = parts(&tokens);
        for part in parts {
            let said = tokens.get(part).unwrap_or_default();
            if is_verdict(said) {
                refuse(&mut found);
            }
            found.push(Clause {
                sentence: sentence.clone(),
                terms: terms(said),
                measures: measures(said),
                mode,
                is_kept: is_kept(said),
                is_exclusive: is_exclusive(said),
            });
        }
    }
    found
}

/// A clause's things, with their roles; behind each, what it names besides.
fn terms(tokens: &[Token]) -> Vec<Term> {
    let mut terms = Vec::new();
    for (token, role) in tokens.iter().zip(roles::of(tokens)) {
        let Some(concept) = token.concept else {
            continue;
        };
        let term = Term {
            concept,
            rivals: token.rivals,
            is_technical: token.is_technical,
            is_listed: token.before == Mark::Comma || is_joined(tokens, token),
            is_besides: false,
            role,
        };
        terms.push(term);
        let besides = token.besides.iter().map(|concept| Term {
            concept: *concept,
            rivals: 0,
            is_besides: true,
            ..term
        });
        terms.extend(besides);
    }
    terms
}

/// Whether `and` or `or` stands before a token.
fn is_joined(tokens: &[Token], token: &Token) -> bool {
    let before = tokens
        .iter()
        .rev()
        .find(|other| other.at.end <= token.at.start);
    before.is_some_and(|before| matches!(before.lower.as_str(), "and" | "or" | "plus"))
}

/// The parts of a sentence between semicolons, colons and dashes.
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
    parts.filter(|part| !part.is_empty()).collect()
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

/// Turns down what the last sentence asked for or told.
fn refuse(found: &mut [Clause]) {
    let Some(sentence) = found.last().map(|clause| clause.sentence.clone()) else {
        return;
    };
    let of_it = found
        .iter_mut()
        .rev()
        .take_while(|clause| clause.sentence == sentence);
    for clause in of_it {
        clause.mode = Mode::Says;
        for term in &mut clause.terms {
            term.role = Role::Drops;
        }
    }
}

fn mode(text: &str, tokens: &[Token]) -> Mode {
    let words: Vec<&str> = tokens.iter().map(|token| token.lower.as_str()).collect();
    let line = format!(" {} ", words.join(" "));
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

fn is_kept(tokens: &[Token]) -> bool {
    const KEEPS: [&str; 12] = [
        "stay",
        "stays",
        "remain",
        "remains",
        "keep",
        "keeps",
        "continue",
        "continues",
        "unchanged",
        "still",
        "leave",
        "before",
    ];
    tokens
        .iter()
        .any(|token| KEEPS.contains(&token.lower.as_str()))
}

fn is_exclusive(tokens: &[Token]) -> bool {
    let words: Vec<&str> = tokens.iter().map(|token| token.lower.as_str()).collect();
    let line = format!(" {} ", words.join(" "));
    [" only ", " nowhere else ", " nothing else ", " no other "]
        .iter()
        .any(|word| line.contains(word))
}

#[cfg(test)]
mod tests;
