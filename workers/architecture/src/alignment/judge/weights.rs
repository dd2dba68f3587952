//! The weights of what speaks for a label.
//!
//! They were learned by logistic regression (inputs scaled to a variance of 1; scikit-learn's C is
//! 0.1 for nearness, 0.05 for sides) on the parts of `tests/data/adr` that are for tuning. Inputs and
//! penalties were chosen by cross-validation, leaving out one company's decisions, or a tenth of all,
//! each time. Each table keeps the order of its inputs in [`super::near_inputs`] and
//! [`super::side_inputs`].

use super::{NEAR_INPUTS, SIDE_INPUTS};

/// From where on a decision is about the same: the logarithm of the odds.
pub(super) const IS_NEAR: f32 = -0.532;
/// The odds where nothing speaks for it.
pub(super) const FAR: f32 = -6.547;
/// What speaks for a decision's being about the same.
#[rustfmt::skip]
pub(super) const NEAR: [f32; NEAR_INPUTS] = [
    4.267, // The part of what is named that the decision names, too.
    0.660, // Words of its title, of the most.
    0.672, // Words of the trade, of the most.
    3.266, // An option that was turned down is named.
    2.192, // The nearest statement, of the nearest of all.
    0.286, // Words, before the next or behind the first.
    1.493, // The nearest rule, the same.
    0.123, // Words.
    2.597, // The nearest rule.
    4.726, // A rival of what was chosen is taken.
    1.346, // What was chosen is taken.
    4.386, // The whole meaning, behind the nearest.
    1.052, // Words of the trade, near ones included.
    8.174, // The same part, by how much the proposal is of the trade.
];

/// The odds of each side where nothing speaks for any: conflicts, supports, related.
pub(super) const LEANS: [f32; 3] = [0.225, -0.758, 0.533];
/// What speaks for each side, in that order.
#[rustfmt::skip]
pub(super) const SIDES: [[f32; 3]; SIDE_INPUTS] = [
    [-0.182, 0.282, -0.100], // Said alike in the nearest rule.
    [0.237, 0.029, -0.266], // Said with the contrary there.
    [0.005, 0.098, -0.103], // Said again of the same.
    [-0.743, 0.717, 0.026], // Part of the title.
    [0.495, -0.630, 0.135], // Part of an option's name.
    [0.284, -0.449, 0.165], // A bound that is broken.
    [1.895, -1.135, -0.759], // Use beyond a scope.
    [1.454, -0.634, -0.819], // A rival in the place of a rule's thing.
    [0.630, -0.108, -0.522], // Things taken that are dropped.
    [0.403, -0.003, -0.400], // Things dropped that are taken.
    [-1.391, 0.825, 0.565], // Things dropped that are dropped.
    [0.254, -0.108, -0.146], // Things taken that are unknown.
    [-0.414, 0.354, 0.060], // Part of the words taken that are taken.
    [0.906, -1.503, 0.597], // Taken that are dropped.
    [0.468, 4.023, -4.491], // Dropped that are taken.
    [-0.452, -1.178, 1.630], // How much it is of the trade.
    [-0.883, -0.809, 1.692], // How much of it asks.
    [0.324, -0.018, -0.307], // Cues of undoing.
    [0.743, -0.433, -0.311], // Of impatience.
    [-0.337, 0.509, -0.172], // Of refusal.
    [-0.174, 0.472, -0.299], // Of carrying out.
    [-0.250, -0.129, 0.379], // Of leaving open.
];
