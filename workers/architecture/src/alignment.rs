//! Whether a proposal fits what was decided: which decisions are about the same, and which side of
//! them it takes.
//!
//! Nothing is asked of a model, so the same texts always get the same answer. A decision is read once
//! ([`Positions`]): what it chose, turned down, rules and leaves open. A proposal is read the same way,
//! clause by clause, and held against each.

// In the order in which a text is read.
mod names;
mod words;
mod measures;
mod clauses;
mod meaning;
mod lexicon;
mod positions;
mod evidence;
mod judge;
mod told;
mod sentences;
mod refined;

use archway_repo::{Cancel, Stopped};
use evidence::{Evidence, Matches, Read, Weights};
use judge::{Best, Ground};

use super::adr::Status;
use super::markdown::Markdown;
pub use judge::Label;
pub(crate) use positions::Positions;
pub use refined::Verdict;

/// A decision, as a proposal is held against it.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// What it is called: its number, or its file's stem.
    pub id: &'a str,
    /// Where it stands.
    pub status: Status,
    /// Those that supersede it, by their places.
    pub successors: &'a [usize],
    /// What it holds.
    pub positions: &'a Positions,
    /// Its text, read.
    pub markdown: &'a Markdown,
    /// Its text, as it is written.
    pub source: &'a str,
}

/// What somebody wants to decide.
#[derive(Clone, Copy, Debug)]
pub struct Proposal<'a> {
    /// What is to be done.
    pub description: &'a str,
    /// The problem, or what stands around it.
    pub context: Option<&'a str>,
}

/// What a proposal means for the decisions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Alignment {
    /// Those that are about the same: conflicts first, then by how near they are.
    pub found: Vec<Finding>,
    /// What to do next, a sentence each.
    pub suggestions: Vec<String>,
}

/// What a proposal means for one decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Which one, by its place.
    pub decision: usize,
    /// What it means for it.
    pub label: Label,
    /// Why, with the sentence that this rests on.
    pub reason: String,
    /// What the conflict is, if it is one.
    pub conflict: Option<String>,
}

/// Holds a proposal against decisions.
///
/// # Errors
/// If the call has to stop.
pub fn align(
    decisions: &[Decision<'_>],
    proposal: &Proposal<'_>,
    cancel: &Cancel,
) -> Result<Alignment, Stopped> {
    let read = Read::of(proposal.description, proposal.context);
    let weights = Weights::of(decisions.iter().map(|decision| decision.positions));
    let all = decisions.iter().map(|decision| decision.positions);
    let matches = Matches::of(&read, all, &weights);
    let mut evidence = Vec::with_capacity(decisions.len());
    for decision in decisions {
        cancel.check()?;
        evidence.push(Evidence::of(&read, decision.positions, &matches, &weights));
    }
    let mut judged = judged(&read, &evidence);
    for (at, _, label, _) in &mut judged {
        if decisions
            .get(*at)
            .is_some_and(|decision| binds_nobody(decision.status))
        {
            *label = Label::Related;
        }
    }
    judged.sort_by(|left, right| left.2.cmp(&right.2).then(right.1.total_cmp(&left.1)));
    let finding = |(at, _, label, ground): &(usize, f32, Label, Ground)| {
        let decision = decisions.get(*at)?;
        Some(Finding {
            decision: *at,
            label: *label,
            reason: told::reason(decisions, decision, *label, *ground),
            conflict: (*label == Label::Conflicts).then(|| told::conflict(decision, *ground)),
        })
    };
    let found: Vec<Finding> = judged.iter().filter_map(finding).collect();
    let suggestions = told::suggestions(decisions, &found);
    Ok(Alignment { found, suggestions })
}

/// The decisions that are about the same, how near each is, and which side the proposal takes.
fn judged(read: &Read, evidence: &[Evidence]) -> Vec<(usize, f32, Label, Ground)> {
    let best = Best::of(evidence);
    let judge = |(at, evidence)| {
        let nearness = judge::nearness(read, evidence, &best);
        let side = judge::side(read, evidence);
        let is_told = judge::is_told(read, evidence, &side, nearness);
        is_told.then_some((at, nearness, side.label, side.ground))
    };
    evidence.iter().enumerate().filter_map(judge).collect()
}

/// Whether a decision doesn't hold, or not yet: it is related at most.
fn binds_nobody(status: Status) -> bool {
    matches!(
        status,
        Status::Proposed | Status::Deprecated | Status::Superseded
    )
}

#[cfg(test)]
mod tests;
