//! The words of a text with their embeddings, to find similar words in two texts.

use std::sync::LazyLock;

use super::clauses::Clause;
use super::meaning::{self, Meaning};
use super::names::{EVERYDAY, Rivals, TECHNICAL};
use super::words::{ByConcept, Concept};

/// How many dimensions of a word's vector are compared. The first ones carry the most information.
const DIMENSIONS: usize = 64;
/// The embedding length of the rarest words in the embedding table.
const RAREST: f32 = 4.0;
/// The minimum cosine similarity for two words to match.
const IS_NEAR: f32 = 0.45;
/// At most this many words of a text are indexed.
const MAX_WORDS: usize = 2000;

/// A word: its embedding and its general weight.
#[derive(Clone, Debug)]
pub(super) struct Word {
    near: [i16; DIMENSIONS],
    /// From 0.2 to 1: higher for rare words.
    pub(super) weight: f32,
    /// How much closer the word is to technical vocabulary than to everyday vocabulary.
    pub(super) trade: f32,
    rivals: Rivals,
}

/// The embeddings of technical vocabulary and everyday vocabulary.
static ANCHORS: LazyLock<[Option<Meaning>; 2]> =
    LazyLock::new(|| [Meaning::of(&TECHNICAL.join(" ")), Meaning::of(EVERYDAY)]);

/// How much closer a text is to technical vocabulary than to everyday vocabulary.
pub(super) fn trade(meaning: Option<&Meaning>) -> f32 {
    let [trade, everyday] = &*ANCHORS;
    Meaning::nearness(meaning, trade.as_ref()) - Meaning::nearness(meaning, everyday.as_ref())
}

#[derive(Debug, Default)]
pub(super) struct Lexicon {
    words: ByConcept<Word>,
}

impl Lexicon {
    /// Adds the words of clauses that were parsed from `text`.
    pub(super) fn add(&mut self, text: &str, clauses: &[Clause]) {
        let terms = clauses.iter().flat_map(|clause| &clause.terms);
        for term in terms.filter(|term| !term.is_besides) {
            if self.words.len() >= MAX_WORDS {
                break;
            }
            let spelled = text.get(term.start..term.end).unwrap_or_default();
            self.words
                .entry(term.concept)
                .or_insert_with(|| Word::of(spelled, term.rivals));
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
    fn of(spelled: &str, rivals: Rivals) -> Word {
        let mut near = [0; DIMENSIONS];
        let (mut weight, mut trade) = (1.0, 0.0);
        if let Some((vector, length)) = meaning::weighed(spelled) {
            let first = vector.get(..DIMENSIONS).unwrap_or_default();
            let all = first.iter().map(|value| value * value).sum::<f32>().sqrt();
            for (near, value) in near.iter_mut().zip(first) {
                *near = (value / all.max(f32::EPSILON) * 127.0).round() as i16;
            }
            weight = (length / RAREST).clamp(0.2, 1.0);
            trade = self::trade(Some(&Meaning::rounded(&vector)));
        }
        Word {
            near,
            weight,
            trade,
            rivals,
        }
    }

    /// The cosine similarity to another word; 0 if the words don't match.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a product of vectors of length 127 is small"
    )]
    pub(super) fn nearness(&self, other: &Word) -> f32 {
        let both = self.near.iter().zip(&other.near);
        let product: i32 = both
            .map(|(left, right)| i32::from(*left) * i32::from(*right))
            .sum();
        let near = product as f32 / (127.0 * 127.0);
        let is_other = self.rivals.meet(other.rivals);
        if near < IS_NEAR || is_other {
            0.0
        } else {
            near
        }
    }
}
