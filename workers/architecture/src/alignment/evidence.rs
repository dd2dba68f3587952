//! The evidence from comparing a proposal with a decision: how much they share, and what the
//! proposal does with the decision's terms.

mod matches;
mod rejected_options;
mod pairs;
mod relations;
mod overlap;
mod semantic;

use super::clauses::{Clause, Mode, Term, clauses};
use super::embedding::Embedding;
use super::lexicon::{self, Lexicon};
use super::names;
use super::positions::Positions;
use super::words::{ByConcept, Concept, Concepts};
pub(super) use matches::WordMatches;
pub(super) use relations::Relations;
pub(super) use semantic::SemanticEvidence;

/// At most this many clauses of a proposal are compared.
const MAX_CLAUSES: usize = 120;
/// The minimum weight of a word that no decision names.
const UNKNOWN_WEIGHT: f32 = 1.5;

/// Smaller collections are weighted as if they had this many decisions: in a small one, each word
/// occurs in most decisions.
const MIN_COLLECTION: f32 = 24.0;
/// The weight of a word that exactly one decision names.
const RAREST_WEIGHT: f32 = 2.81;

/// An analysed proposal.
pub(super) struct ParsedProposal {
    /// The clauses of the description, with their embeddings.
    pub(super) clauses: Vec<(Clause, Option<Embedding>)>,
    /// All concepts in the description.
    pub(super) concepts: Concepts,
    /// Technical concepts in the description and the context.
    technical: Concepts,
    /// The embedding of the whole description.
    pub(super) embedding: Option<Embedding>,
    /// How often each kind of [`names::cues`] occurs.
    pub(super) cues: [f32; names::CUE_KINDS],
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
    pub(super) coverage: f32,
    /// Weight of the title's concepts that the proposal names.
    pub(super) title: f32,
    /// The same with similar words matched by embedding.
    pub(super) semantic: SemanticEvidence,
    /// How the proposal treats the decision's terms.
    pub(super) relations: Relations,
}

impl ParsedProposal {
    /// Analyses a proposal's description and context.
    pub(super) fn of(description: &str, context: Option<&str>) -> ParsedProposal {
        let clauses_of_description = clauses(description).into_iter().take(MAX_CLAUSES);
        let with = |clause: Clause| {
            let words = description.get(clause.sentence.clone()).unwrap_or_default();
            (clause, Embedding::of(words))
        };
        let clauses: Vec<_> = clauses_of_description.map(with).collect();
        let context_clauses = context.map(self::clauses).unwrap_or_default();
        let mut lexicon = Lexicon::default();
        for (clause, _) in &clauses {
            lexicon.add(description, std::slice::from_ref(clause));
        }
        let terms = || clauses.iter().flat_map(|(clause, _)| &clause.terms);
        let is_technical = |term: &&Term| term.is_technical && !term.is_implied;
        // The context states the problem, so only its technical terms count.
        let context_clauses = context_clauses.iter().flat_map(|clause| &clause.terms);
        ParsedProposal {
            concepts: terms().map(|term| term.concept).collect(),
            technical: terms()
                .chain(context_clauses)
                .filter(is_technical)
                .map(|term| term.concept)
                .collect(),
            lexicon,
            embedding: Embedding::of(description),
            cues: cues(description),
            clauses,
        }
    }

    /// The share of clauses that ask.
    #[expect(clippy::cast_precision_loss, reason = "there are at most 120 clauses")]
    pub(super) fn share_asking(&self) -> f32 {
        let asking = self.clauses.iter();
        let asking = asking.filter(|(clause, _)| clause.mode == Mode::Asks);
        asking.count() as f32 / self.clauses.len().max(1) as f32
    }

    /// How much closer the proposal is to technical vocabulary than to everyday vocabulary.
    pub(super) fn technicality(&self) -> f32 {
        lexicon::technicality(self.embedding.as_ref())
    }
}

/// At most this many cues of a kind count.
const MAX_CUES: f32 = 3.0;

/// How often each kind of cue occurs in a text.
fn cues(text: &str) -> [f32; names::CUE_KINDS] {
    let lower = text.to_lowercase().replace('’', "'");
    let is_word = |c: char| c.is_alphanumeric() || c == '\'';
    let words: Vec<&str> = lower
        .split(|c| !is_word(c))
        .filter(|word| !word.is_empty())
        .collect();
    let mut counts = [0.0; names::CUE_KINDS];
    let phrases = (1..=names::MAX_CUE_WORDS).flat_map(|length| words.windows(length));
    for phrase in phrases {
        let kinds = names::cues(&phrase.join(" "));
        for (kind, count) in counts.iter_mut().enumerate() {
            if kinds & (1 << kind) != 0 && *count < MAX_CUES {
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
        let decisions = f32::max(decisions, MIN_COLLECTION);
        let rarity = |count: f32| (1.0 + (decisions - count + 0.5) / (count + 0.5)).ln();
        let once = rarity(1.0);
        for count in counts.values_mut() {
            *count = RAREST_WEIGHT * rarity(*count) / once;
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
        parsed: &ParsedProposal,
        positions: &Positions,
        matches: &WordMatches<'_>,
        weights: &Weights,
    ) -> Evidence {
        let both = |concepts: &Concepts| -> f32 {
            let both = concepts.intersection(&positions.concepts);
            both.map(|concept| weights.of_concept(*concept)).sum()
        };
        let total = both(&parsed.concepts);
        let all_concepts = parsed.concepts.iter();
        let all_concepts: f32 = all_concepts
            .map(|concept| weights.of_concept(*concept).max(UNKNOWN_WEIGHT))
            .sum();
        let title: Concepts = positions.title.iter().map(|term| term.concept).collect();
        let title = parsed.concepts.intersection(&title);
        Evidence {
            total,
            technical: both(&parsed.technical),
            coverage: total / (all_concepts + 1.0),
            title: title
                .map(|concept| weights.of_concept(*concept).max(UNKNOWN_WEIGHT))
                .sum(),
            semantic: SemanticEvidence::of(parsed, positions, matches, weights),
            relations: Relations::of(parsed, positions, weights),
        }
    }
}

pub(super) fn has(terms: &[Term], concept: Concept) -> bool {
    terms.iter().any(|term| term.concept == concept)
}
