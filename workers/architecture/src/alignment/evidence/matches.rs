//! Matches words of the decisions with words of a proposal: the same concept, or the most similar
//! one.

use super::{ParsedProposal, RAREST_WEIGHT, Weights};
use crate::alignment::lexicon::Word;
use crate::alignment::positions::Positions;
use crate::alignment::words::{ByConcept, Concept};

/// A word of the proposal.
pub(super) struct ProposalWord<'a> {
    pub(super) concept: Concept,
    pub(super) word: &'a Word,
    /// Lower if many decisions name the word.
    pub(super) weight: f32,
}

/// The proposal's words, and the match of each word of the decisions.
pub(in crate::alignment) struct WordMatches<'a> {
    /// Sorted by concept.
    pub(super) words: Vec<ProposalWord<'a>>,
    by_concept: ByConcept<(usize, f32)>,
}

impl<'a> WordMatches<'a> {
    /// Finds the most similar word of the proposal for each word of the decisions.
    pub(in crate::alignment) fn of<'p>(
        parsed: &'a ParsedProposal,
        all: impl Iterator<Item = &'p Positions>,
        weights: &Weights,
    ) -> WordMatches<'a> {
        let mut words: Vec<ProposalWord<'a>> = parsed
            .lexicon
            .words()
            .map(|(concept, word)| ProposalWord {
                concept,
                word,
                weight: word.weight * relative_weight(weights, concept),
            })
            .collect();
        words.sort_unstable_by_key(|word| word.concept);
        let mut by_concept = ByConcept::default();
        for (concept, word) in all.flat_map(|positions| positions.lexicon.words()) {
            by_concept
                .entry(concept)
                .or_insert_with(|| nearest(&words, concept, word));
        }
        WordMatches { words, by_concept }
    }

    /// The index and similarity of the proposal's word that matches a concept.
    pub(super) fn best_match(&self, concept: Concept) -> Option<(usize, f32)> {
        let matched = self.by_concept.get(&concept).copied();
        matched.filter(|(_, similarity)| *similarity > 0.0)
    }

    /// The index of a concept among the proposal's words.
    pub(super) fn position(&self, concept: Concept) -> Option<usize> {
        self.words
            .binary_search_by_key(&concept, |word| word.concept)
            .ok()
    }
}

/// The weight of a concept relative to the rarest. A concept that no decision names weighs as much
/// as the rarest.
fn relative_weight(weights: &Weights, concept: Concept) -> f32 {
    match weights.of_concept(concept) / RAREST_WEIGHT {
        named if named > 0.0 => named,
        _ => 1.0,
    }
}

fn nearest(words: &[ProposalWord<'_>], concept: Concept, word: &Word) -> (usize, f32) {
    let same = words.binary_search_by_key(&concept, |word| word.concept);
    if let Ok(at) = same {
        return (at, 1.0);
    }
    let similarity = words.iter().map(|words| words.word.similarity(word));
    let nearest = similarity
        .enumerate()
        .max_by(|left, right| left.1.total_cmp(&right.1));
    nearest.unwrap_or((0, 0.0))
}
