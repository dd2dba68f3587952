//! Learned weights for relevance and labels.
//!
//! They were trained by logistic regression (inputs scaled to variance 1; scikit-learn's C is 0.1
//! for relevance, 0.05 for labels) on the tuning parts of `tests/data/adr`. Inputs and penalties
//! were chosen by cross-validation that left out one company's decisions, or a tenth of all, each
//! time. Each table has the order of [`super::relevance_features`] or [`super::label_features`].

use super::{LABEL_FEATURES, RELEVANCE_FEATURES};

/// The log-odds from which a decision is relevant.
pub(super) const RELEVANCE_THRESHOLD: f32 = -0.532;
/// The log-odds without evidence.
pub(super) const RELEVANCE_BIAS: f32 = -6.547;
/// The weights for relevance.
#[rustfmt::skip]
pub(super) const RELEVANCE_WEIGHTS: [f32; RELEVANCE_FEATURES] = [
    4.267, // Share of the proposal's concepts that the decision names.
    0.660, // Words of the title, relative to the maximum.
    0.672, // Technical words, relative to the maximum.
    3.266, // A rejected option is named.
    2.192, // Most similar statement, relative to the maximum.
    0.286, // Words, lead over the second or distance behind the first.
    1.493, // Most similar rule, lead over the second or distance behind the first.
    0.123, // Words.
    2.597, // Most similar rule.
    4.726, // An alternative to the chosen option is adopted.
    1.346, // The chosen option is adopted.
    4.386, // Similarity of the whole texts, distance behind the first.
    1.052, // Technical words, with similar words matched.
    8.174, // Share of words, multiplied by the proposal's technicality.
];

/// The log-odds of each label without evidence: conflicts, supports, related.
pub(super) const LABEL_BIASES: [f32; 3] = [0.225, -0.758, 0.533];
/// The weights for each label, in the same order.
#[rustfmt::skip]
pub(super) const LABEL_WEIGHTS: [[f32; 3]; LABEL_FEATURES] = [
    [-0.182, 0.282, -0.100], // Equal roles in the most similar rule.
    [0.237, 0.029, -0.266], // Opposite roles there.
    [0.005, 0.098, -0.103], // Stated as the decision does.
    [-0.743, 0.717, 0.026], // Share of the title.
    [0.495, -0.630, 0.135], // Share of a rejected option's name.
    [0.284, -0.449, 0.165], // A violated bound.
    [1.895, -1.135, -0.759], // Use out of scope.
    [1.454, -0.634, -0.819], // An alternative replaces a rule's product.
    [0.630, -0.108, -0.522], // Products adopted that the decision drops.
    [0.403, -0.003, -0.400], // Products dropped that it adopts.
    [-1.391, 0.825, 0.565], // Products dropped that it drops.
    [0.254, -0.108, -0.146], // Products adopted that it doesn't mention.
    [-0.414, 0.354, 0.060], // Share of words adopted that it adopts.
    [0.906, -1.503, 0.597], // Share adopted that it drops.
    [0.468, 4.023, -4.491], // Share dropped that it adopts.
    [-0.452, -1.178, 1.630], // Technicality.
    [-0.883, -0.809, 1.692], // Share of clauses that ask.
    [0.324, -0.018, -0.307], // Cues for undoing.
    [0.743, -0.433, -0.311], // Cues for impatience.
    [-0.337, 0.509, -0.172], // Cues for refusal.
    [-0.174, 0.472, -0.299], // Cues for carrying out.
    [-0.250, -0.129, 0.379], // Cues for leaving open.
];
