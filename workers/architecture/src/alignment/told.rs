//! The texts of findings: the reason with a quotation, and the next steps.

use super::judge::Ground;
use super::positions::{Kind, Statement};
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
            "Superseded{}, which counts",
            successors(decisions, decision)
        ),
        Status::Deprecated => "Deprecated, so it binds nobody".to_owned(),
        Status::Proposed => "Only proposed, so it binds nobody yet".to_owned(),
        Status::Rejected if label == Label::Conflicts => {
            "Repeats what was proposed and rejected".to_owned()
        }
        _ => said(label, ground).to_owned(),
    };
    match quote {
        Some(quote) => format!("{why}: \"{quote}\""),
        None => format!("{why}."),
    }
}

/// A description of a conflict.
pub(super) fn conflict(decision: &Decision<'_>, ground: Ground) -> String {
    let what = match ground {
        Ground::TakesRefused(_) => "The proposal adopts an option that the decision turned down.",
        Ground::TakesRival | Ground::Instead(_) => {
            "The proposal takes something else than what the decision chose for this."
        }
        Ground::Breaks(_) => "The proposal breaks a bound that the decision states.",
        Ground::Beyond(_) => {
            "The proposal uses something beyond the scope for which the decision allows it."
        }
        Ground::GivesUp => "The proposal gives up what the decision chose.",
        _ => "The proposal says the contrary of what the decision rules.",
    };
    match quote(decision, ground) {
        Some(quote) => format!("{what} It says: \"{quote}\""),
        None => what.to_owned(),
    }
}

/// The suggested next steps.
pub(super) fn suggestions(decisions: &[Decision<'_>], found: &[Finding]) -> Vec<String> {
    let mut told = Vec::new();
    for finding in found {
        let Some(decision) = decisions.get(finding.decision) else {
            continue;
        };
        let id = decision.id;
        match (finding.label, decision.status) {
            (Label::Conflicts, Status::Rejected) => told.push(format!(
                "ADR {id} was rejected; say what has changed since, or choose what it recommends instead."
            )),
            (Label::Conflicts, _) => told.push(format!(
                "Change the proposal to keep to ADR {id}, or write a decision that supersedes ADR {id} explicitly and says why its reasons no longer hold."
            )),
            (_, Status::Superseded) if !decision.successors.is_empty() => told.push(format!(
                "ADR {id} no longer holds; look at what superseded it: {}.",
                ids(decisions, decision)
            )),
            (_, Status::Proposed) => told.push(format!("ADR {id} is only proposed; settle it together with this.")),
            _ => {}
        }
    }
    if found
        .iter()
        .all(|finding| finding.label != Label::Conflicts)
    {
        told.push(without_conflict(decisions, found));
    }
    told
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

fn said(label: Label, ground: Ground) -> &'static str {
    match ground {
        Ground::TakesRefused(_) => "Adopts what was turned down",
        Ground::TakesRival | Ground::Instead(_) => "Takes another thing than was chosen",
        Ground::Breaks(_) => "Breaks a bound",
        Ground::Beyond(_) => "Goes beyond what is allowed",
        Ground::Against(_) => "Says the contrary",
        Ground::GivesUp => "Gives up what was chosen",
        Ground::DropsRefused(_) => "Turns down again what was turned down",
        Ground::Same(_) | Ground::Restates => "Restates or carries out the decision",
        Ground::Near(_) if label == Label::Related => {
            "The same subject, neither endorsed nor forbidden"
        }
        Ground::Near(_) => "The same subject",
    }
}

fn successors(decisions: &[Decision<'_>], decision: &Decision<'_>) -> String {
    let ids = ids(decisions, decision);
    match ids.is_empty() {
        true => String::new(),
        false => format!(" by {ids}"),
    }
}

/// The ids of the decisions that supersede this one.
fn ids(decisions: &[Decision<'_>], decision: &Decision<'_>) -> String {
    let successors = decision.successors.iter();
    let successors = successors.filter_map(|at| decisions.get(*at));
    let ids: Vec<String> = successors
        .map(|successor| format!("ADR {}", successor.id))
        .collect();
    ids.join(" and ")
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
    let stated = match ground {
        Ground::TakesRefused(at) | Ground::DropsRefused(at) => {
            positions.refused.get(at)?.sentence.as_ref()
        }
        Ground::Breaks(at)
        | Ground::Beyond(at)
        | Ground::Against(at)
        | Ground::Instead(at)
        | Ground::Same(at)
        | Ground::Near(Some(at)) => of_statement(at),
        Ground::TakesRival | Ground::GivesUp | Ground::Restates | Ground::Near(None) => None,
    };
    stated.or_else(|| choosing(decision))
}

/// The sentence that states what was chosen; otherwise the first rule, otherwise the first
/// sentence.
fn choosing<'a>(decision: &Decision<'a>) -> Option<&'a Passage> {
    let positions = decision.positions;
    let statements = || {
        positions
            .statements
            .iter()
            .filter(|statement| statement.sentence.is_some())
    };
    let is_chosen = |concept| positions.chosen.iter().any(|term| term.concept == concept);
    let is_rule = |statement: &&Statement| statement.kind == Kind::Rule;
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
