//! Checks whether a proposal agrees with recorded decisions: which decisions concern the same
//! subject, and whether the proposal conflicts with or supports them.
//!
//! No model takes part, so equal texts always get equal answers. Each decision is analysed once
//! ([`Positions`]). A proposal is read the same way. First the decisions that it concerns are found, then
//! the sentence of each that decides, and at last the few cases in which a conflict is certain.

// In processing order.
mod embedding;
mod names;
mod tokens;
mod measures;
mod words;
mod positions;
mod retrieval;
mod quote;
mod judgment;
mod explain;
mod sentences;
mod refine;

use archway_repo::{Cancel, Stopped};
use judgment::{Found, Ground, Pair};
use retrieval::{ParsedProposal, Rarity};

use super::adr::Status;
use super::markdown::Markdown;
pub(crate) use positions::Positions;
pub use refine::ModelVerdict;

/// How much worse the second sentence may be for a reason to quote it, too.
const SECOND_QUOTE: f32 = 1.0;

/// At most this many decisions are answered, with successors.
const MAX_ANSWERED: usize = 12;

/// The relation of a proposal to a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// The proposal goes against the decision.
    Conflicts,
    /// A sentence of the decision endorses the proposal.
    Supports,
    /// Both concern the same subject, and nothing certainly endorses or forbids the proposal.
    Related,
}

/// A decision to compare a proposal with.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// The decision's number, or its file's stem.
    pub id: &'a str,
    /// The status.
    pub status: Status,
    /// Indexes of the decisions that supersede this one.
    pub successors: &'a [usize],
    /// The analysed decision.
    pub positions: &'a Positions,
    /// The parsed text.
    pub markdown: &'a Markdown,
    /// The text as written.
    pub source: &'a str,
}

/// A proposed change.
#[derive(Clone, Copy, Debug)]
pub struct Proposal<'a> {
    /// The change itself.
    pub description: &'a str,
    /// The problem or background.
    pub context: Option<&'a str>,
    /// The cosine of the description and the nearest passage of each decision, in order, if an
    /// embedding service gave vectors.
    pub nearest: Option<&'a [f32]>,
}

/// The result of comparing a proposal with all decisions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Alignment {
    /// The related decisions: conflicts first, then by descending relevance.
    pub found: Vec<Finding>,
    /// Suggested next steps, one sentence each.
    pub suggestions: Vec<String>,
}

/// The result of comparing a proposal with one decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Index of the decision.
    pub decision: usize,
    /// The label.
    pub label: Label,
    /// The reason, quoting the sentence it is based on.
    pub reason: String,
    /// A description of the conflict, if there is one.
    pub conflict: Option<String>,
}

/// Compares a proposal with decisions.
///
/// # Errors
/// If the call is cancelled.
pub fn align(
    decisions: &[Decision<'_>],
    proposal: &Proposal<'_>,
    cancel: &Cancel,
) -> Result<Alignment, Stopped> {
    let parsed = ParsedProposal::of(proposal.description, proposal.context);
    let all: Vec<&Positions> = decisions
        .iter()
        .map(|decision| decision.positions)
        .collect();
    let rarity = Rarity::of(all.iter().copied());
    cancel.check()?;
    let ranked = retrieval::find(&parsed, &all, proposal.nearest, &rarity, cancel)?;
    let mut found = Vec::new();
    let mut rank = 0;
    for (at, relevance) in with_successors(decisions, ranked) {
        cancel.check()?;
        let Some(decision) = decisions.get(at) else {
            continue;
        };
        let pair = Pair {
            proposal: &parsed,
            positions: decision.positions,
            rarity: &rarity,
            cancel,
        };
        let how = Found {
            relevance,
            rank,
            status: decision.status,
        };
        found.push(finding(decisions, at, decision, &pair, how)?);
        rank += usize::from(!is_not_in_effect(decision.status));
    }
    // A stable sort: the order by relevance remains within a label.
    found.sort_by_key(|finding| finding.label != Label::Conflicts);
    let suggestions = explain::suggestions(decisions, &found);
    Ok(Alignment { found, suggestions })
}

fn finding(
    decisions: &[Decision<'_>],
    at: usize,
    decision: &Decision<'_>,
    pair: &Pair<'_>,
    how: Found,
) -> Result<Finding, Stopped> {
    let statements = quote::ranked(pair.proposal, decision.positions);
    let ground = match is_not_in_effect(decision.status) {
        true => Ground::Nearest,
        false => pair.judge(how, &statements)?,
    };
    let label = ground.label();
    let (statement, other) = quoted(decision.positions, ground, &statements);
    Ok(Finding {
        decision: at,
        label,
        reason: explain::reason(decisions, decision, ground, (statement, other)),
        conflict: (label == Label::Conflicts)
            .then(|| explain::conflict(decision, ground, statement)),
    })
}

/// The statements to quote: the one that the ground rests on, and the likeliest other one if it is near.
fn quoted(
    positions: &Positions,
    ground: Ground,
    ranked: &[(usize, f32)],
) -> (Option<usize>, Option<usize>) {
    let likeliest = ranked.first().copied();
    let certain = match ground {
        Ground::AdoptsRejected(at) | Ground::TurnsDownRejected(at) => at,
        Ground::BreaksLimit(at) | Ground::BreaksProhibition(at) | Ground::Endorsed(at) => Some(at),
        Ground::AdoptsAlternative | Ground::DropsChosen => positions.choice(),
        Ground::RepeatsRejected | Ground::Nearest => None,
    };
    let first = certain.or(likeliest.map(|(at, _)| at));
    let best = likeliest.map_or(0.0, |(_, score)| score);
    let mut others = ranked
        .iter()
        .filter(|(at, score)| Some(*at) != first && *score >= best - SECOND_QUOTE);
    (first, others.next().map(|(at, _)| *at))
}

/// The decisions found, each that is superseded followed by its successors and theirs, at most [`MAX_ANSWERED`].
fn with_successors(decisions: &[Decision<'_>], ranked: Vec<(usize, f32)>) -> Vec<(usize, f32)> {
    let mut all: Vec<(usize, f32)> = Vec::new();
    for (at, relevance) in ranked {
        let mut next = vec![at];
        while let Some(at) = next.pop() {
            let is_new = all.iter().all(|(other, _)| *other != at);
            if !is_new || all.len() >= MAX_ANSWERED {
                continue;
            }
            all.push((at, relevance));
            let superseded = decisions.get(at);
            let superseded = superseded.filter(|one| one.status == Status::Superseded);
            next.extend(superseded.into_iter().flat_map(|one| one.successors));
        }
    }
    all
}

/// Whether a decision is not in effect, or not yet. Such a decision is at most related.
fn is_not_in_effect(status: Status) -> bool {
    matches!(
        status,
        Status::Proposed | Status::Deprecated | Status::Superseded
    )
}

#[cfg(test)]
mod tests;
