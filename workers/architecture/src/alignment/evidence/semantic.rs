//! The overlap of a proposal and a decision when similar words count as matches, and what the
//! proposal does with terms on which the decision takes a stance.

use super::matches::WordMatches;
use super::pairs::{ClauseMatch, ClauseWords, StatementWord};
use super::relations::TopScore;
use super::{ParsedProposal, RAREST_WEIGHT, Weights};
use crate::alignment::clauses::{Mode, Role, Term};
use crate::alignment::embedding::Embedding;
use crate::alignment::positions::{Positions, StatementKind};
use crate::alignment::words::Concept;

/// The minimum coverage of both clause and statement for their numbers to measure the same thing.
const MIN_SAME_MEASURE: f32 = 0.6;
/// The minimum coverage of a clause by a statement that it repeats.
const MIN_REPEATED: f32 = 0.9;
/// At most this many products of a kind count.
const MAX_PRODUCTS: f32 = 2.0;

/// The overlap of a proposal and a decision, with similar words matched.
#[derive(Debug, Default)]
pub(in crate::alignment) struct SemanticEvidence {
    /// Weight of common words: all, technical ones only, and as a share of the proposal's words.
    pub(in crate::alignment) total: f32,
    pub(in crate::alignment) technical: f32,
    pub(in crate::alignment) coverage: f32,
    /// Similarity of the whole proposal and the whole decision.
    pub(in crate::alignment) similarity: f32,
    /// The clause and rule with the highest score.
    pub(in crate::alignment) best_rule: ClauseMatch,
    /// The highest score of a clause with a statement about rejected options, and with the context.
    pub(in crate::alignment) rejected: f32,
    pub(in crate::alignment) context: f32,
    /// The highest score for contradicting a statement.
    pub(in crate::alignment) contradiction: TopScore,
    /// A statement that a clause repeats, and one whose number a clause violates.
    pub(in crate::alignment) repeated_rule: Option<usize>,
    pub(in crate::alignment) violated_rule: Option<usize>,
    /// The highest score of a clause with a rule whose product it replaces by an alternative.
    pub(in crate::alignment) replacement: TopScore,
    /// The number of products that the proposal adopts although the decision drops them, drops
    /// although it adopts them, drops as it does, and adopts without a mention in the decision.
    pub(in crate::alignment) adopts_dropped: f32,
    pub(in crate::alignment) drops_adopted: f32,
    pub(in crate::alignment) drops_dropped: f32,
    pub(in crate::alignment) adopts_unknown: f32,
    /// The share of the proposal's words that it adopts as the decision does, adopts although the
    /// decision drops them, and drops although the decision adopts them.
    pub(in crate::alignment) share_adopted: f32,
    pub(in crate::alignment) share_adopted_dropped: f32,
    pub(in crate::alignment) share_dropped_adopted: f32,
}

impl SemanticEvidence {
    pub(super) fn of(
        parsed: &ParsedProposal,
        positions: &Positions,
        matches: &WordMatches<'_>,
        weights: &Weights,
    ) -> SemanticEvidence {
        let mut semantic = SemanticEvidence {
            similarity: Embedding::similarity(
                parsed.embedding.as_ref(),
                positions.embedding.as_ref(),
            ),
            ..SemanticEvidence::default()
        };
        semantic.overlap(positions, matches, weights);
        semantic.compare_clauses(parsed, positions, matches, weights);
        semantic.stances(parsed, positions, weights);
        semantic
    }

    /// The highest score of any statement.
    pub(in crate::alignment) fn nearest(&self) -> f32 {
        self.decided().max(self.context)
    }

    /// The highest score of a rule or of a statement about rejected options.
    pub(in crate::alignment) fn decided(&self) -> f32 {
        self.best_rule.score.max(self.rejected)
    }

    /// Measures which of the proposal's words the decision names.
    fn overlap(&mut self, positions: &Positions, matches: &WordMatches<'_>, weights: &Weights) {
        let mut best = vec![0.0_f32; matches.words.len()];
        for (concept, _) in positions.lexicon.words() {
            let Some((at, similarity)) = matches.best_match(concept) else {
                continue;
            };
            if let Some(best) = best.get_mut(at) {
                let rarity = (weights.of_concept(concept) / RAREST_WEIGHT).sqrt();
                *best = best.max(similarity * rarity);
            }
        }
        let mut total_weight = 0.5;
        for (similarity, word) in best.iter().zip(&matches.words) {
            let shared = similarity * word.word.weight;
            total_weight += word.word.weight;
            self.total += shared;
            self.technical += shared * (word.word.technicality + 0.1).max(0.0);
        }
        self.coverage = self.total / total_weight;
    }

