//! How much of a rejected option's name a clause mentions.

use super::{Weights, has};
use crate::alignment::clauses::{Clause, Role, Term};
use crate::alignment::positions::{Positions, RejectedOption};

/// The share of a whole name that mentioning its product counts for.
const PRODUCT_SHARE: f32 = 0.8;
/// The maximum share if the name's product is not mentioned.
const MAX_WITHOUT_PRODUCT: f32 = 0.5;

/// The share of an option's name that a clause mentions in a role.
pub(super) fn name_share(
    option: &RejectedOption,
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
            .any(|mentioned| mentioned.role == role && mentioned.concept == term.concept)
    };
    let mut mentioned: Vec<Term> = own.iter().filter(is_named).copied().collect();
    if mentioned.is_empty() {
        return 0.0;
    }
    mentioned.sort_unstable_by_key(|term| term.concept);
    mentioned.dedup_by_key(|term| term.concept);
    let part = weights.of_terms(&mentioned) / weights.of_terms(&own);
    let has_product = own.iter().any(|term| !term.alternatives.is_empty());
    match mentioned.iter().any(|term| !term.alternatives.is_empty()) {
        true => part.max(PRODUCT_SHARE),
        false if has_product => part.min(MAX_WITHOUT_PRODUCT),
        false => part,
    }
}
