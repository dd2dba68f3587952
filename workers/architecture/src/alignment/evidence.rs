//! The evidence from comparing a proposal with a decision: how much they share, and what the
//! proposal does with the decision's terms.

mod matches;
mod options;
mod pairs;
mod relations;
mod shared;
mod soft;

use super::clauses::{Clause, Mode, Term, clauses};
use super::lexicon::{self, Lexicon};
use super::meaning::Meaning;
use super::names;
use super::positions::Positions;
use super::words::{ByConcept, Concept, Concepts};
pub(super) use matches::Matches;
pub(super) use relations::Relations;
pub(super) use soft::Soft;

/// At most this many clauses of a proposal are compared.
const MAX_CLAUSES: usize = 120;
/// The minimum weight of a word that no decision names.
const UNKNOWN: f32 = 1.5;

/// Smaller collections are weighted as if they had this many decisions: in a small one, each word
/// occurs in most decisions.
const SMALLEST: f32 = 24.0;
/// The weight of a word that exactly one decision names.
const RAREST: f32 = 2.81;

/// An analysed proposal.
pub(super) struct Read {
    /// The clauses of the description, with their embeddings.
    pub(super) clauses: Vec<(Clause, Option<Meaning>)>,
    /// All concepts in the description.
    pub(super) concepts: Concepts,
    /// Technical concepts in the description and the context.
    technical: Concepts,
    /// The embedding of the whole description.
    pub(super) meaning: Option<Meaning>,
    /// How often each kind of [`names::cues`] occurs.
    pub(super) cues: [f32; names::KINDS],
    /// The words of the description.
    lexicon: Lexicon,
}

/// The weight of each concept: the fewer decisions name it, the higher.
pub(super) struct Weights(ByConcept<f32>);

/// The evidence from comparing a proposal with one decision.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Weight of the concepts that both name: all, the technical ones only, and as a share of the
    /// proposal's concepts.
    pub(super) total: f32,
    pub(super) technical: f32,
    pub(super) cover: f32,
    /// Weight of the title's concepts that the proposal names.
    pub(super) title: f32,
    /// The same with similar words matched by embedding.
    pub(super) soft: Soft,
    /// What the proposal does with the decision's terms.
    pub(super) relations: Relations,
}

impl Read {
    /// Analyses a proposal's description and context.
    pub(super) fn of(description: &str, context: Option<&str>) -> Read {
        let said = clauses(description).into_iter().take(MAX_CLAUSES);
        let with = |clause: Clause| {
            let words = description.get(clause.sentence.clone()).unwrap_or_default();
            (clause, Meaning::of(words))
        };
        let clauses: Vec<_> = said.map(with).collect();
        let around = context.map(self::clauses).unwrap_or_default();
        let mut lexicon = Lexicon::default();
        for (clause, _) in &clauses {
            lexicon.add(description, std::slice::from_ref(clause));
        }
        let terms = || clauses.iter().flat_map(|(clause, _)| &clause.terms);
        let is_technical = |term: &&Term| term.is_technical && !term.is_besides;
        // The context states the problem, so only its technical terms count.
        let around = around.iter().flat_map(|clause| &clause.terms);
        Read {
            concepts: terms().map(|term| term.concept).collect(),
            technical: terms()
                .chain(around)
                .filter(is_technical)
                .map(|term| term.concept)
                .collect(),
            lexicon,
            meaning: Meaning::of(description),
            cues: cues(description),
            clauses,
        }
    }

    /// The share of clauses that ask.
    #[expect(clippy::cast_precision_loss, reason = "there are at most 120 clauses")]
    pub(super) fn asks(&self) -> f32 {
        let asking = self.clauses.iter();
        let asking = asking.filter(|(clause, _)| clause.mode == Mode::Asks);
        asking.count() as f32 / self.clauses.len().max(1) as f32
    }

    /// How much closer the proposal is to technical vocabulary than to everyday vocabulary.
    pub(super) fn trade(&self) -> f32 {
        lexicon::trade(self.meaning.as_ref())
    }
}

/// At most this many cues of a kind count.
const MOST_CUES: f32 = 3.0;

/// How often each kind of cue occurs in a text.
fn cues(text: &str) -> [f32; names::KINDS] {
    let lower = text.to_lowercase().replace('’', "'");
    let is_word = |c: char| c.is_alphanumeric() || c == '\'';
    let words: Vec<&str> = lower
        .split(|c| !is_word(c))
        .filter(|word| !word.is_empty())
        .collect();
    let mut counts = [0.0; names::KINDS];
    let phrases = (1..=names::LONGEST_CUE).flat_map(|length| words.windows(length));
    for phrase in phrases {
        let kinds = names::cues(&phrase.join(" "));
        for (kind, count) in counts.iter_mut().enumerate() {
            if kinds & (1 << kind) != 0 && *count < MOST_CUES {
                *count += 1.0;
            }
        }
    }
    counts
}

impl Weights {
    /// Counts the concepts of all decisions. A concept that a single decision names has the same
    /// weight in each collection, so that thresholds mean the same for all collections.
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a Positions>) -> Weights {
        let mut counts: ByConcept<f32> = ByConcept::default();
        let mut decisions = 0.0;
        for positions in all {
            decisions += 1.0;
            for concept in &positions.named {
                *counts.entry(*concept).or_insert(0.0) += 1.0;
            }
        }
        let decisions = f32::max(decisions, SMALLEST);
        let rarity = |count: f32| (1.0 + (decisions - count + 0.5) / (count + 0.5)).ln();
        let once = rarity(1.0);
        for count in counts.values_mut() {
            *count = RAREST * rarity(*count) / once;
        }
        Weights(counts)
    }

    /// The weight of a concept; 0 if no decision names it.
    pub(super) fn of_concept(&self, concept: Concept) -> f32 {
        self.0.get(&concept).copied().unwrap_or(0.0)
    }

    /// The total weight of terms, at least 0.5.
    pub(super) fn of_terms(&self, terms: &[Term]) -> f32 {
        let sum: f32 = terms.iter().map(|term| self.of_concept(term.concept)).sum();
        sum.max(0.5)
    }
}

impl Evidence {
    /// Compares a proposal with one decision.
    pub(super) fn of(
        read: &Read,
        positions: &Positions,
        matches: &Matches<'_>,
        weights: &Weights,
    ) -> Evidence {
        let both = |concepts: &Concepts| -> f32 {
            let both = concepts.intersection(&positions.concepts);
            both.map(|concept| weights.of_concept(*concept)).sum()
        };
        let total = both(&read.concepts);
        let whole = read.concepts.iter();
        let whole: f32 = whole
            .map(|concept| weights.of_concept(*concept).max(UNKNOWN))
            .sum();
        let title: Concepts = positions.title.iter().map(|term| term.concept).collect();
        let title = read.concepts.intersection(&title);
        Evidence {
            total,
            technical: both(&read.technical),
            cover: total / (whole + 1.0),
            title: title
                .map(|concept| weights.of_concept(*concept).max(UNKNOWN))
                .sum(),
            soft: Soft::of(read, positions, matches, weights),
            relations: Relations::of(read, positions, weights),
        }
    }
}

pub(super) fn has(terms: &[Term], concept: Concept) -> bool {
    terms.iter().any(|term| term.concept == concept)
}
