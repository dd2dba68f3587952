//! How much of a rejected option's name a clause mentions.

use super::{Weights, has};
use crate::alignment::clauses::{Clause, Role, Term};
use crate::alignment::positions::{Positions, Refused};

/// The share of a whole name that mentioning its product counts for.
const NAMED: f32 = 0.8;
/// The maximum share if the name's product is not mentioned.
const UNNAMED: f32 = 0.5;

/// The share of an option's name that a clause mentions in a role.
pub(super) fn named(
    option: &Refused,
    (clause, role): (&Clause, Role),
    positions: &Positions,
    weights: &Weights,
) -> f32 {
    // Words that the chosen option's name has as well don't identify this option.
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
