//! The status of a decision, as its record states it.

use super::Passage;
use super::parts::{Part, Segment};
use super::relations;
use crate::markdown::Markdown;

/// The status of a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Status {
    /// Under discussion.
    Proposed,
    /// In effect.
    Accepted,
    /// Decided against.
    Rejected,
    /// No longer in effect, without a replacement.
    Deprecated,
    /// Replaced by another decision.
    Superseded,
    /// The record states no status, or one that is not recognized.
    #[default]
    Unknown,
}

impl Status {
    /// The status as answers write it.
    pub fn name(self) -> &'static str {
        match self {
            Status::Proposed => "proposed",
            Status::Accepted => "accepted",
            Status::Rejected => "rejected",
            Status::Deprecated => "deprecated",
            Status::Superseded => "superseded",
            Status::Unknown => "unknown",
        }
    }

    /// Whether the decision is not in effect: rejected, deprecated or superseded.
    pub fn is_inactive(self) -> bool {
        match self {
            Status::Rejected | Status::Deprecated | Status::Superseded => true,
            Status::Proposed | Status::Accepted | Status::Unknown => false,
        }
    }
}

/// Prefixes of words that state a status.
const WORDS: [(&str, Status); 32] = [
    ("propos", Status::Proposed),
    ("draft", Status::Proposed),
    ("pending", Status::Proposed),
    ("open", Status::Proposed),
    ("review", Status::Proposed),
    ("discussi", Status::Proposed),
    ("rfc", Status::Proposed),
    ("wip", Status::Proposed),
    ("undecided", Status::Proposed),
    ("accept", Status::Accepted),
    ("approv", Status::Accepted),
    ("adopt", Status::Accepted),
    ("agreed", Status::Accepted),
    ("decided", Status::Accepted),
    ("implemented", Status::Accepted),
    ("done", Status::Accepted),
    ("active", Status::Accepted),
    ("final", Status::Accepted),
    ("ratified", Status::Accepted),
    ("reject", Status::Rejected),
    ("declined", Status::Rejected),
    ("withdrawn", Status::Rejected),
    ("abandoned", Status::Rejected),
    ("refused", Status::Rejected),
    ("deprecat", Status::Deprecated),
    ("obsolete", Status::Deprecated),
    ("retired", Status::Deprecated),
    ("inactive", Status::Deprecated),
    ("superseded", Status::Superseded),
    ("superceded", Status::Superseded),
    ("replaced", Status::Superseded),
    ("supplanted", Status::Superseded),
];

/// The status from front matter, otherwise from status lines.
pub(super) fn of(markdown: &Markdown, segments: &[Segment]) -> Status {
    let names = ["status", "state", "decision-status"];
    let field = names.into_iter().find_map(|name| markdown.field(name));
    if let Some(status) = field.map(|field| of_text(&field.value())) {
        return status;
    }
    let segments = segments
        .iter()
        .filter(|segment| segment.part == Part::Status);
    let lines = segments.flat_map(|segment| segment.passage.text(markdown).lines());
    let mut statuses = lines.map(|line| (of_text(line), date_in(line)));
    let Some(first) = statuses.find(|(status, _)| *status != Status::Unknown) else {
        return Status::Unknown;
    };
    let mut found = vec![first];
    found.extend(statuses.filter(|(status, _)| *status != Status::Unknown));
    // A superseded record may still show its earlier status.
    if found
        .iter()
        .any(|(status, _)| *status == Status::Superseded)
    {
        return Status::Superseded;
    }
    // In a dated history the latest entry wins; otherwise the first one.
    let is_history = found.iter().all(|(_, date)| date.is_some());
    let latest = found.iter().rev().max_by(|a, b| a.1.cmp(&b.1));
    latest.filter(|_| is_history).unwrap_or(&first).0
}

/// The lines that state a decision's status and its date, in order: under a heading, after a label,
/// or as the name of a successor.
pub(super) fn status_lines(markdown: &Markdown, segments: &[Segment]) -> Vec<Passage> {
    let lines = segments.iter().filter_map(|segment| {
        let text = segment.passage.text(markdown);
        let length = match segment.part {
            Part::Status | Part::Date => text.len(),
            _ if relations::names_successor(text) => text.find('\n').unwrap_or(text.len()),
            _ => return None,
        };
        let line = segment.passage.within(0..length);
        let before = line.block(markdown)?.text.get(..line.range.start)?;
        // Includes the label.
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Some(Passage {
            range: start..line.range.end,
            ..line
        })
    });
    lines.collect()
}

/// The status of a line. Unknown if the line lists the choices, as templates do.
fn of_text(text: &str) -> Status {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let known = WORDS.into_iter().find(|(start, _)| word.starts_with(start));
        let Some((_, status)) = known else { continue };
        let before = words.get(at.saturating_sub(2)..at).unwrap_or_default();
        let is_denied = before
            .iter()
            .any(|word| matches!(*word, "not" | "be" | "never"));
        found.push(if is_denied && status == Status::Accepted {
            Status::Proposed
        } else {
            status
        });
    }
    let mut different = found.clone();
    different.dedup();
    match found.as_slice() {
        _ if different.len() > 2 && lower.contains(['|', '/']) => Status::Unknown,
        found if found.contains(&Status::Superseded) => Status::Superseded,
        [first, ..] => *first,
        [] => Status::Unknown,
    }
}

/// The date on a line, as written. Dates of one format sort by their text.
fn date_in(line: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_digit() || c == '-';
    let mut words = line.split(|c| !is_part(c));
    words.find(|word| word.len() == 10 && word.matches('-').count() == 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_states_a_status() {
        for (line, status) in [
            ("Accepted", Status::Accepted),
            (" *accepted* on 2020-01-01 (was proposed)", Status::Accepted),
            ("Superceded by 5. X", Status::Superseded),
            ("accepted, superseded by ADR-5", Status::Superseded),
            ("In review", Status::Proposed),
            ("not yet accepted", Status::Proposed),
            ("to be approved", Status::Proposed),
            ("Withdrawn", Status::Rejected),
            ("obsolete", Status::Deprecated),
            (
                "proposed | rejected | accepted | deprecated",
                Status::Unknown,
            ),
            ("{proposed/accepted/rejected}", Status::Unknown),
            ("Supersedes ADR-3", Status::Unknown),
            ("whatever", Status::Unknown),
        ] {
            assert_eq!(of_text(line), status, "{line}");
        }
    }
}
