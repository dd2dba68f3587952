//! Classifies a proposal with regard to a decision, from the evidence.
//!
//! The first step determines whether both concern the same subject, the second whether the proposal
//! conflicts with or supports the decision. Both use weighted sums whose weights were learned
//! ([`weights`]). The ground for a label is then chosen from the evidence for it.

mod weights;

use super::evidence::{Evidence, Read, Relations};
use weights::{FAR, IS_NEAR, LEANS, NEAR, SIDES};

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
    TakesRefused(usize),
    /// An alternative to the chosen option is adopted.
    TakesRival,
    /// An alternative to a term that a statement adopts is adopted.
    Instead(usize),
    /// A number violates a statement's bound.
    Breaks(usize),
    /// A term is used outside of the scope that a statement allows.
    Beyond(usize),
    /// A statement is contradicted.
    Against(usize),
    /// The chosen option is dropped.
    GivesUp,
    /// A rejected option is dropped.
    DropsRefused(usize),
    /// A statement is repeated.
    Same(usize),
    /// The title is repeated.
    Restates,
    /// The most similar statement, if any.
    Near(Option<usize>),
}

/// A label, its probability among the three, and its ground.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub(super) label: Label,
    pub(super) certainty: f32,
    pub(super) ground: Ground,
}

/// The number of features for relevance, and for the label.
const NEAR_INPUTS: usize = 14;
const SIDE_INPUTS: usize = 22;

/// The minimum relevance (log-odds above the threshold for `Related`) to report `Supports` and
/// `Conflicts`: probability 0.5 and 0.6. All thresholds up to `CERTAIN_BY_ITSELF` were found by
/// cross-validation.
const ENDORSES_FROM: f32 = 0.53;
const CONFLICTS_FROM: f32 = 0.94;
/// The minimum probability of a conflict, which rises as the proposal gets less technical: in
/// general; if the proposal names an alternative or a rejected option; and if it shares no
/// technical term with the decision.
const CERTAIN: f32 = 0.45;
const CERTAIN_BY_NAME: f32 = 0.3;
const CERTAIN_BY_ITSELF: f32 = 0.75;

/// The minimum share of an option's name.
const OPTION: f32 = 0.6;
/// The minimum weight shared with a statement whose bound is violated.
const BOUND: f32 = 1.2;
/// The minimum share of a title that is repeated.
const TITLE: f32 = 0.6;
/// The minimum contradiction score for the ground of a conflict.
const CONTRARY: f32 = 0.15;

/// The maxima of each kind of evidence over all decisions; the two highest values for some.
#[derive(Debug, Default)]
pub(super) struct Best {
    title: f32,
    technical: f32,
    nearest: f32,
    whole: f32,
    total: [f32; 2],
    decided: [f32; 2],
}

impl Best {
    pub(super) fn of(all: &[Evidence]) -> Best {
        let most = |of: fn(&Evidence) -> f32| all.iter().map(of).fold(0.0, f32::max);
        let two = |of: fn(&Evidence) -> f32| {
            let raise = |[most, second]: [f32; 2], value: f32| match value > most {
                true => [value, most],
                false => [most, second.max(value)],
            };
            all.iter().map(of).fold([0.0; 2], raise)
        };
        Best {
            title: most(|evidence| evidence.title),
            technical: most(|evidence| evidence.technical),
            nearest: most(|evidence| evidence.soft.nearest()),
            whole: most(|evidence| evidence.soft.whole),
            total: two(|evidence| evidence.soft.total),
            decided: two(|evidence| evidence.soft.decided()),
        }
    }
}

/// The log-odds that a decision concerns the same subject, minus the threshold: positive means
/// relevant.
pub(super) fn nearness(read: &Read, evidence: &Evidence, best: &Best) -> f32 {
    FAR - IS_NEAR + weighed(&near_inputs(read, evidence, best), &NEAR)
}

/// The features for relevance, in the order of [`NEAR`].
pub(super) fn near_inputs(read: &Read, evidence: &Evidence, best: &Best) -> [f32; NEAR_INPUTS] {
    let part = |value: f32, best: f32| value / best.max(1e-4);
    // The lead over the second, or the distance behind the first.
    let ahead = |value: f32, [most, second]: [f32; 2]| match value >= most {
        true => value - second,
        false => value - most,
    };
    let (soft, relations) = (&evidence.soft, &evidence.relations);
    [
        evidence.cover,
        part(evidence.title, best.title),
        part(evidence.technical, best.technical),
        is(relations.takes_refused.0 > OPTION),
        part(soft.nearest(), best.nearest),
        ahead(soft.total, best.total),
        ahead(soft.decided(), best.decided),
        evidence.total,
        soft.rule.value,
        is(relations.takes_rival),
        is(relations.chosen_taken),
        soft.whole - best.whole,
        soft.trade,
        read.trade() * soft.cover,
    ]
}

