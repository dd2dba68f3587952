//! Compares one clause of a proposal with one statement of a decision.

use super::matches::WordMatches;
use crate::alignment::clauses::{Clause, Role, Term};
use crate::alignment::embedding::Embedding;

/// The similarity of a clause and a statement.
#[derive(Debug, Default)]
pub(in crate::alignment) struct ClauseMatch {
    /// The overall score: the share of common words plus the similarity of the embeddings.
    pub(in crate::alignment) score: f32,
    /// Index of the statement.
    pub(in crate::alignment) statement: Option<usize>,
    /// Weight of the common words with equal roles, and with opposite roles.
    pub(in crate::alignment) agreement: f32,
    pub(in crate::alignment) contradiction: f32,
    /// The share of the clause that the statement covers, and of the statement that the clause
    /// covers.
    pub(in crate::alignment) clause_coverage: f32,
    pub(in crate::alignment) statement_coverage: f32,
    /// The number of common words.
    pub(in crate::alignment) count: usize,
    /// Whether the clause adopts an alternative to a term that the statement adopts.
    pub(in crate::alignment) replacement: bool,
}

/// A word of a statement.
pub(super) struct StatementWord<'a> {
    pub(super) term: &'a Term,
    pub(super) weight: f32,
    /// The index and similarity of the matching word of the proposal.
    pub(super) matched: Option<(usize, f32)>,
}

/// A clause, indexed by the proposal's words.
pub(super) struct ClauseWords<'a> {
    pub(super) clause: &'a Clause,
    embedding: Option<&'a Embedding>,
    /// The role of each of the proposal's words in this clause.
    roles: Vec<Option<Role>>,
    /// The adopted terms that have alternatives.
    adopted: Vec<&'a Term>,
    weight: f32,
}

impl<'a> ClauseWords<'a> {
    pub(super) fn of(
        clause: &'a Clause,
        embedding: Option<&'a Embedding>,
        matches: &WordMatches<'_>,
    ) -> ClauseWords<'a> {
        let mut roles = vec![None; matches.words.len()];
        for term in clause.terms.iter().filter(|term| !term.is_implied) {
            let position = matches.position(term.concept);
            if let Some(role) = position.and_then(|at| roles.get_mut(at)) {
                *role = Some(term.role);
            }
        }
        let named = roles.iter().zip(&matches.words);
        let named = named.filter(|(role, _)| role.is_some());
        let is_adopted_product =
            |term: &&Term| term.role == Role::Adopts && !term.alternatives.is_empty();
        ClauseWords {
            clause,
            embedding,
            weight: named.map(|(_, word)| word.weight).sum(),
            adopted: clause.terms.iter().filter(is_adopted_product).collect(),
            roles,
        }
    }

    pub(super) fn compare(
        &self,
        statement: &[StatementWord<'_>],
        embedding: Option<&Embedding>,
        matches: &WordMatches<'_>,
    ) -> ClauseMatch {
        let mut result = ClauseMatch::default();
        let (mut clause_matched, mut statement_matched, mut statement_total) = (0.0, 0.0, 0.3);
        let mut last = None;
        for word in statement {
            statement_total += word.weight;
            let Some((at, similarity)) = word.matched else {
                continue;
            };
            let Some(role) = self.roles.get(at).copied().flatten() else {
                continue;
            };
            statement_matched += word.weight * similarity;
            // Several words of a statement may match one word of the clause, and are usually
            // adjacent.
            if last.replace(at) != Some(at) {
                clause_matched +=
                    matches.words.get(at).map_or(0.0, |word| word.weight) * similarity;
                result.count += 1;
            }
            match (role, word.term.role) {
                (Role::Alongside, _) | (_, Role::Alongside) => {}
                (left, right) if left == right => result.agreement += word.weight * similarity,
                _ => result.contradiction += word.weight * similarity,
            }
        }
        result.clause_coverage = clause_matched / (self.weight + 0.1);
        result.statement_coverage = statement_matched / statement_total;
        let both = (clause_matched + statement_matched) / (self.weight + statement_total + 0.3);
        result.score = both + Embedding::similarity(self.embedding, embedding);
        result.replacement = self
            .adopted
            .iter()
            .any(|product| is_replacement(product, statement));
        result
    }
}

/// Whether a term replaces one that a statement adopts.
fn is_replacement(product: &Term, statement: &[StatementWord<'_>]) -> bool {
    let is_alternative = |word: &StatementWord<'_>| {
        word.term.role == Role::Adopts && word.term.alternatives.overlaps(product.alternatives)
    };
    statement.iter().any(is_alternative)
        && statement
            .iter()
            .all(|word| word.term.concept != product.concept)
}
