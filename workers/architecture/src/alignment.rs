//! Checks whether a proposal agrees with recorded decisions: which decisions concern the same
//! subject, and whether the proposal conflicts with or supports them.
//!
//! No model takes part, so equal texts always get equal answers. Each decision is analysed once
//! ([`Positions`]): what it chose, rejected, rules and leaves open. A proposal is analysed the same
//! way, clause by clause, and compared with each decision.

// In processing order.
mod names;
mod words;
mod measures;
mod clauses;
mod embedding;
mod lexicon;
mod positions;
mod evidence;
mod classifier;
mod explain;
mod sentences;
mod refine;

use archway_repo::{Cancel, Stopped};
use classifier::{Ground, Maxima};
use evidence::{Evidence, ParsedProposal, Weights, WordMatches};

use super::adr::Status;
use super::markdown::Markdown;
pub use classifier::Label;
pub(crate) use positions::Positions;
pub use refine::ModelVerdict;

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
    let weights = Weights::of(decisions.iter().map(|decision| decision.positions));
    let all = decisions.iter().map(|decision| decision.positions);
    let matches = WordMatches::of(&parsed, all, &weights);
    let mut evidence = Vec::with_capacity(decisions.len());
    for decision in decisions {
        cancel.check()?;
        evidence.push(Evidence::of(
            &parsed,
            decision.positions,
            &matches,
            &weights,
        ));
    }
    let mut reported = reported(&parsed, &evidence);
    for (at, _, label, _) in &mut reported {
        if decisions
            .get(*at)
            .is_some_and(|decision| is_not_in_effect(decision.status))
        {
            *label = Label::Related;
        }
    }
    reported.sort_by(|left, right| left.2.cmp(&right.2).then(right.1.total_cmp(&left.1)));
    let finding = |(at, _, label, ground): &(usize, f32, Label, Ground)| {
        let decision = decisions.get(*at)?;
        Some(Finding {
            decision: *at,
            label: *label,
            reason: explain::reason(decisions, decision, *label, *ground),
            conflict: (*label == Label::Conflicts).then(|| explain::conflict(decision, *ground)),
        })
    };
    let found: Vec<Finding> = reported.iter().filter_map(finding).collect();
    let suggestions = explain::suggestions(decisions, &found);
    Ok(Alignment { found, suggestions })
}

/// The decisions to report: index, relevance, label and ground of each.
fn reported(parsed: &ParsedProposal, evidence: &[Evidence]) -> Vec<(usize, f32, Label, Ground)> {
    let maxima = Maxima::of(evidence);
    let report = |(at, evidence)| {
        let relevance = classifier::relevance(parsed, evidence, &maxima);
        let classification = classifier::classify(parsed, evidence);
        let is_reported = classifier::is_reported(parsed, evidence, &classification, relevance);
        is_reported.then_some((at, relevance, classification.label, classification.ground))
    };
    evidence.iter().enumerate().filter_map(report).collect()
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
