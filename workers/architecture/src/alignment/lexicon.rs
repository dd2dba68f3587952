//! The words of a text with their embeddings, to find similar words in two texts.

use std::sync::LazyLock;

use super::clauses::Clause;
use super::embedding::{self, Embedding};
use super::names::{Alternatives, EVERYDAY, TECHNICAL};
use super::words::{ByConcept, Concept};

/// How many dimensions of a word's vector are compared. The first ones carry the most information.
const DIMENSIONS: usize = 64;
/// The embedding length of the rarest words in the embedding table.
const MAX_LENGTH: f32 = 4.0;
/// The minimum cosine similarity for two words to match.
const MIN_SIMILARITY: f32 = 0.45;
/// At most this many words of a text are indexed.
const MAX_WORDS: usize = 2000;

/// A word: its embedding and its general weight.
#[derive(Clone, Debug)]
pub(super) struct Word {
    vector: [i16; DIMENSIONS],
    /// From 0.2 to 1: higher for rare words.
    pub(super) weight: f32,
    /// How much closer the word is to technical vocabulary than to everyday vocabulary.
    pub(super) technicality: f32,
    alternatives: Alternatives,
}

/// The embeddings of technical vocabulary and everyday vocabulary.
static ANCHORS: LazyLock<[Option<Embedding>; 2]> =
    LazyLock::new(|| [Embedding::of(&TECHNICAL.join(" ")), Embedding::of(EVERYDAY)]);

/// How much closer a text is to technical vocabulary than to everyday vocabulary.
pub(super) fn technicality(embedding: Option<&Embedding>) -> f32 {
    let [technicality, everyday] = &*ANCHORS;
    Embedding::similarity(embedding, technicality.as_ref())
        - Embedding::similarity(embedding, everyday.as_ref())
}

#[derive(Debug, Default)]
pub(super) struct Lexicon {
    words: ByConcept<Word>,
}

impl Lexicon {
    /// Adds the words of clauses that were parsed from `text`.
    pub(super) fn add(&mut self, text: &str, clauses: &[Clause]) {
        let terms = clauses.iter().flat_map(|clause| &clause.terms);
        for term in terms.filter(|term| !term.is_implied) {
            if self.words.len() >= MAX_WORDS {
                break;
            }
            let spelling = text.get(term.start..term.end).unwrap_or_default();
            self.words
                .entry(term.concept)
                .or_insert_with(|| Word::of(spelling, term.alternatives));
        }
    }

    /// The words, in no particular order.
    pub(super) fn words(&self) -> impl Iterator<Item = (Concept, &Word)> {
        self.words.iter().map(|(concept, word)| (*concept, word))
    }

    pub(super) fn word(&self, concept: Concept) -> Option<&Word> {
        self.words.get(&concept)
    }
}

impl Word {
    /// Embeds a word. A word that the table can't spell is similar to none, and counts as rare.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a number of a vector of length 1 times 127 fits a byte"
    )]
    fn of(spelling: &str, alternatives: Alternatives) -> Word {
        let mut rounded = [0; DIMENSIONS];
        let (mut weight, mut technicality) = (1.0, 0.0);
        if let Some((vector, length)) = embedding::weighted(spelling) {
            let first = vector.get(..DIMENSIONS).unwrap_or_default();
            let norm = first.iter().map(|value| value * value).sum::<f32>().sqrt();
            for (rounded, value) in rounded.iter_mut().zip(first) {
                *rounded = (value / norm.max(f32::EPSILON) * 127.0).round() as i16;
            }
            weight = (length / MAX_LENGTH).clamp(0.2, 1.0);
            technicality = self::technicality(Some(&Embedding::rounded(&vector)));
        }
        Word {
            vector: rounded,
            weight,
            technicality,
            alternatives,
        }
    }

    /// The cosine similarity to another word; 0 if the words don't match.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a product of vectors of length 127 is small"
    )]
    pub(super) fn similarity(&self, other: &Word) -> f32 {
        let both = self.vector.iter().zip(&other.vector);
        let product: i32 = both
            .map(|(left, right)| i32::from(*left) * i32::from(*right))
            .sum();
        let vector = product as f32 / (127.0 * 127.0);
        let are_alternatives = self.alternatives.overlaps(other.alternatives);
        if vector < MIN_SIMILARITY || are_alternatives {
            0.0
        } else {
            vector
        }
    }
}