    /// Compares each clause with each statement.
    fn compare_clauses(
        &mut self,
        parsed: &ParsedProposal,
        positions: &Positions,
        matches: &WordMatches<'_>,
        weights: &Weights,
    ) {
        let clauses = parsed.clauses.iter();
        let clauses = clauses.filter(|(clause, _)| clause.mode != Mode::Reports);
        let clauses =
            clauses.map(|(clause, embedding)| ClauseWords::of(clause, embedding.as_ref(), matches));
        let clauses: Vec<ClauseWords<'_>> = clauses.collect();
        for (at, statement) in positions.statements.iter().enumerate() {
            let statement_words =
                statement_words(&statement.clause.terms, positions, matches, weights);
            for words in &clauses {
                let matched =
                    words.compare(&statement_words, statement.embedding.as_ref(), matches);
                let is_violated = words.clause.violates(&statement.clause);
                self.record_explicit(&matched, is_violated, statement.kind, at);
                self.record_maximum(matched, statement.kind, at);
            }
        }
    }

    /// Records matches so clear that no weighing is needed.
    fn record_explicit(
        &mut self,
        matched: &ClauseMatch,
        is_violated: Option<bool>,
        kind: StatementKind,
        statement: usize,
    ) {
        let is_rule = matches!(kind, StatementKind::Rule | StatementKind::Consequence);
        let is_similar = matched.agreement > 4.0 * matched.contradiction && matched.count > 1;
        if !is_rule || !is_similar {
            return;
        }
        if is_violated == Some(true)
            && matched.clause_coverage.min(matched.statement_coverage) >= MIN_SAME_MEASURE
        {
            self.violated_rule = self.violated_rule.or(Some(statement));
        }
        if is_violated != Some(true)
            && matched.clause_coverage >= MIN_REPEATED
            && !matched.replacement
        {
            self.repeated_rule = self.repeated_rule.or(Some(statement));
        }
    }

    /// Updates the maxima with a pair's score.
    fn record_maximum(&mut self, matched: ClauseMatch, kind: StatementKind, statement: usize) {
        let is_ruling = matches!(
            kind,
            StatementKind::Rule | StatementKind::Consequence | StatementKind::Rejected
        );
        let contradiction = matched.score * matched.contradiction
            / (matched.agreement + matched.contradiction + 0.2);
        if is_ruling && contradiction > self.contradiction.0 {
            self.contradiction = (contradiction, Some(statement));
        }
        if is_ruling && matched.replacement && matched.score > self.replacement.0 {
            self.replacement = (matched.score, Some(statement));
        }
        match kind {
            StatementKind::Rule | StatementKind::Consequence
                if matched.score > self.best_rule.score =>
            {
                self.best_rule = ClauseMatch {
                    statement: Some(statement),
                    ..matched
                };
            }
            StatementKind::Rule | StatementKind::Consequence => {}
            StatementKind::Rejected | StatementKind::Argument => {
                self.rejected = self.rejected.max(matched.score);
            }
            StatementKind::Context | StatementKind::OutOfScope => {
                self.context = self.context.max(matched.score);
            }
        }
    }

    /// Measures what the proposal does with terms on which the decision takes a stance.
    fn stances(&mut self, parsed: &ParsedProposal, positions: &Positions, weights: &Weights) {
        let mut total_weight = 0.5;
        let asserting = parsed.clauses.iter();
        let asserting = asserting.filter(|(clause, _)| clause.mode == Mode::Asserts);
        let terms = asserting.flat_map(|(clause, _)| &clause.terms);
        for term in terms.filter(|term| !term.is_implied) {
            let weight = word_weight(positions, weights, term.concept);
            total_weight += weight.max(0.5);
            let product = f32::from(u8::from(term.is_name || !term.alternatives.is_empty()));
            let stance = positions.stances.get(&term.concept).copied().unwrap_or(0);
            let is_unknown = !positions.named.contains(&term.concept);
            match (term.role, stance.signum()) {
                (Role::Adopts, 1) => self.share_adopted += weight,
                (Role::Adopts, -1) => {
                    self.share_adopted_dropped += weight;
                    self.adopts_dropped += product;
                }
                (Role::Drops, 1) => {
                    self.share_dropped_adopted += weight;
                    self.drops_adopted += product;
                }
                (Role::Drops, -1) => self.drops_dropped += product,
                (Role::Adopts, _) if is_unknown => self.adopts_unknown += product,
                _ => {}
            }
        }
        for share in [
            &mut self.share_adopted,
            &mut self.share_adopted_dropped,
            &mut self.share_dropped_adopted,
        ] {
            *share /= total_weight;
        }
        for products in [
            &mut self.adopts_dropped,
            &mut self.drops_adopted,
            &mut self.drops_dropped,
            &mut self.adopts_unknown,
        ] {
            *products = products.min(MAX_PRODUCTS);
        }
    }
}

/// The weight of a decision's word: lower if many decisions name it.
fn word_weight(positions: &Positions, weights: &Weights, concept: Concept) -> f32 {
    let word = positions.lexicon.word(concept);
    word.map_or(0.5, |word| word.weight) * weights.of_concept(concept) / RAREST_WEIGHT
}

/// A statement's words, each with its match in the proposal.
fn statement_words<'a>(
    terms: &'a [Term],
    positions: &Positions,
    matches: &WordMatches<'_>,
    weights: &Weights,
) -> Vec<StatementWord<'a>> {
    let own = terms.iter().filter(|term| !term.is_implied);
    let statement_words = own.map(|term| StatementWord {
        term,
        weight: word_weight(positions, weights, term.concept),
        matched: matches.best_match(term.concept),
    });
    statement_words.collect()
}
