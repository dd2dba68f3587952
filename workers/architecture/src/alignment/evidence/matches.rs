//! Matches words of the decisions with words of a proposal: the same concept, or the most similar
//! one.

use super::{RAREST, Read, Weights};
use crate::alignment::lexicon::Word;
use crate::alignment::positions::Positions;
use crate::alignment::words::{ByConcept, Concept};

/// A word of the proposal.
pub(super) struct Asked<'a> {
    pub(super) concept: Concept,
    pub(super) word: &'a Word,
    /// Lower if many decisions name the word.
    pub(super) weight: f32,
}

/// The proposal's words, and the match of each word of the decisions.
pub(in crate::alignment) struct Matches<'a> {
    /// Sorted by concept.
    pub(super) asked: Vec<Asked<'a>>,
    of: ByConcept<(usize, f32)>,
}

impl<'a> Matches<'a> {
    /// Finds the most similar word of the proposal for each word of the decisions.
    pub(in crate::alignment) fn of<'p>(
        read: &'a Read,
        all: impl Iterator<Item = &'p Positions>,
        weights: &Weights,
    ) -> Matches<'a> {
        let mut asked: Vec<Asked<'a>> = read
            .lexicon
            .words()
            .map(|(concept, word)| Asked {
                concept,
                word,
                weight: word.weight * share(weights, concept),
            })
            .collect();
        asked.sort_unstable_by_key(|asked| asked.concept);
        let mut of = ByConcept::default();
        for (concept, word) in all.flat_map(|positions| positions.lexicon.words()) {
            of.entry(concept)
                .or_insert_with(|| nearest(&asked, concept, word));
        }
        Matches { asked, of }
    }

    /// The index and similarity of the proposal's word that matches a concept.
    pub(super) fn matched(&self, concept: Concept) -> Option<(usize, f32)> {
        let found = self.of.get(&concept).copied();
        found.filter(|(_, near)| *near > 0.0)
    }

    /// The index of a concept among the proposal's words.
    pub(super) fn place(&self, concept: Concept) -> Option<usize> {
        self.asked
            .binary_search_by_key(&concept, |asked| asked.concept)
            .ok()
    }
}

/// The weight of a concept relative to the rarest. A concept that no decision names weighs as much
/// as the rarest.
fn share(weights: &Weights, concept: Concept) -> f32 {
    match weights.of_concept(concept) / RAREST {
        named if named > 0.0 => named,
        _ => 1.0,
    }
}

fn nearest(asked: &[Asked<'_>], concept: Concept, word: &Word) -> (usize, f32) {
    let same = asked.binary_search_by_key(&concept, |asked| asked.concept);
    if let Ok(at) = same {
        return (at, 1.0);
    }
    let near = asked.iter().map(|asked| asked.word.nearness(word));
    let nearest = near
        .enumerate()
        .max_by(|left, right| left.1.total_cmp(&right.1));
    nearest.unwrap_or((0, 0.0))
}
