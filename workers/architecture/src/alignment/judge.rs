//! What a proposal means for a decision, by the evidence.
//!
//! First, whether it is about the same subject at all; then, which side it takes. Both are weighed
//! sums, whose weights were learned ([`weights`]); what a label rests on is then looked for among the
//! evidence for it.

mod weights;

use super::evidence::{Evidence, Read, Relations};
use weights::{FAR, IS_NEAR, LEANS, NEAR, SIDES};

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
    /// A rival of what a statement takes is taken.
    Instead(usize),
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

/// A label, how likely it is among the three, and what it rests on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    pub(super) label: Label,
    pub(super) certainty: f32,
    pub(super) ground: Ground,
}

/// How many things are weighed for nearness, and for the side.
const NEAR_INPUTS: usize = 14;
const SIDE_INPUTS: usize = 22;

/// How much nearer than for being related a decision has to be for the other labels: likely by a
/// half, and by 0.6. Found by cross-validation, as were the next.
const ENDORSES_FROM: f32 = 0.53;
const CONFLICTS_FROM: f32 = 0.94;
/// How likely among the three a conflict has to be, more where the proposal is less of the trade;
/// where it names a rival or an option that was turned down; and where it shares no word of the
/// trade with the decision.
const CERTAIN: f32 = 0.45;
const CERTAIN_BY_NAME: f32 = 0.3;
const CERTAIN_BY_ITSELF: f32 = 0.75;

/// How much of an option's name has to be named.
const OPTION: f32 = 0.6;
/// How much has to be shared with a statement whose bound is broken.
const BOUND: f32 = 1.2;
/// How much of a title is said where it is said again.
const TITLE: f32 = 0.6;
/// How much is said with the contrary where that is what a conflict rests on.
const CONTRARY: f32 = 0.15;

/// The two decisions that have most of each kind of evidence.
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

/// How likely it is that a decision is about the same: the logarithm of the odds, 0 from where on it
/// is taken to be.
pub(super) fn nearness(read: &Read, evidence: &Evidence, best: &Best) -> f32 {
    FAR - IS_NEAR + weighed(&near_inputs(read, evidence, best), &NEAR)
}

/// What is weighed for nearness, in the order of [`NEAR`].
pub(super) fn near_inputs(read: &Read, evidence: &Evidence, best: &Best) -> [f32; NEAR_INPUTS] {
    let part = |value: f32, best: f32| value / best.max(1e-4);
    // How far it is ahead of the next, or behind the first.
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

/// Which side a proposal takes of a decision that is about the same.
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

/// Whether a proposal says nothing but that what was chosen is used.
fn is_used(read: &Read, evidence: &Evidence) -> bool {
    let relations = &evidence.relations;
    let says_one = read.clauses.len() == 1 && read.asks() == 0.0;
    says_one && relations.chosen_used && !relations.takes_rival
}

/// What is said so plainly that nothing has to be weighed.
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

/// Whether the answer reports this side of a decision at this nearness. A conflict stops an agent,
/// so it has to be more certain than the rest, above all where a proposal is hardly technical.
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

/// What is weighed for the side, in the order of [`SIDES`].
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

/// What a label rests on: the most certain of what speaks for it.
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

/// What a decision states, and a proposal goes against.
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
