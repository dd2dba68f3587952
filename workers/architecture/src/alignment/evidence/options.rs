//! How much of the name of an option that was turned down a clause names.

use super::{Weights, has};
use crate::alignment::clauses::{Clause, Role, Term};
use crate::alignment::positions::{Positions, Refused};

/// What naming the product of an option is worth, of its whole name.
const NAMED: f32 = 0.8;
/// What the other words of an option's name are worth where its product is not named.
const UNNAMED: f32 = 0.5;

/// How much of an option's name a clause names in a role.
pub(super) fn named(
    option: &Refused,
    (clause, role): (&Clause, Role),
    positions: &Positions,
    weights: &Weights,
) -> f32 {
    // What the chosen one is called, too, tells nothing of this one.
    let is_own = |term: &&Term| {
        !has(&positions.chosen, term.concept) && !has(&positions.chosen_name, term.concept)
    };
    let own: Vec<Term> = option.name.iter().filter(is_own).copied().collect();
    let is_named = |term: &&Term| {
        clause
            .terms
            .iter()
            .any(|said| said.role == role && said.concept == term.concept)
    };
    let mut said: Vec<Term> = own.iter().filter(is_named).copied().collect();
    if said.is_empty() {
        return 0.0;
    }
    said.sort_unstable_by_key(|term| term.concept);
    said.dedup_by_key(|term| term.concept);
    let part = weights.of_terms(&said) / weights.of_terms(&own);
    let has_product = own.iter().any(|term| !term.rivals.is_empty());
    match said.iter().any(|term| !term.rivals.is_empty()) {
        true => part.max(NAMED),
        false if has_product => part.min(UNNAMED),
        false => part,
    }
}
