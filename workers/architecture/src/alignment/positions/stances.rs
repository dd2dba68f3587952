//! The decision's stance on each concept that it names.

use super::{Positions, StatementKind};
use crate::alignment::clauses::{Role, Term};
use crate::alignment::words::ByConcept;

/// The points for a title or an option's name.
const NAME_POINTS: i16 = 9;

/// The stance on each concept: positive if the decision adopts it, negative if it drops it.
pub(super) fn of(positions: &Positions) -> ByConcept<i16> {
    let mut stances = ByConcept::default();
    let mut count = |term: &Term, points: i16| {
        let stance: &mut i16 = stances.entry(term.concept).or_insert(0);
        *stance = match term.role {
            Role::Adopts => stance.saturating_add(points),
            Role::Drops => stance.saturating_sub(points),
            Role::Alongside => *stance,
        };
    };
    for statement in &positions.statements {
        let points = match statement.kind {
            StatementKind::Rule | StatementKind::Rejected => 3,
            StatementKind::Consequence => 2,
            StatementKind::Argument | StatementKind::Context | StatementKind::OutOfScope => {
                continue;
            }
        };
        let terms = statement.clause.terms.iter();
        terms.for_each(|term| count(term, points));
    }
    let subject = positions.title.iter().chain(&positions.chosen);
    subject.for_each(|term| count(term, NAME_POINTS));
    let chosen = || positions.chosen.iter().chain(&positions.chosen_name);
    let rejected = positions.rejected.iter().flat_map(|option| &option.name);
    for term in rejected {
        if chosen().all(|chosen| chosen.concept != term.concept) {
            let stance = stances.entry(term.concept).or_insert(0);
            *stance = stance.saturating_sub(NAME_POINTS);
        }
    }
    stances
}
