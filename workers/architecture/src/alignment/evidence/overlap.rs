//! The weight that one clause of a proposal and one statement of a decision have in common.

use super::{Weights, has};
use crate::alignment::clauses::{Role, Term};
use crate::alignment::positions::Positions;

/// The overlap of a clause and a statement.
#[derive(Default)]
pub(super) struct Overlap {
    /// Weight of all common concepts.
    pub(super) all: f32,
    /// Weight that both adopt or both drop, without the decision's subject.
    pub(super) agreement: f32,
    /// Weight that one adopts and the other drops, without the decision's subject.
    pub(super) contradiction: f32,
    /// The number of common concepts, and whether one is technical.
    pub(super) count: usize,
    pub(super) is_technical: bool,
    /// The number of them with equal roles, without the subject.
    pub(super) same_role_count: usize,
}

impl Overlap {
    pub(super) fn of(
        clause: &[Term],
        statement: &[Term],
        positions: &Positions,
        weights: &Weights,
    ) -> Overlap {
        let mut overlap = Overlap::default();
        let mut counted = Vec::new();
        for term in clause {
            let other = statement.iter().find(|other| other.concept == term.concept);
            let Some(other) = other.filter(|_| !counted.contains(&term.concept)) else {
                continue;
            };
            counted.push(term.concept);
            let weight = weights.of_concept(term.concept);
            overlap.count += 1;
            overlap.is_technical |= term.is_technical;
            // A concept of the title or the chosen option shows only that the subject is the same.
            let is_subject =
                has(&positions.title, term.concept) || has(&positions.chosen, term.concept);
            let own_weight = if is_subject || term.is_implied {
                0.0
            } else {
                weight
            };
            overlap.same_role_count += usize::from(own_weight > 0.0 && term.role == other.role);
            overlap.add((term.role, other.role), weight, own_weight);
        }
        overlap
    }

    fn add(&mut self, roles: (Role, Role), weight: f32, own_weight: f32) {
        self.all += weight;
        match roles {
            (Role::Adopts, Role::Adopts) | (Role::Drops, Role::Drops) => {
                self.agreement += own_weight;
            }
            (Role::Adopts, Role::Drops) | (Role::Drops, Role::Adopts) => {
                self.contradiction += own_weight;
            }
            (Role::Alongside, _) | (_, Role::Alongside) => {}
        }
    }
}
