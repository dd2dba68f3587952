//! Classifies a proposal with regard to a decision, from the evidence.
//!
//! The first step determines whether both concern the same subject, the second whether the proposal
//! conflicts with or supports the decision. Both use weighted sums whose weights were learned
//! ([`weights`]). The ground for a label is then chosen from the evidence for it.

mod maxima;
mod weights;

use super::evidence::{Evidence, ParsedProposal, Relations};
pub(super) use maxima::Maxima;
use weights::{
    LABEL_BIASES, LABEL_WEIGHTS, RELEVANCE_BIAS, RELEVANCE_THRESHOLD, RELEVANCE_WEIGHTS,
};

/// The relation of a proposal to a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// The proposal goes against the decision.
    Conflicts,
    /// A sentence of the decision endorses the proposal.
    Supports,
    /// Both concern the same subject, and nothing endorses or forbids the proposal.
    Related,
}

/// The evidence that a label is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ground {
    /// A rejected option is adopted, by index.
    AdoptsRejected(usize),
    /// An alternative to the chosen option is adopted.
    AdoptsAlternative,
    /// An alternative to a term that a statement adopts is adopted.
    Replaces(usize),
    /// A number violates a statement's bound.
    ViolatesBound(usize),
    /// A term is used outside of the scope that a statement allows.
    OutOfScope(usize),
    /// A statement is contradicted.
    Contradicts(usize),
    /// The chosen option is dropped.
    DropsChosen,
    /// A rejected option is dropped.
    DropsRejected(usize),
    /// A statement is repeated.
    Repeats(usize),
    /// The title is repeated.
    RepeatsTitle,
    /// The most similar statement, if any.
    Nearest(Option<usize>),
}

/// A label, its probability among the three, and its ground.
#[derive(Clone, Copy, Debug)]
pub(super) struct Classification {
    pub(super) label: Label,
    pub(super) probability: f32,
    pub(super) ground: Ground,
}

/// The number of features for relevance, and for the label.
const RELEVANCE_FEATURES: usize = 14;
const LABEL_FEATURES: usize = 22;

/// The minimum relevance (log-odds above the threshold for `Related`) to report `Supports` and
/// `Conflicts`: probability 0.5 and 0.6. All thresholds up to `MIN_CERTAINTY_UNRELATED` were found by
/// cross-validation.
const MIN_SUPPORTS: f32 = 0.53;
const MIN_CONFLICTS: f32 = 0.94;
/// The minimum probability of a conflict, which rises as the proposal gets less technical: in
/// general; if the proposal names an alternative or a rejected option; and if it shares no
/// technical term with the decision.
const MIN_CERTAINTY: f32 = 0.45;
const MIN_CERTAINTY_BY_NAME: f32 = 0.3;
const MIN_CERTAINTY_UNRELATED: f32 = 0.75;

/// The minimum share of an option's name.
const MIN_OPTION: f32 = 0.6;
/// The minimum weight shared with a statement whose bound is violated.
const MIN_BOUND: f32 = 1.2;
/// The minimum share of a title that is repeated.
const MIN_TITLE: f32 = 0.6;
/// The minimum contradiction score for the ground of a conflict.
const MIN_CONTRADICTION: f32 = 0.15;

/// The log-odds that a decision concerns the same subject, minus the threshold: positive means
/// relevant.
pub(super) fn relevance(parsed: &ParsedProposal, evidence: &Evidence, maxima: &Maxima) -> f32 {
    RELEVANCE_BIAS - RELEVANCE_THRESHOLD
        + weighted_sum(
            &relevance_features(parsed, evidence, maxima),
            &RELEVANCE_WEIGHTS,
        )
}

/// The features for relevance, in the order of [`RELEVANCE_WEIGHTS`].
pub(super) fn relevance_features(
    parsed: &ParsedProposal,
    evidence: &Evidence,
    maxima: &Maxima,
) -> [f32; RELEVANCE_FEATURES] {
    let part = |score: f32, maxima: f32| score / maxima.max(1e-4);
    // The lead over the second, or the distance behind the first.
    let ahead = |score: f32, [maximum, second]: [f32; 2]| match score >= maximum {
        true => score - second,
        false => score - maximum,
    };
    let (semantic, relations) = (&evidence.semantic, &evidence.relations);
    [
        evidence.coverage,
        part(evidence.title, maxima.title),
        part(evidence.technical, maxima.technical),
        flag(relations.adopts_rejected.0 > MIN_OPTION),
        part(semantic.nearest(), maxima.nearest),
        ahead(semantic.total, maxima.total),
        ahead(semantic.decided(), maxima.decided),
        evidence.total,
        semantic.best_rule.score,
        flag(relations.adopts_alternative),
        flag(relations.chosen_adopted),
        semantic.similarity - maxima.similarity,
        semantic.technical,
        parsed.technicality() * semantic.coverage,
    ]
}

/// Classifies a proposal with regard to a decision on the same subject.
pub(super) fn classify(parsed: &ParsedProposal, evidence: &Evidence) -> Classification {
    if let Some((label, ground)) = explicit(parsed, evidence) {
        let probability = 1.0;
        return Classification {
            label,
            probability,
            ground,
        };
    }
    let features = label_features(parsed, evidence);
    let labels = [Label::Conflicts, Label::Supports, Label::Related];
    let mut scores = LABEL_BIASES;
    for (feature, weights) in features.iter().zip(&LABEL_WEIGHTS) {
        for (score, weight) in scores.iter_mut().zip(weights) {
            *score += feature * weight;
        }
    }
    let odds = scores.map(f32::exp);
    let best = labels.into_iter().zip(&odds);
    let best = best.max_by(|left, right| left.1.total_cmp(right.1));
    let (label, best_odds) = best.map_or((Label::Related, 0.0), |(label, odds)| (label, *odds));
    let label = match label {
        Label::Related if only_uses_chosen(parsed, evidence) => Label::Supports,
        _ => label,
    };
    Classification {
        label,
        probability: best_odds / odds.iter().sum::<f32>().max(f32::MIN_POSITIVE),
        ground: ground(label, evidence),
    }
}

