//! The weight that one clause of a proposal and one statement of a decision have in common.

use super::{Weights, has};
use crate::alignment::clauses::{Role, Term};
use crate::alignment::positions::Positions;

/// The overlap of a clause and a statement.
#[derive(Default)]
pub(super) struct Shared {
    /// Weight of all common concepts.
    pub(super) all: f32,
    /// Weight that both adopt or both drop, without the decision's subject.
    pub(super) said_same: f32,
    /// Weight that one adopts and the other drops, without the decision's subject.
    pub(super) said_against: f32,
    /// The number of common concepts, and whether one is technical.
    pub(super) count: usize,
    pub(super) is_technical: bool,
    /// The number of them with equal roles, without the subject.
    pub(super) alike: usize,
}

impl Shared {
    pub(super) fn of(
        clause: &[Term],
        statement: &[Term],
        positions: &Positions,
        weights: &Weights,
    ) -> Shared {
        let mut shared = Shared::default();
        let mut known = Vec::new();
        for term in clause {
            let other = statement.iter().find(|other| other.concept == term.concept);
            let Some(other) = other.filter(|_| !known.contains(&term.concept)) else {
                continue;
            };
            known.push(term.concept);
            let weight = weights.of_concept(term.concept);
            shared.count += 1;
            shared.is_technical |= term.is_technical;
            // A concept of the title or the chosen option shows only that the subject is the same.
            let is_subject =
                has(&positions.title, term.concept) || has(&positions.chosen, term.concept);
            let said = if is_subject || term.is_besides {
                0.0
            } else {
                weight
            };
            shared.alike += usize::from(said > 0.0 && term.role == other.role);
            shared.add((term.role, other.role), weight, said);
        }
        shared
    }

    fn add(&mut self, roles: (Role, Role), weight: f32, said: f32) {
        self.all += weight;
        match roles {
            (Role::Takes, Role::Takes) | (Role::Drops, Role::Drops) => self.said_same += said,
            (Role::Takes, Role::Drops) | (Role::Drops, Role::Takes) => self.said_against += said,
            (Role::Beside, _) | (_, Role::Beside) => {}
        }
    }
}
