//! The words of a text, by what they mean: which of two texts' words are near to each other.

use std::sync::LazyLock;

use super::clauses::Clause;
use super::meaning::{self, Meaning};
use super::names::{EVERYDAY, Rivals, TECHNICAL};
use super::words::{ByConcept, Concept};

/// How many numbers of a word's vector are compared. The first ones tell most.
const DIMENSIONS: usize = 64;
/// What the rarest words weigh in the table of meanings.
const RAREST: f32 = 4.0;
/// How near two words are, from where on one is taken for the other.
const IS_NEAR: f32 = 0.45;
/// How many words of one text are known.
const MAX_WORDS: usize = 2000;

/// A word: what it means, and how much it tells wherever it stands.
#[derive(Clone, Debug)]
pub(super) struct Word {
    near: [i16; DIMENSIONS],
    /// From 0 to 1: rare words tell more.
    pub(super) weight: f32,
    /// How much nearer it is to words of the trade than to those of every day.
    pub(super) trade: f32,
    rivals: Rivals,
}

/// What words of the trade mean together, and those of every day.
static ANCHORS: LazyLock<[Option<Meaning>; 2]> =
    LazyLock::new(|| [Meaning::of(&TECHNICAL.join(" ")), Meaning::of(EVERYDAY)]);

/// How much nearer a text is to the trade than to every day.
pub(super) fn trade(meaning: Option<&Meaning>) -> f32 {
    let [trade, everyday] = &*ANCHORS;
    Meaning::nearness(meaning, trade.as_ref()) - Meaning::nearness(meaning, everyday.as_ref())
}

/// The words of a text.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    words: ByConcept<Word>,
}

impl Lexicon {
    /// Adds the words of clauses that were read from a text.
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

    /// Its words, in no order.
    pub(super) fn words(&self) -> impl Iterator<Item = (Concept, &Word)> {
        self.words.iter().map(|(concept, word)| (*concept, word))
    }

    /// The word of a concept.
    pub(super) fn word(&self, concept: Concept) -> Option<&Word> {
        self.words.get(&concept)
    }
}

impl Word {
    /// What a word means. One that can't be spelled is near to nothing, and rare.
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

    /// How near another word is: 0 where the one can't stand for the other.
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
