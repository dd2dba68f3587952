//! A proposal held against a decision: how much they share, and what the one does with what the
//! other holds.

mod options;
mod relations;
mod shared;

use std::collections::{HashMap, HashSet};

use super::clauses::{Clause, Mode, Term, clauses};
use super::meaning::Meaning;
use super::positions::{Kind, Positions};
use super::words::Concept;
pub(super) use relations::Relations;

/// How many clauses of a proposal are read.
const MAX_CLAUSES: usize = 120;
/// The least that a word weighs that no decision names.
const UNKNOWN: f32 = 1.5;

/// A collection of fewer decisions is weighed as one of so many: in a few, each word is in most.
const SMALLEST: f32 = 24.0;
/// What a word weighs that one decision names.
const RAREST: f32 = 2.81;

/// A proposal, read.
pub(super) struct Read {
    /// What it says.
    pub(super) clauses: Vec<(Clause, Option<Meaning>)>,
    /// All that it names.
    pub(super) concepts: HashSet<Concept>,
    /// Those of them that are words of the trade.
    technical: HashSet<Concept>,
}

/// How much each concept tells, by how few decisions name it.
pub(super) struct Weights {
    counts: HashMap<Concept, u32>,
    decisions: f32,
}

/// What a proposal and a decision share.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// What both name, by weight; of words of the trade alone; as a part of what the proposal names.
    pub(super) total: f32,
    pub(super) technical: f32,
    pub(super) cover: f32,
    /// What is named of the title, by weight.
    pub(super) title: f32,
    /// How near the nearest rule is in meaning, and the three nearest statements.
    pub(super) nearest_rule: f32,
    pub(super) near: f32,
    /// The statement that is nearest.
    pub(super) nearest: Option<usize>,
    /// What the one does with what the other holds.
    pub(super) relations: Relations,
}

impl Read {
    /// Reads a proposal: what it says, and what stands around it.
    pub(super) fn of(description: &str, context: Option<&str>) -> Read {
        let said = clauses(description).into_iter().take(MAX_CLAUSES);
        let with = |clause: Clause| {
            let words = description.get(clause.sentence.clone()).unwrap_or_default();
            (clause, Meaning::of(words))
        };
        let clauses: Vec<_> = said.map(with).collect();
        let around = context.map(self::clauses).unwrap_or_default();
        let terms = || clauses.iter().flat_map(|(clause, _)| &clause.terms);
        let is_technical = |term: &&Term| term.is_technical && !term.is_besides;
        // Around it stands the problem: where words of the trade tell which one is meant.
        let around = around.iter().flat_map(|clause| &clause.terms);
        Read {
            concepts: terms().map(|term| term.concept).collect(),
            technical: terms()
                .chain(around)
                .filter(is_technical)
                .map(|term| term.concept)
                .collect(),
            clauses,
        }
    }

    /// Whether it has a word of the trade at all.
    pub(super) fn is_of_trade(&self) -> bool {
        !self.technical.is_empty()
    }

    /// Whether it asks, and says nothing.
    pub(super) fn asks(&self) -> bool {
        let asking = self
            .clauses
            .iter()
            .filter(|(clause, _)| clause.mode == Mode::Asks);
        asking.count() * 5 > self.clauses.len() * 3
    }
}

impl Weights {
    /// Counts the concepts of all decisions.
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a Positions>) -> Weights {
        let mut counts = HashMap::new();
        let mut decisions = 0.0;
        for positions in all {
            decisions += 1.0;
            for concept in &positions.named {
                *counts.entry(*concept).or_insert(0) += 1;
            }
        }
        Weights { counts, decisions }
    }

    /// What a concept weighs; 0 if no decision names it. One that a single decision names weighs the
    /// same in every collection, so that bounds mean the same in all.
    #[expect(
        clippy::cast_precision_loss,
        reason = "there are at most some thousand decisions"
    )]
    pub(super) fn of_concept(&self, concept: Concept) -> f32 {
        let Some(count) = self.counts.get(&concept) else {
            return 0.0;
        };
        let decisions = self.decisions.max(SMALLEST);
        let rarity = |count: f32| (1.0 + (decisions - count + 0.5) / (count + 0.5)).ln();
        RAREST * rarity(*count as f32) / rarity(1.0)
    }

    /// What terms weigh together, at least a little.
    pub(super) fn of_terms(&self, terms: &[Term]) -> f32 {
        let sum: f32 = terms.iter().map(|term| self.of_concept(term.concept)).sum();
        sum.max(0.5)
    }
}

impl Evidence {
    /// Holds a proposal against one decision.
    pub(super) fn of(read: &Read, positions: &Positions, weights: &Weights) -> Evidence {
        let both = |concepts: &HashSet<Concept>| -> f32 {
            let both = concepts.intersection(&positions.concepts);
            both.map(|concept| weights.of_concept(*concept)).sum()
        };
        let total = both(&read.concepts);
        if total == 0.0 {
            return Evidence::default();
        }
        let whole = read.concepts.iter();
        let whole: f32 = whole
            .map(|concept| weights.of_concept(*concept).max(UNKNOWN))
            .sum();
        let title: HashSet<Concept> = positions.title.iter().map(|term| term.concept).collect();
        let title = read.concepts.intersection(&title);
        let mut evidence = Evidence {
            total,
            technical: both(&read.technical),
            cover: total / (whole + 1.0),
            title: title
                .map(|concept| weights.of_concept(*concept).max(UNKNOWN))
                .sum(),
            relations: Relations::of(read, positions, weights),
            ..Evidence::default()
        };
        evidence.compare(read, positions);
        evidence
    }

    /// Compares what is meant.
    fn compare(&mut self, read: &Read, positions: &Positions) {
        let (mut all, mut best) = (Vec::new(), 0.0);
        for (_, of_clause) in &read.clauses {
            for (at, statement) in positions.statements.iter().enumerate() {
                let near = Meaning::nearness(of_clause.as_ref(), statement.meaning.as_ref());
                if statement.kind == Kind::Rule {
                    self.nearest_rule = self.nearest_rule.max(near);
                }
                if near > best {
                    (best, self.nearest) = (near, Some(at));
                }
                all.push(near);
            }
        }
        all.sort_unstable_by(|left, right| right.total_cmp(left));
        self.near = all.iter().take(3).sum::<f32>() / 3.0;
    }
}

/// Whether terms name a concept.
pub(super) fn has(terms: &[Term], concept: Concept) -> bool {
    terms.iter().any(|term| term.concept == concept)
}
