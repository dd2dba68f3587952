//! The overlap of a proposal and a decision when similar words count as matches, and what the
//! proposal does with terms on which the decision takes a stance.

use super::matches::Matches;
use super::pairs::{Held, Match, Said};
use super::relations::Most;
use super::{RAREST, Read, Weights};
use crate::alignment::clauses::{Mode, Role, Term};
use crate::alignment::meaning::Meaning;
use crate::alignment::positions::{Kind, Positions};
use crate::alignment::words::Concept;

/// The minimum coverage of both clause and statement for their numbers to measure the same thing.
const BROKEN: f32 = 0.6;
/// The minimum coverage of a clause by a statement that it repeats.
const AGAIN: f32 = 0.9;
/// At most this many products of a kind count.
const MOST_THINGS: f32 = 2.0;

/// The overlap of a proposal and a decision, with similar words matched.
#[derive(Debug, Default)]
pub(in crate::alignment) struct Soft {
    /// Weight of common words: all, technical ones only, and as a share of the proposal's words.
    pub(in crate::alignment) total: f32,
    pub(in crate::alignment) trade: f32,
    pub(in crate::alignment) cover: f32,
    /// Similarity of the whole proposal and the whole decision.
    pub(in crate::alignment) whole: f32,
    /// The clause and rule with the highest score.
    pub(in crate::alignment) rule: Match,
    /// The highest score of a clause with a statement about rejected options, and with the context.
    pub(in crate::alignment) refused: f32,
    pub(in crate::alignment) around: f32,
    /// The highest score for contradicting a statement.
    pub(in crate::alignment) against: Most,
    /// A statement that a clause repeats, and one whose number a clause violates.
    pub(in crate::alignment) said_again: Option<usize>,
    pub(in crate::alignment) broken: Option<usize>,
    /// The highest score of a clause with a rule whose product it replaces by an alternative.
    pub(in crate::alignment) instead: Most,
    /// The number of products that the proposal adopts although the decision drops them, drops
    /// although it adopts them, drops as it does, and adopts without a mention in the decision.
    pub(in crate::alignment) takes_dropped: f32,
    pub(in crate::alignment) drops_taken: f32,
    pub(in crate::alignment) drops_dropped: f32,
    pub(in crate::alignment) takes_unknown: f32,
    /// The share of the proposal's words that it adopts as the decision does, adopts although the
    /// decision drops them, and drops although the decision adopts them.
    pub(in crate::alignment) part_taken: f32,
    pub(in crate::alignment) part_against: f32,
    pub(in crate::alignment) part_dropped: f32,
}

impl Soft {
    pub(super) fn of(
        read: &Read,
        positions: &Positions,
        matches: &Matches<'_>,
        weights: &Weights,
    ) -> Soft {
        let mut soft = Soft {
            whole: Meaning::nearness(read.meaning.as_ref(), positions.meaning.as_ref()),
            ..Soft::default()
        };
        soft.share(positions, matches, weights);
        soft.pairs(read, positions, matches, weights);
        soft.sides(read, positions, weights);
        soft
    }

    /// The highest score of any statement.
    pub(in crate::alignment) fn nearest(&self) -> f32 {
        self.decided().max(self.around)
    }

    /// The highest score of a rule or of a statement about rejected options.
    pub(in crate::alignment) fn decided(&self) -> f32 {
        self.rule.value.max(self.refused)
    }

    /// Measures which of the proposal's words the decision names.
    fn share(&mut self, positions: &Positions, matches: &Matches<'_>, weights: &Weights) {
        let mut best = vec![0.0_f32; matches.asked.len()];
        for (concept, _) in positions.lexicon.words() {
            let Some((at, near)) = matches.matched(concept) else {
                continue;
            };
            if let Some(best) = best.get_mut(at) {
                let rarity = (weights.of_concept(concept) / RAREST).sqrt();
                *best = best.max(near * rarity);
            }
        }
        let mut whole = 0.5;
        for (near, asked) in best.iter().zip(&matches.asked) {
            let shared = near * asked.word.weight;
            whole += asked.word.weight;
            self.total += shared;
            self.trade += shared * (asked.word.trade + 0.1).max(0.0);
        }
        self.cover = self.total / whole;
    }