/// Classifies a proposal with regard to a decision on the same subject.
pub(super) fn side(read: &Read, evidence: &Evidence) -> Side {
    if let Some((label, ground)) = plain(read, evidence) {
        let certainty = 1.0;
        return Side {
            label,
            certainty,
            ground,
        };
    }
    let inputs = side_inputs(read, evidence);
    let labels = [Label::Conflicts, Label::Supports, Label::Related];
    let mut scores = LEANS;
    for (input, weights) in inputs.iter().zip(&SIDES) {
        for (score, weight) in scores.iter_mut().zip(weights) {
            *score += input * weight;
        }
    }
    let odds = scores.map(f32::exp);
    let best = labels.into_iter().zip(&odds);
    let best = best.max_by(|left, right| left.1.total_cmp(right.1));
    let (label, of_label) = best.map_or((Label::Related, 0.0), |(label, odds)| (label, *odds));
    let label = match label {
        Label::Related if is_used(read, evidence) => Label::Supports,
        _ => label,
    };
    Side {
        label,
        certainty: of_label / odds.iter().sum::<f32>().max(f32::MIN_POSITIVE),
        ground: ground(label, evidence),
    }
}

/// Whether the proposal only says that the chosen option is used.
fn is_used(read: &Read, evidence: &Evidence) -> bool {
    let relations = &evidence.relations;
    let says_one = read.clauses.len() == 1 && read.asks() == 0.0;
    says_one && relations.chosen_used && !relations.takes_rival
}

/// A classification so clear that no weighing is needed.
fn plain(read: &Read, evidence: &Evidence) -> Option<(Label, Ground)> {
    let (soft, relations) = (&evidence.soft, &evidence.relations);
    if read.asks() > 0.0 {
        return None;
    }
    let ends = relations.chosen_ended && !relations.chosen_used;
    let conflicts = soft
        .broken
        .map(Ground::Breaks)
        .or(ends.then_some(Ground::GivesUp));
    let endorsed = soft
        .said_again
        .filter(|_| read.clauses.len() == 1)
        .map(Ground::Same);
    conflicts
        .map(|ground| (Label::Conflicts, ground))
        .or(endorsed.map(|ground| (Label::Supports, ground)))
}

/// Whether the answer reports this label at this relevance. A conflict stops an agent, so it needs
/// more certainty than other labels, above all for a proposal that is hardly technical.
pub(super) fn is_told(read: &Read, evidence: &Evidence, side: &Side, nearness: f32) -> bool {
    match side.label {
        Label::Related => nearness >= 0.0,
        Label::Supports => nearness >= ENDORSES_FROM,
        Label::Conflicts => {
            let relations = &evidence.relations;
            let names_it = relations.takes_rival || relations.takes_refused.0 > OPTION;
            let bound = match evidence.technical > 0.0 {
                _ if names_it => CERTAIN_BY_NAME,
                true => CERTAIN,
                false => CERTAIN_BY_ITSELF,
            };
            nearness >= CONFLICTS_FROM && side.certainty + read.trade() >= bound
        }
    }
}

/// The features for the label, in the order of [`SIDES`].
pub(super) fn side_inputs(read: &Read, evidence: &Evidence) -> [f32; SIDE_INPUTS] {
    let (soft, relations) = (&evidence.soft, &evidence.relations);
    let [undoes, impatient, refuses, carries_out, leaves_open] = read.cues;
    [
        soft.rule.alike,
        soft.rule.contrary,
        relations.said_same.0,
        relations.restates,
        relations.takes_refused.0,
        relations.breaks.0,
        is(relations.beyond.is_some()),
        soft.instead.0,
        soft.takes_dropped,
        soft.drops_taken,
        soft.drops_dropped,
        soft.takes_unknown,
        soft.part_taken,
        soft.part_against,
        soft.part_dropped,
        read.trade(),
        read.asks(),
        undoes,
        impatient,
        refuses,
        carries_out,
        leaves_open,
    ]
}

/// The ground for a label: the most certain evidence for it.
fn ground(label: Label, evidence: &Evidence) -> Ground {
    let (soft, relations) = (&evidence.soft, &evidence.relations);
    let near = Ground::Near(soft.rule.at);
    match label {
        Label::Conflicts => against(relations)
            .or(soft.instead.1.map(Ground::Instead))
            .or(over(soft.against, CONTRARY).map(Ground::Against))
            .or(relations.chosen_dropped.then_some(Ground::GivesUp))
            .or(soft.rule.at.map(Ground::Against))
            .unwrap_or(near),
        Label::Supports => {
            let refused = over(relations.drops_refused, OPTION).map(Ground::DropsRefused);
            let same = soft.rule.at.map(Ground::Same);
            let restates = (relations.restates >= TITLE).then_some(Ground::Restates);
            refused.or(same).or(restates).unwrap_or(near)
        }
        Label::Related => near,
    }
}

/// The ground for a conflict with something that the decision states.
fn against(relations: &Relations) -> Option<Ground> {
    None.or(over(relations.takes_refused, OPTION).map(Ground::TakesRefused))
        .or(relations.takes_rival.then_some(Ground::TakesRival))
        .or(over(relations.breaks, BOUND).map(Ground::Breaks))
        .or(relations.beyond.map(Ground::Beyond))
}

fn over(most: (f32, Option<usize>), bound: f32) -> Option<usize> {
    most.1.filter(|_| most.0 > bound)
}

fn is(is: bool) -> f32 {
    f32::from(u8::from(is))
}

fn weighed(inputs: &[f32], weights: &[f32]) -> f32 {
    let both = inputs.iter().zip(weights);
    both.map(|(input, weight)| input * weight).sum()
}
