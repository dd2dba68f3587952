//! The weights of what speaks for a label.
//!
//! They were learned by logistic regression (of variance-scaled inputs, L2 of 0.1 for nearness and of
//! 0.05 for sides) on the parts of `tests/data/adr` that are for tuning. Inputs and penalties were chosen
//! by cross-validation, each time leaving one company's decisions out. Each table keeps the order
//! of its inputs in [`super::near_inputs`] and [`super::side_inputs`].

use super::{NEAR_INPUTS, SIDE_INPUTS};

/// From where on a decision is about the same: the logarithm of the odds.
pub(super) const IS_NEAR: f32 = -0.532;
/// The odds where nothing speaks for it.
pub(super) const FAR: f32 = -6.547;
/// What speaks for a decision's being about the same.
pub(super) const NEAR: [f32; NEAR_INPUTS] = [
    // The part of what is named that the decision names, too.
    4.267, // Words of its title, of the most.
    0.660, // Words of the trade, of the most.
    0.672, // An option that was turned down is named.
    3.266, // The nearest statement, of the nearest of all.
    2.192, // Words, before the next or behind the first.
    0.286, // The nearest rule, the same.
    1.493, // Words.
    0.123, // The nearest rule.
    2.597, // A rival of what was chosen is taken.
    4.726, // What was chosen is taken.
    1.346, // The whole meaning, behind the nearest.
    4.386, // Words of the trade, near ones included.
    1.052, // The same part, by how much the proposal is of the trade.
    8.174,
];

/// The odds of each side where nothing speaks for any: conflicts, supports, related.
pub(super) const LEANS: [f32; 3] = [0.279, -0.811, 0.532];
/// What speaks for each side, in that order.
pub(super) const SIDES: [[f32; SIDE_INPUTS]; 3] = [
    [
        // Said alike in the nearest rule.
        -0.184, // Said with the contrary there.
        0.223,  // Said again of the same.
        0.001,  // Part of the title.
        -0.576, // Part of an option's name.
        0.518,  // A bound that is broken.
        0.284,  // Use beyond a scope.
        1.992,  // A rival in the place of a rule's thing.
        1.468,  // Things taken that are dropped.
        0.627,  // Things dropped that are taken.
        0.394,  // Things dropped that are dropped.
        -1.371, // Things taken that are unknown.
        0.262,  // Part of the words taken that are taken.
        -0.404, // Taken that are dropped.
        0.866,  // Dropped that are taken.
        0.363,  // How much it is of the trade.
        -0.475, // How much of it asks.
        -0.886, // Cues of undoing.
        0.308,  // Of impatience.
        0.736,  // Of refusal.
        -0.340, // Of carrying out.
        -0.170, // Of leaving open.
        -0.298, // What was chosen is used.
        -0.237, // What was chosen is named only.
        -0.280,
    ],
    [
        0.277, 0.036, 0.103, 0.640, -0.655, -0.449, -1.264, -0.579, -0.146, -0.034, 0.837, -0.125,
        0.368, -1.441, 4.035, -1.160, -0.813, -0.011, -0.423, 0.489, 0.473, -0.093, 0.322, -0.020,
    ],
    [
        -0.093, -0.259, -0.104, -0.064, 0.137, 0.165, -0.728, -0.889, -0.481, -0.361, 0.534,
        -0.137, 0.036, 0.576, -4.398, 1.635, 1.698, -0.297, -0.313, -0.149, -0.303, 0.391, -0.085,
        0.299,
    ],
];