    /// Compares each clause with each statement.
    fn pairs(
        &mut self,
        read: &Read,
        positions: &Positions,
        matches: &Matches<'_>,
        weights: &Weights,
    ) {
        let clauses = read.clauses.iter();
        let clauses = clauses.filter(|(clause, _)| clause.mode != Mode::Tells);
        let said = clauses.map(|(clause, meaning)| Said::of(clause, meaning.as_ref(), matches));
        let said: Vec<Said<'_>> = said.collect();
        for (at, statement) in positions.statements.iter().enumerate() {
            let held = held(&statement.clause.terms, positions, matches, weights);
            for said in &said {
                let found = said.hold(&held, statement.meaning.as_ref(), matches);
                let broken = said.clause.breaks(&statement.clause);
                self.plain(&found, broken, statement.kind, at);
                self.raise(found, statement.kind, at);
            }
        }
    }

    /// Records matches so clear that no weighing is needed.
    fn plain(&mut self, found: &Match, breaks: Option<bool>, kind: Kind, at: usize) {
        let is_rule = matches!(kind, Kind::Rule | Kind::Follows);
        let is_alike = found.alike > 4.0 * found.contrary && found.count > 1;
        if !is_rule || !is_alike {
            return;
        }
        if breaks == Some(true) && found.of_clause.min(found.of_statement) >= BROKEN {
            self.broken = self.broken.or(Some(at));
        }
        if breaks != Some(true) && found.of_clause >= AGAIN && !found.instead {
            self.said_again = self.said_again.or(Some(at));
        }
    }

    /// Updates the maxima with a pair's score.
    fn raise(&mut self, found: Match, kind: Kind, at: usize) {
        let is_ruling = matches!(kind, Kind::Rule | Kind::Follows | Kind::Refused);
        let against = found.value * found.contrary / (found.alike + found.contrary + 0.2);
        if is_ruling && against > self.against.0 {
            self.against = (against, Some(at));
        }
        if is_ruling && found.instead && found.value > self.instead.0 {
            self.instead = (found.value, Some(at));
        }
        match kind {
            Kind::Rule | Kind::Follows if found.value > self.rule.value => {
                self.rule = Match {
                    at: Some(at),
                    ..found
                };
            }
            Kind::Rule | Kind::Follows => {}
            Kind::Refused | Kind::Weighed => self.refused = self.refused.max(found.value),
            Kind::Context | Kind::Outside => self.around = self.around.max(found.value),
        }
    }

    /// Measures what the proposal does with terms on which the decision takes a stance.
    fn sides(&mut self, read: &Read, positions: &Positions, weights: &Weights) {
        let mut whole = 0.5;
        let says = read.clauses.iter();
        let says = says.filter(|(clause, _)| clause.mode == Mode::Says);
        let terms = says.flat_map(|(clause, _)| &clause.terms);
        for term in terms.filter(|term| !term.is_besides) {
            let weight = weight(positions, weights, term.concept);
            whole += weight.max(0.5);
            let thing = f32::from(u8::from(term.is_name || !term.rivals.is_empty()));
            let stance = positions.stances.get(&term.concept).copied().unwrap_or(0);
            let is_unknown = !positions.named.contains(&term.concept);
            match (term.role, stance.signum()) {
                (Role::Takes, 1) => self.part_taken += weight,
                (Role::Takes, -1) => {
                    self.part_against += weight;
                    self.takes_dropped += thing;
                }
                (Role::Drops, 1) => {
                    self.part_dropped += weight;
                    self.drops_taken += thing;
                }
                (Role::Drops, -1) => self.drops_dropped += thing,
                (Role::Takes, _) if is_unknown => self.takes_unknown += thing,
                _ => {}
            }
        }
        for part in [
            &mut self.part_taken,
            &mut self.part_against,
            &mut self.part_dropped,
        ] {
            *part /= whole;
        }
        for things in [
            &mut self.takes_dropped,
            &mut self.drops_taken,
            &mut self.drops_dropped,
            &mut self.takes_unknown,
        ] {
            *things = things.min(MOST_THINGS);
        }
    }
}

/// The weight of a decision's word: lower if many decisions name it.
fn weight(positions: &Positions, weights: &Weights, concept: Concept) -> f32 {
    let word = positions.lexicon.word(concept);
    word.map_or(0.5, |word| word.weight) * weights.of_concept(concept) / RAREST
}

/// A statement's words, each with its match in the proposal.
fn held<'a>(
    terms: &'a [Term],
    positions: &Positions,
    matches: &Matches<'_>,
    weights: &Weights,
) -> Vec<Held<'a>> {
    let own = terms.iter().filter(|term| !term.is_besides);
    let held = own.map(|term| Held {
        term,
        weight: weight(positions, weights, term.concept),
        matched: matches.matched(term.concept),
    });
    held.collect()
}
