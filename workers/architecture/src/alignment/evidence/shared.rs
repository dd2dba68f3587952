//! What one clause of a proposal and one statement of a decision share, by weight.

use super::{Weights, has};
use crate::alignment::clauses::{Role, Term};
use crate::alignment::positions::Positions;

/// What a clause and a statement share.
#[derive(Default)]
pub(super) struct Shared {
    /// All that both name.
    pub(super) all: f32,
    /// What both take or both drop, apart from the decision's subject.
    pub(super) said_same: f32,
    /// What one takes and the other drops, apart from the decision's subject.
    pub(super) said_against: f32,
    /// How many things both name, and whether one is of the trade.
    pub(super) count: usize,
    pub(super) is_technical: bool,
    /// How many of them are said alike, apart from the subject.
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
            // What the decision is about says that it is the same subject, and no more.
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