/// Whether the proposal only says that the chosen option is used.
fn only_uses_chosen(parsed: &ParsedProposal, evidence: &Evidence) -> bool {
    let relations = &evidence.relations;
    let says_one = parsed.clauses.len() == 1 && parsed.share_asking() == 0.0;
    says_one && relations.chosen_used && !relations.adopts_alternative
}

/// A classification so clear that no weighing is needed.
fn explicit(parsed: &ParsedProposal, evidence: &Evidence) -> Option<(Label, Ground)> {
    let (semantic, relations) = (&evidence.semantic, &evidence.relations);
    if parsed.share_asking() > 0.0 {
        return None;
    }
    let ends = relations.chosen_ended && !relations.chosen_used;
    let conflicts = semantic
        .violated_rule
        .map(Ground::ViolatesBound)
        .or(ends.then_some(Ground::DropsChosen));
    let endorsed = semantic
        .repeated_rule
        .filter(|_| parsed.clauses.len() == 1)
        .map(Ground::Repeats);
    conflicts
        .map(|ground| (Label::Conflicts, ground))
        .or(endorsed.map(|ground| (Label::Supports, ground)))
}

/// Whether the answer reports this label at this relevance. A conflict stops an agent, so it needs
/// more certainty than other labels, above all for a proposal that is hardly technical.
pub(super) fn is_reported(
    parsed: &ParsedProposal,
    evidence: &Evidence,
    classification: &Classification,
    relevance: f32,
) -> bool {
    match classification.label {
        Label::Related => relevance >= 0.0,
        Label::Supports => relevance >= MIN_SUPPORTS,
        Label::Conflicts => {
            let relations = &evidence.relations;
            let names_option =
                relations.adopts_alternative || relations.adopts_rejected.0 > MIN_OPTION;
            let bound = match evidence.technical > 0.0 {
                _ if names_option => MIN_CERTAINTY_BY_NAME,
                true => MIN_CERTAINTY,
                false => MIN_CERTAINTY_UNRELATED,
            };
            relevance >= MIN_CONFLICTS
                && classification.probability + parsed.technicality() >= bound
        }
    }
}

/// The features for the label, in the order of [`LABEL_WEIGHTS`].
pub(super) fn label_features(
    parsed: &ParsedProposal,
    evidence: &Evidence,
) -> [f32; LABEL_FEATURES] {
    let (semantic, relations) = (&evidence.semantic, &evidence.relations);
    let [undoes, impatient, refuses, carries_out, leaves_open] = parsed.cues;
    [
        semantic.best_rule.agreement,
        semantic.best_rule.contradiction,
        relations.agreement.0,
        relations.repeated_title,
        relations.adopts_rejected.0,
        relations.violation.0,
        flag(relations.out_of_scope.is_some()),
        semantic.replacement.0,
        semantic.adopts_dropped,
        semantic.drops_adopted,
        semantic.drops_dropped,
        semantic.adopts_unknown,
        semantic.share_adopted,
        semantic.share_adopted_dropped,
        semantic.share_dropped_adopted,
        parsed.technicality(),
        parsed.share_asking(),
        undoes,
        impatient,
        refuses,
        carries_out,
        leaves_open,
    ]
}

/// The ground for a label: the most certain evidence for it.
fn ground(label: Label, evidence: &Evidence) -> Ground {
    let (semantic, relations) = (&evidence.semantic, &evidence.relations);
    let nearest = Ground::Nearest(semantic.best_rule.statement);
    match label {
        Label::Conflicts => stated_conflict(relations)
            .or(semantic.replacement.1.map(Ground::Replaces))
            .or(above(semantic.contradiction, MIN_CONTRADICTION).map(Ground::Contradicts))
            .or(relations.chosen_dropped.then_some(Ground::DropsChosen))
            .or(semantic.best_rule.statement.map(Ground::Contradicts))
            .unwrap_or(nearest),
        Label::Supports => {
            let rejected = above(relations.drops_rejected, MIN_OPTION).map(Ground::DropsRejected);
            let repeated = semantic.best_rule.statement.map(Ground::Repeats);
            let repeated_title =
                (relations.repeated_title >= MIN_TITLE).then_some(Ground::RepeatsTitle);
            rejected.or(repeated).or(repeated_title).unwrap_or(nearest)
        }
        Label::Related => nearest,
    }
}

/// The ground for a conflict with something that the decision states.
fn stated_conflict(relations: &Relations) -> Option<Ground> {
    None.or(above(relations.adopts_rejected, MIN_OPTION).map(Ground::AdoptsRejected))
        .or(relations
            .adopts_alternative
            .then_some(Ground::AdoptsAlternative))
        .or(above(relations.violation, MIN_BOUND).map(Ground::ViolatesBound))
        .or(relations.out_of_scope.map(Ground::OutOfScope))
}

fn above(maximum: (f32, Option<usize>), bound: f32) -> Option<usize> {
    maximum.1.filter(|_| maximum.0 > bound)
}

fn flag(is: bool) -> f32 {
    f32::from(u8::from(is))
}

fn weighted_sum(features: &[f32], weights: &[f32]) -> f32 {
    let both = features.iter().zip(weights);
    both.map(|(feature, weight)| feature * weight).sum()
}
