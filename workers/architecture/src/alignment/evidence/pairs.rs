//! Compares one clause of a proposal with one statement of a decision.

use super::matches::Matches;
use crate::alignment::clauses::{Clause, Role, Term};
use crate::alignment::meaning::Meaning;

/// The similarity of a clause and a statement.
#[derive(Debug, Default)]
pub(in crate::alignment) struct Match {
    /// The overall score: the share of common words plus the similarity of the embeddings.
    pub(in crate::alignment) value: f32,
    /// Index of the statement.
    pub(in crate::alignment) at: Option<usize>,
    /// Weight of the common words with equal roles, and with opposite roles.
    pub(in crate::alignment) alike: f32,
    pub(in crate::alignment) contrary: f32,
    /// The share of the clause that the statement covers, and of the statement that the clause
    /// covers.
    pub(in crate::alignment) of_clause: f32,
    pub(in crate::alignment) of_statement: f32,
    /// The number of common words.
    pub(in crate::alignment) count: usize,
    /// Whether the clause adopts an alternative to a term that the statement adopts.
    pub(in crate::alignment) instead: bool,
}

/// A word of a statement.
pub(super) struct Held<'a> {
    pub(super) term: &'a Term,
    pub(super) weight: f32,
    /// The index and similarity of the matching word of the proposal.
    pub(super) matched: Option<(usize, f32)>,
}

/// A clause, indexed by the proposal's words.
pub(super) struct Said<'a> {
    pub(super) clause: &'a Clause,
    meaning: Option<&'a Meaning>,
    /// The role of each of the proposal's words in this clause.
    roles: Vec<Option<Role>>,
    /// The adopted terms that have alternatives.
    things: Vec<&'a Term>,
    weight: f32,
}

impl<'a> Said<'a> {
    pub(super) fn of(
        clause: &'a Clause,
        meaning: Option<&'a Meaning>,
        matches: &Matches<'_>,
    ) -> Said<'a> {
        let mut roles = vec![None; matches.asked.len()];
        for term in clause.terms.iter().filter(|term| !term.is_besides) {
            let place = matches.place(term.concept);
            if let Some(role) = place.and_then(|at| roles.get_mut(at)) {
                *role = Some(term.role);
            }
        }
        let named = roles.iter().zip(&matches.asked);
        let named = named.filter(|(role, _)| role.is_some());
        let is_thing = |term: &&Term| term.role == Role::Takes && !term.rivals.is_empty();
        Said {
            clause,
            meaning,
            weight: named.map(|(_, asked)| asked.weight).sum(),
            things: clause.terms.iter().filter(is_thing).collect(),
            roles,
        }
    }

    pub(super) fn hold(
        &self,
        held: &[Held<'_>],
        meaning: Option<&Meaning>,
        matches: &Matches<'_>,
    ) -> Match {
        let mut found = Match::default();
        let (mut own, mut others, mut whole) = (0.0, 0.0, 0.3);
        let mut last = None;
        for held in held {
            whole += held.weight;
            let Some((at, near)) = held.matched else {
                continue;
            };
            let Some(role) = self.roles.get(at).copied().flatten() else {
                continue;
            };
            others += held.weight * near;
            // Several words of a statement may match one word of the clause, and are usually
            // adjacent.
            if last.replace(at) != Some(at) {
                own += matches.asked.get(at).map_or(0.0, |asked| asked.weight) * near;
                found.count += 1;
            }
            match (role, held.term.role) {
                (Role::Beside, _) | (_, Role::Beside) => {}
                (left, right) if left == right => found.alike += held.weight * near,
                _ => found.contrary += held.weight * near,
            }
        }
        found.of_clause = own / (self.weight + 0.1);
        found.of_statement = others / whole;
        let both = (own + others) / (self.weight + whole + 0.3);
        found.value = both + Meaning::nearness(self.meaning, meaning);
        found.instead = self.things.iter().any(|thing| is_instead(thing, held));
        found
    }
}

/// Whether a term replaces one that a statement adopts.
fn is_instead(thing: &Term, held: &[Held<'_>]) -> bool {
    let is_rival =
        |held: &Held<'_>| held.term.role == Role::Takes && held.term.rivals.meet(thing.rivals);
    held.iter().any(is_rival) && held.iter().all(|held| held.term.concept != thing.concept)
}
