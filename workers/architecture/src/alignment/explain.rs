//! The texts of findings: the reason with a quotation, and the next steps.

use super::classifier::Ground;
use super::positions::{Statement, StatementKind};
use super::{Decision, Finding, Label, Status};
use crate::adr::Passage;

/// The longest quotation, in bytes.
const MAX_QUOTE: usize = 600;

/// The reason for a finding, quoting the sentence it is based on.
pub(super) fn reason(
    decisions: &[Decision<'_>],
    decision: &Decision<'_>,
    label: Label,
    ground: Ground,
) -> String {
    let quote = quote(decision, ground);
    let why = match decision.status {
        Status::Superseded => format!(
            "Superseded{}, so it is not in effect",
            successors(decisions, decision)
        ),
        Status::Deprecated => "Deprecated, so it is not in effect".to_owned(),
        Status::Proposed => "Only proposed, so it is not in effect yet".to_owned(),
        Status::Rejected if label == Label::Conflicts => "Repeats a rejected proposal".to_owned(),
        _ => label_reason(label, ground).to_owned(),
    };
    match quote {
        Some(quote) => format!("{why}: \"{quote}\""),
        None => format!("{why}."),
    }
}

/// A description of a conflict.
pub(super) fn conflict(decision: &Decision<'_>, ground: Ground) -> String {
    let description = match ground {
        Ground::AdoptsRejected(_) => "The proposal adopts an option that the decision rejected.",
        Ground::AdoptsAlternative | Ground::Replaces(_) => {
            "The proposal adopts an alternative to what the decision chose."
        }
        Ground::ViolatesBound(_) => "The proposal violates a limit that the decision sets.",
        Ground::OutOfScope(_) => {
            "The proposal uses something outside of the scope that the decision allows."
        }
        Ground::DropsChosen => "The proposal drops what the decision chose.",
        _ => "The proposal contradicts the decision.",
    };
    match quote(decision, ground) {
        Some(quote) => format!("{description} It says: \"{quote}\""),
        None => description.to_owned(),
    }
}

/// The suggested next steps.
pub(super) fn suggestions(decisions: &[Decision<'_>], found: &[Finding]) -> Vec<String> {
    let mut suggestions = Vec::new();
    for finding in found {
        let Some(decision) = decisions.get(finding.decision) else {
            continue;
        };
        let id = decision.id;
        match (finding.label, decision.status) {
            (Label::Conflicts, Status::Rejected) => suggestions.push(format!(
                "ADR {id} was rejected; say what has changed since, or choose what it recommends instead."
            )),
            (Label::Conflicts, _) => suggestions.push(format!(
                "Change the proposal to keep to ADR {id}, or write a decision that supersedes ADR {id} explicitly and says why its reasons no longer hold."
            )),
            (_, Status::Superseded) if !decision.successors.is_empty() => suggestions.push(format!(
                "ADR {id} is superseded; read its successor: {}.",
                successor_ids(decisions, decision)
            )),
            (_, Status::Proposed) => suggestions.push(format!("ADR {id} is only proposed; decide on it together with this.")),
            _ => {}
        }
    }
    if found
        .iter()
        .all(|finding| finding.label != Label::Conflicts)
    {
        suggestions.push(without_conflict(decisions, found));
    }
    suggestions
}

fn without_conflict(decisions: &[Decision<'_>], found: &[Finding]) -> String {
    let endorsing = found
        .iter()
        .find(|finding| finding.label == Label::Supports);
    let id = endorsing.and_then(|finding| decisions.get(finding.decision));
    match (id, found.is_empty()) {
        _ if decisions.is_empty() => {
            "The project has no ADRs; write this one as the first, in docs/adr.".to_owned()
        }
        (_, true) => "No ADR is about this; name its subject in the words of the project and try search_architecture, or write a new ADR.".to_owned(),
        (Some(decision), _) => format!("Refer to ADR {} in the proposal.", decision.id),
        (None, _) => "No ADR found here clearly allows or forbids this; read the related ones, then write a new ADR.".to_owned(),
    }
}

fn label_reason(label: Label, ground: Ground) -> &'static str {
    match ground {
        Ground::AdoptsRejected(_) => "Adopts a rejected option",
        Ground::AdoptsAlternative | Ground::Replaces(_) => {
            "Adopts an alternative to the chosen option"
        }
        Ground::ViolatesBound(_) => "Violates a limit",
        Ground::OutOfScope(_) => "Exceeds the allowed scope",
        Ground::Contradicts(_) => "Contradicts the decision",
        Ground::DropsChosen => "Drops the chosen option",
        Ground::DropsRejected(_) => "Rejects what the decision rejected",
        Ground::Repeats(_) | Ground::RepeatsTitle => "Restates or carries out the decision",
        Ground::Nearest(_) if label == Label::Related => {
            "The same subject, neither endorsed nor forbidden"
        }
        Ground::Nearest(_) => "The same subject",
    }
}

fn successors(decisions: &[Decision<'_>], decision: &Decision<'_>) -> String {
    let successor_ids = successor_ids(decisions, decision);
    match successor_ids.is_empty() {
        true => String::new(),
        false => format!(" by {successor_ids}"),
    }
}

/// The ids of the decisions that supersede this one.
fn successor_ids(decisions: &[Decision<'_>], decision: &Decision<'_>) -> String {
    let successors = decision.successors.iter();
    let successors = successors.filter_map(|at| decisions.get(*at));
    let successor_ids: Vec<String> = successors
        .map(|successor| format!("ADR {}", successor.id))
        .collect();
    successor_ids.join(" and ")
}

/// The sentence that a ground is based on, as written in the decision.
fn quote(decision: &Decision<'_>, ground: Ground) -> Option<String> {
    let sentence = sentence(decision, ground)?;
    let mut quote = sentence.verbatim(decision.markdown, decision.source);
    if quote.len() > MAX_QUOTE {
        // Cut between words, so that the quotation stays verbatim.
        let end = quote.floor_char_boundary(MAX_QUOTE);
        let end = quote
            .get(..end)
            .and_then(|text| text.rfind(' '))
            .unwrap_or(end);
        quote.truncate(end);
    }
    Some(quote)
}

fn sentence<'a>(decision: &Decision<'a>, ground: Ground) -> Option<&'a Passage> {
    let positions = decision.positions;
    let of_statement = |at: usize| positions.statements.get(at)?.sentence.as_ref();
    let passage = match ground {
        Ground::AdoptsRejected(at) | Ground::DropsRejected(at) => {
            positions.rejected.get(at)?.sentence.as_ref()
        }
        Ground::ViolatesBound(at)
        | Ground::OutOfScope(at)
        | Ground::Contradicts(at)
        | Ground::Replaces(at)
        | Ground::Repeats(at)
        | Ground::Nearest(Some(at)) => of_statement(at),
        Ground::AdoptsAlternative
        | Ground::DropsChosen
        | Ground::RepeatsTitle
        | Ground::Nearest(None) => None,
    };
    passage.or_else(|| chosen_sentence(decision))
}

/// The sentence that states what was chosen; otherwise the first rule, otherwise the first
/// sentence.
fn chosen_sentence<'a>(decision: &Decision<'a>) -> Option<&'a Passage> {
    let positions = decision.positions;
    let statements = || {
        positions
            .statements
            .iter()
            .filter(|statement| statement.sentence.is_some())
    };
    let is_chosen = |concept| positions.chosen.iter().any(|term| term.concept == concept);
    let is_rule = |statement: &&Statement| statement.kind == StatementKind::Rule;
    let names = |statement: &&Statement| {
        statement
            .clause
            .terms
            .iter()
            .any(|term| is_chosen(term.concept))
    };
    let rule = statements().filter(is_rule).find(names);
    let rule = rule
        .or_else(|| statements().find(is_rule))
        .or_else(|| statements().next());
    rule?.sentence.as_ref()
}
