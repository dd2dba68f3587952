//! What a proposal means for a decision, by the evidence.
//!
//! First, whether it is about the same subject at all: a sum of weighed evidence, against a bound.
//! Then, which side it takes: rules, the first that fits. The weights and bounds were found on
//! `tests/data/adr/tuning.jsonl` by logistic regression and by hand; another file, which nobody looked
//! at, says how good they are.

use super::evidence::{Evidence, Read, Relations};

/// What a proposal means for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// It goes against it.
    Conflicts,
    /// A sentence of the decision endorses it.
    Supports,
    /// It is about the same, and nothing endorses or forbids it.
    Related,
}

/// What a label rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ground {
    /// An option that was turned down is taken, by its place among them.
    TakesRefused(usize),
    /// A rival of what was chosen is taken.
    TakesRival,
    /// A number breaks the bound of a statement.
    Breaks(usize),
    /// What a statement allows for something else is used.
    Beyond(usize),
    /// The contrary of a statement is said.
    Against(usize),
    /// What was chosen is given up.
    GivesUp,
    /// An option that was turned down is turned down again.
    DropsRefused(usize),
    /// What a statement says is said again.
    Same(usize),
    /// The title is said again.
    Restates,
    /// The nearest statement, if there is one.
    Near(Option<usize>),
}

/// From here on a decision is about the same: the logarithm of the odds.
pub(super) const IS_RELEVANT: f32 = -0.4;
/// The nearest of all is, from here on.
pub(super) const NEAREST_IS: f32 = -2.2;

/// How much of an option's name has to be named.
const OPTION: f32 = 0.6;
/// How much has to be shared with a statement whose bound is broken.
const BOUND: f32 = 1.2;
/// How much has to be said with the contrary: by itself, and where it is what is nearest.
const CONTRARY: f32 = 3.0;
const CONTRARY_OF_NEAREST: f32 = 2.0;
/// How much has to be said again.
const SAME: f32 = 2.8;
/// How much of the nearest statement, where it is about what was chosen.
const COVERED: f32 = 0.7;
/// How much of a title.
const TITLE: f32 = 0.6;

/// The most of each kind of evidence that any decision has.
#[derive(Debug, Default)]
pub(super) struct Best {
    total: f32,
    title: f32,
    near: f32,
    technical: f32,
}

impl Best {
    pub(super) fn of(all: &[Evidence]) -> Best {
        let most = |of: fn(&Evidence) -> f32| all.iter().map(of).fold(0.0, f32::max);
        Best {
            total: most(|evidence| evidence.total),
            title: most(|evidence| evidence.title),
            near: most(|evidence| evidence.near),
            technical: most(|evidence| evidence.technical),
        }
    }
}

/// What is weighed, in the order of [`WEIGHTS`].
pub(super) fn inputs(evidence: &Evidence, best: &Best) -> [f32; 9] {
    let part = |value: f32, best: f32| value / best.max(f32::EPSILON);
    let is = |is: bool| if is { 1.0 } else { 0.0 };
    [
        evidence.cover,
        evidence.nearest_rule,
        evidence.relations.pair.covers,
        part(evidence.total, best.total),
        part(evidence.title, best.title),
        part(evidence.near, best.near),
        part(evidence.technical, best.technical),
        is(evidence.relations.takes_refused.0 > OPTION),
        is(evidence.title > 0.0),
    ]
}

/// What each input weighs: the part of the proposal that the decision names, the nearest rule, the
/// part of a statement that is said; four shares of the most that any decision has (words, words of
/// the title, meaning, words of the trade); an option that was turned down, a word of the title.
const WEIGHTS: [f32; 9] = [7.26, 3.75, 1.33, 1.24, 0.51, 3.19, 1.93, 2.42, 1.91];
const BIAS: f32 = -10.83;

/// How likely it is that a decision is about the same: the logarithm of the odds.
pub(super) fn relevance(evidence: &Evidence, best: &Best) -> f32 {
    let weighed = inputs(evidence, best).into_iter().zip(WEIGHTS);
    BIAS + weighed.map(|(input, weight)| input * weight).sum::<f32>()
}

/// Which side a proposal takes of a decision that is about the same.
pub(super) fn side(read: &Read, evidence: &Evidence) -> (Label, Ground) {
    let near = (Label::Related, Ground::Near(evidence.nearest));
    if read.asks() {
        return near;
    }
    let relations = &evidence.relations;
    let against = against(relations).map(|ground| (Label::Conflicts, ground));
    let for_it = || endorsed(relations).map(|ground| (Label::Supports, ground));
    against.or_else(for_it).unwrap_or(near)
}

/// What speaks against a proposal. One such point outweighs what is endorsed.
fn against(relations: &Relations) -> Option<Ground> {
    let pair = &relations.pair;
    let over = |most: (f32, Option<usize>), bound: f32| most.1.filter(|_| most.0 > bound);
    // Where what was chosen stays, another thing is for another purpose.
    let instead = !relations.chosen_stays;
    let refused = over(relations.takes_refused, OPTION).filter(|_| instead);
    let contrary = over(relations.said_against, CONTRARY);
    let contrary = contrary.filter(|_| relations.said_against.0 > relations.said_same.0);
    let nearest = pair
        .at
        .filter(|_| pair.takes_dropped > 0.5 && relations.said_against.0 > CONTRARY_OF_NEAREST);
    let gives_up = relations.chosen_dropped && !relations.chosen_taken;
    None.or(refused.map(Ground::TakesRefused))
        .or((relations.takes_rival && instead).then_some(Ground::TakesRival))
        .or(over(relations.breaks, BOUND).map(Ground::Breaks))
        .or(relations.beyond.map(Ground::Beyond))
        .or(contrary.map(Ground::Against))
        .or(nearest.map(Ground::Against))
        .or(gives_up.then_some(Ground::GivesUp))
}

/// What endorses a proposal.
fn endorsed(relations: &Relations) -> Option<Ground> {
    let over = |most: (f32, Option<usize>), bound: f32| most.1.filter(|_| most.0 > bound);
    let refused = over(relations.drops_refused, OPTION).map(Ground::DropsRefused);
    let restates = relations.restates >= TITLE && relations.chosen_taken && !relations.chosen_stays;
    // What was chosen is taken as the decision says that it is.
    let pair = relations
        .pair
        .at
        .filter(|_| relations.chosen_taken && relations.pair.covers >= COVERED);
    let pair = pair.filter(|_| !relations.chosen_stays);
    refused
        .or(over(relations.said_same, SAME).map(Ground::Same))
        .or(over(relations.both_drop, SAME).map(Ground::Same))
        .or(pair.map(Ground::Same))
        .or(restates.then_some(Ground::Restates))
}
