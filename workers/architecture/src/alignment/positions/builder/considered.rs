//! Options that a decision considered and did not choose.

use super::{MAX_STATEMENTS, PositionsBuilder};
use crate::alignment::clauses::{Mode, Term};
use crate::alignment::positions::{RejectedOption, Statement};

impl PositionsBuilder<'_> {
    /// Adds alternatives that were considered together with the chosen option as rejected.
    pub(super) fn reject_considered(&mut self) {
        let positions = &self.positions;
        let chosen = &positions.chosen;
        let mut rejected: Vec<RejectedOption> = Vec::new();
        let reports = positions
            .statements
            .iter()
            .filter(|statement| statement.clause.mode == Mode::Reports);
        for statement in reports {
            let is_other = |term: &&Term| {
                let is_alternative = chosen
                    .iter()
                    .any(|chosen| chosen.alternatives.overlaps(term.alternatives));
                is_alternative && chosen.iter().all(|chosen| chosen.concept != term.concept)
            };
            for term in statement.clause.terms.iter().filter(is_other) {
                let begins = |other: &&Statement| {
                    other
                        .clause
                        .terms
                        .first()
                        .is_some_and(|first| first.concept == term.concept)
                };
                let about = positions
                    .statements
                    .iter()
                    .find(begins)
                    .unwrap_or(statement);
                rejected.push(RejectedOption {
                    name: vec![*term],
                    sentence: about.sentence.clone(),
                });
            }
        }
        rejected.truncate(MAX_STATEMENTS);
        self.positions.rejected.extend(rejected);
    }
}
