//! The vocabulary of a record's parts.

use super::Part;

const OPTIONS: Part = Part::Options {
    are_rejected: false,
};
const ALTERNATIVES: Part = Part::Options { are_rejected: true };
const GOOD: Part = Part::Consequences(Some(true));
const BAD: Part = Part::Consequences(Some(false));
const FOLLOWS: Part = Part::Consequences(None);

/// The longest label that can stand alone, in bytes.
const MAX_LABEL: usize = 48;

/// Labels that stand alone, as [`normalized`] writes them.
const LABELS: [(Part, &[&str]); 11] = [
    (Part::Status, &["status", "state", "decision status"]),
    (
        Part::Date,
        &[
            "date",
            "decided on",
            "decision date",
            "last updated",
            "created",
        ],
    ),
    (
        Part::Context,
        &[
            "context",
            "problem",
            "problem statement",
            "context and problem statement",
            "background",
            "issue",
            "motivation",
            "assumptions",
            "summary",
        ],
    ),
    (
        Part::Drivers,
        &[
            "drivers",
            "decision drivers",
            "forces",
            "constraints",
            "requirements",
            "criteria",
            "evaluation criteria",
            "quality attributes",
        ],
    ),
    (
        OPTIONS,
        &[
            "options",
            "considered options",
            "options considered",
            "positions",
            "pros and cons of the options",
            "considered alternatives",
        ],
    ),
    (
        ALTERNATIVES,
        &[
            "alternatives",
            "alternatives considered",
            "rejected alternatives",
            "rejected options",
            "other options",
        ],
    ),
    (
        Part::Decision,
        &[
            "decision",
            "decision outcome",
            "outcome",
            "solution",
            "resolution",
            "argument",
            "rationale",
            "chosen option",
            "chosen options",
            "chosen alternative",
            "chosen solution",
            "chosen",
            "recommendation",
        ],
    ),
    (FOLLOWS, &["consequences", "implications", "impact"]),
    (
        GOOD,
        &[
            "positive consequences",
            "benefits",
            "advantages",
            "pros",
            "positive",
        ],
    ),
    (
        BAD,
        &[
            "negative consequences",
            "drawbacks",
            "disadvantages",
            "cons",
            "risks",
            "negative",
        ],
    ),
    (
        Part::Links,
        &[
            "links",
            "related",
            "related decisions",
            "references",
            "more information",
            "see also",
            "deciders",
            "decision makers",
            "consulted",
            "informed",
            "authors",
            "author",
            "owner",
            "tags",
            "technical story",
            "group",
            "supersedes",
            "superseded by",
        ],
    ),
];

/// Word prefixes in headings. The first match wins, so the most specific come first.
const HEADINGS: [(Part, &[&str]); 10] = [
    (Part::Status, &["status"]),
    (
        Part::Links,
        &[
            "related",
            "links",
            "references",
            "more information",
            "see also",
            "decision makers",
            "deciders",
        ],
    ),
    (Part::Other, &["notes", "confirmation", "compliance"]),
    (ALTERNATIVES, &["rejected", "discarded", "not chosen"]),
    (
        OPTIONS,
        &[
            "considered alternative",
            "option",
            "positions",
            "candidates",
        ],
    ),
    (ALTERNATIVES, &["alternative"]),
    (
        Part::Drivers,
        &[
            "driver",
            "forces",
            "constraint",
            "requirement",
            "criteria",
            "quality attribute",
            "goals",
        ],
    ),
    (FOLLOWS, &["consequence", "implication", "trade", "impact"]),
    (
        Part::Context,
        &[
            "context",
            "problem",
            "background",
            "issue",
            "motivation",
            "assumption",
            "introduction",
        ],
    ),
    (
        Part::Decision,
        &[
            "decision",
            "outcome",
            "solution",
            "resolution",
            "rationale",
            "recommendation",
            "argument",
        ],
    ),
];
/// The same for positive and negative consequences, which headings combine with other words.
const POLARITIES: [(Part, &[&str]); 2] = [
    (GOOD, &["positive", "benefit", "advantages", "pros "]),
    (
        BAD,
        &["negative", "drawback", "disadvantage", "cons ", "risks"],
    ),
];

/// The part that a standalone label names.
pub(super) fn part_of_label(text: &str) -> Option<Part> {
    if text.len() > MAX_LABEL {
        return None;
    }
    let key = normalized(text);
    let lookup = LABELS.iter().find(|(_, keys)| keys.contains(&key.as_str()));
    lookup.map(|(part, _)| *part)
}

/// The part that a heading opens.
pub(super) fn part_of_heading(heading: &str) -> Option<Part> {
    let words = format!(" {} ", normalized(heading));
    let has = |word: &&str| words.contains(&format!(" {word}"));
    // "Positive consequences" are consequences; "pros and cons of the options" are options.
    let lookup = |table: &[(Part, &[&str])]| {
        let found = table.iter().find(|(_, words)| words.iter().any(&has));
        found.map(|(part, _)| *part)
    };
    let part = part_of_label(heading).or_else(|| lookup(&HEADINGS));
    match part {
        None | Some(FOLLOWS) => lookup(&POLARITIES).or(part),
        part => part,
    }
}

/// Whether a word introduces arguments for something (`true`) or against it (`false`).
pub(in crate::adr) fn polarity(text: &str) -> Option<bool> {
    match normalized(text).as_str() {
        "pros" | "pro" | "advantages" | "benefits" | "good" | "positive" | "strengths" | "for"
        | "upsides" => Some(true),
        "cons" | "con" | "disadvantages" | "drawbacks" | "bad" | "negative" | "weaknesses"
        | "against" | "downsides" => Some(false),
        _ => None,
    }
}

/// Words in lower case, without leading numbers, decoration or punctuation.
pub(in crate::adr) fn normalized(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    let is_number = |word: &&str| word.chars().all(|c| c.is_ascii_digit());
    let words: Vec<&str> = words.skip_while(is_number).collect();
    words.join(" ").to_lowercase()
}
