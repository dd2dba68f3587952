//! The texts of findings: the reason with a quotation, and the next steps.

use super::judgment::Ground;
use super::{Decision, Finding, Label, Status};

/// The longest quotation, in bytes.
const MAX_QUOTE: usize = 600;

/// The reason for a finding. It quotes the sentence that decides, and a second one where that is nearly as likely.
pub(super) fn reason(
    decisions: &[Decision<'_>],
    decision: &Decision<'_>,
    ground: Ground,
    (statement, other): (Option<usize>, Option<usize>),
) -> String {
    let why = match decision.status {
        Status::Superseded => format!(
            "Superseded{}, so it is not in effect",
            successors(decisions, decision)
        ),
        Status::Deprecated => "Deprecated, so it is not in effect".to_owned(),
        Status::Proposed => "Only proposed, so it is not in effect yet".to_owned(),
        _ => why(ground).to_owned(),
    };
    let also = |statement| quote(decision, statement).map(|quote| format!(" Also: \"{quote}\""));
    match quote(decision, statement) {
        Some(quote) => format!("{why}: \"{quote}\"{}", also(other).unwrap_or_default()),
        None => format!("{why}."),
    }
}

fn why(ground: Ground) -> &'static str {
    match ground {
        Ground::RepeatsRejected => "Repeats a rejected proposal",
        Ground::AdoptsRejected(_) => "Adopts a rejected option",
        Ground::AdoptsAlternative => "Adopts an alternative to the chosen option",
        Ground::DropsChosen => "Drops the chosen option",
        Ground::BreaksLimit(_) => "Violates a limit",
        Ground::BreaksProhibition(_) => "Does what the decision forbids",
        Ground::TurnsDownRejected(_) => "Rejects what the decision rejected",
        Ground::Endorsed(_) => "Restates or carries out the decision",
        Ground::Nearest => "The same subject; check whether the proposal keeps to it",
    }
}

/// A description of a conflict.
pub(super) fn conflict(
    decision: &Decision<'_>,
    ground: Ground,
    statement: Option<usize>,
) -> String {
    let description = match ground {
        Ground::RepeatsRejected => "The proposal repeats what was rejected.",
        Ground::AdoptsRejected(_) => "The proposal adopts an option that the decision rejected.",
        Ground::AdoptsAlternative => {
            "The proposal adopts an alternative to what the decision chose."
        }
        Ground::BreaksLimit(_) => "The proposal violates a limit that the decision sets.",
        Ground::DropsChosen => "The proposal drops what the decision chose.",
        Ground::BreaksProhibition(_)
        | Ground::TurnsDownRejected(_)
        | Ground::Endorsed(_)
        | Ground::Nearest => "The proposal does what the decision forbids.",
    };
    match quote(decision, statement) {
        Some(quote) => format!("{description} It says: \"{quote}\""),
        None => description.to_owned(),
    }
}

/// A statement as written in the decision.
fn quote(decision: &Decision<'_>, statement: Option<usize>) -> Option<String> {
    let statement = decision.positions.statements.get(statement?)?;
    let mut quote = statement
        .passage
        .verbatim(decision.markdown, decision.source);
    if quote.len() > MAX_QUOTE {
        // Cut between words, so that the quotation stays verbatim.
        let end = quote.floor_char_boundary(MAX_QUOTE);
        let end = quote
            .get(..end)
            .and_then(|text| text.rfind(' '))
            .unwrap_or(end);
        quote.truncate(end);
    }
    (!quote.is_empty()).then_some(quote)
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
