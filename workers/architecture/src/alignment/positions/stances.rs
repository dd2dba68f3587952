//! The decision's stance on each concept that it names.

use super::{Kind, Positions};
use crate::alignment::clauses::{Role, Term};
use crate::alignment::words::ByConcept;

/// The points for a title or an option's name.
const NAMED: i16 = 9;

/// The stance on each concept: positive if the decision adopts it, negative if it drops it.
pub(super) fn of(positions: &Positions) -> ByConcept<i16> {
    let mut stances = ByConcept::default();
    let mut count = |term: &Term, by: i16| {
        let stance: &mut i16 = stances.entry(term.concept).or_insert(0);
        *stance = match term.role {
            Role::Takes => stance.saturating_add(by),
            Role::Drops => stance.saturating_sub(by),
            Role::Beside => *stance,
        };
    };
    for statement in &positions.statements {
        let by = match statement.kind {
            Kind::Rule | Kind::Refused => 3,
            Kind::Follows => 2,
            Kind::Weighed | Kind::Context | Kind::Outside => continue,
        };
        let terms = statement.clause.terms.iter();
        terms.for_each(|term| count(term, by));
    }
    let titled = positions.title.iter().chain(&positions.chosen);
    titled.for_each(|term| count(term, NAMED));
    let chosen = || positions.chosen.iter().chain(&positions.chosen_name);
    let refused = positions.refused.iter().flat_map(|option| &option.name);
    for term in refused {
        if chosen().all(|chosen| chosen.concept != term.concept) {
            let stance = stances.entry(term.concept).or_insert(0);
            *stance = stance.saturating_sub(NAMED);
        }
    }
    stances
}
