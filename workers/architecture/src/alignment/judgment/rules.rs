//! Limits and prohibitions that a proposal breaks.

use archway_repo::Stopped;

use super::{Ground, MIN_RESTATED, Pair};
use crate::alignment::measures;
use crate::alignment::positions::{Kind, Statement};
use crate::alignment::words::{Role, Sentence};

/// The share of a prohibition's words that the proposal has.
const MIN_PROHIBITION: f32 = 0.5;
/// The share of the words that it negates. It is smaller, since forms as `write` and `written` differ.
const MIN_NEGATED: f32 = 0.4;
/// The share of the words that a limit and the proposal's number have in common.
const MIN_SAME_MEASURE: f32 = 0.3;
/// Only the limits among so many of the most decisive statements count.
const MAX_LIMITS: usize = 2;

impl Pair<'_> {
    /// Whether a number of the proposal is outside of a limit that one of the most decisive statements sets.
    pub(super) fn breaks_limit(&self, ranked: &[(usize, f32)]) -> Option<Ground> {
        let mut broken = None;
        for (at, _) in ranked.iter().take(MAX_LIMITS) {
            let Some(rule) = self.ruling(*at).map(|statement| &statement.sentence) else {
                continue;
            };
            for sentence in self.asserted() {
                let outcomes = sentence.breaks(rule);
                if outcomes.is_empty() || self.common(sentence, rule, 2) < MIN_SAME_MEASURE {
                    continue;
                }
                // A number that keeps to one limit of the subject may be about that one.
                if outcomes.contains(&false) {
                    return None;
                }
                broken = broken.or(Some(Ground::BreaksLimit(*at)));
            }
        }
        broken
    }

    /// The sentences of the proposal without a negation, and that answer no "no".
    fn asserted(&self) -> impl Iterator<Item = &Sentence> {
        let sentences = self.proposal.sentences.iter();
        sentences.filter(|one| !one.is_negated && !one.refuses)
    }

    /// A rule or a consequence.
    pub(super) fn ruling(&self, at: usize) -> Option<&Statement> {
        let statement = self.positions.statements.get(at)?;
        matches!(statement.kind, Kind::Rule | Kind::Consequence).then_some(statement)
    }

    /// The share of a rule's words that a sentence has; 0 if there are fewer than `least`. Numbers and units don't count.
    pub(super) fn common(&self, sentence: &Sentence, rule: &Sentence, least: usize) -> f32 {
        let has = |stem: &str| sentence.words.iter().any(|word| word.stem == stem);
        let stems = || {
            rule.words
                .iter()
                .map(|word| word.stem.as_str())
                .filter(|stem| !is_measure(stem))
        };
        let mut both: Vec<&str> = stems().filter(|stem| has(stem)).collect();
        both.sort_unstable();
        both.dedup();
        if both.len() < least {
            return 0.0;
        }
        self.share(stems(), has)
    }

    /// Whether the proposal says little but what a rule says: no other numbers, and a negation where the rule has one.
    pub(super) fn restates(&self, rule: &Sentence) -> bool {
        let has = |stem: &str| rule.words.iter().any(|word| word.stem == stem);
        let own = self.share(self.proposal.stems.iter().map(String::as_str), has);
        let agrees =
            |one: &Sentence| one.is_negated == rule.is_negated && !one.breaks(rule).contains(&true);
        own >= MIN_RESTATED && self.proposal.sentences.iter().all(agrees)
    }

    /// Whether the proposal asserts most of what a rule forbids.
    pub(super) fn breaks_prohibition(&self) -> Result<Option<Ground>, Stopped> {
        let statements = self.positions.statements.iter().enumerate();
        let rules = statements
            .filter(|(_, one)| one.kind == Kind::Rule && !one.sentence.has_exception)
            .filter(|(_, one)| negated(&one.sentence).next().is_some());
        for (at, rule) in rules {
            self.cancel.check()?;
            if self.asserted().any(|one| self.does(one, &rule.sentence)) {
                return Ok(Some(Ground::BreaksProhibition(at)));
            }
        }
        Ok(None)
    }

    /// Whether a sentence has most of a rule's words, and most of those that the rule negates.
    fn does(&self, sentence: &Sentence, rule: &Sentence) -> bool {
        let has = |stem: &str| sentence.words.iter().any(|word| word.stem == stem);
        self.common(sentence, rule, 3) >= MIN_PROHIBITION
            && self.share(negated(rule), has) >= MIN_NEGATED
    }
}

/// The stems that a rule negates.
fn negated(rule: &Sentence) -> impl Iterator<Item = &str> {
    let words = rule.words.iter();
    let negated = words.filter(|word| word.role == Role::Negates);
    negated.map(|word| word.stem.as_str())
}

/// Whether a stem is a number or a unit.
fn is_measure(stem: &str) -> bool {
    const UNITS: [&str; 8] = [
        "second", "minut", "hour", "day", "week", "month", "year", "least",
    ];
    stem.starts_with(char::is_numeric) || UNITS.contains(&stem) || measures::number(stem).is_some()
}
