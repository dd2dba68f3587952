//! The words for parts of a record.

use super::Part;

const OPTIONS: Part = Part::Options {
    are_rejected: false,
};
const ALTERNATIVES: Part = Part::Options { are_rejected: true };
const GOOD: Part = Part::Consequences(Some(true));
const BAD: Part = Part::Consequences(Some(false));
const FOLLOWS: Part = Part::Consequences(None);

/// How long words may be that stand for a part when they stand alone, in bytes.
const MAX_KEY: usize = 48;

/// Words that stand for a part when they stand alone, as [`normal`] makes them.
const KEYS: [(Part, &[&str]); 11] = [
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

/// Beginnings of words in headings. The first that a heading has decides: what is more telling
/// stands above.
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
/// The same for what follows from a decision, which headings say together with other words.
const LEANINGS: [(Part, &[&str]); 2] = [
    (GOOD, &["positive", "benefit", "advantages", "pros "]),
    (
        BAD,
        &["negative", "drawback", "disadvantage", "cons ", "risks"],
    ),
];

/// The part that a word or two stand for when they stand alone.
pub(super) fn of_key(text: &str) -> Option<Part> {
    if text.len() > MAX_KEY {
        return None;
    }
    let key = normal(text);
    let known = KEYS.iter().find(|(_, keys)| keys.contains(&key.as_str()));
    known.map(|(part, _)| *part)
}

/// The part that a heading opens.
pub(super) fn of_heading(heading: &str) -> Option<Part> {
    let words = format!(" {} ", normal(heading));
    let has = |word: &&str| words.contains(&format!(" {word}"));
    // "Positive consequences" are consequences, "pros and cons of the options" are options.
    let known = |table: &[(Part, &[&str])]| {
        let found = table.iter().find(|(_, words)| words.iter().any(&has));
        found.map(|(part, _)| *part)
    };
    let part = of_key(heading).or_else(|| known(&HEADINGS));
    match part {
        None | Some(FOLLOWS) => known(&LEANINGS).or(part),
        part => part,
    }
}

/// Whether a word says that what follows speaks for something, or against it.
pub(in crate::adr) fn polarity(text: &str) -> Option<bool> {
    match normal(text).as_str() {
        "pros" | "pro" | "advantages" | "benefits" | "good" | "positive" | "strengths" | "for"
        | "upsides" => Some(true),
        "cons" | "con" | "disadvantages" | "drawbacks" | "bad" | "negative" | "weaknesses"
        | "against" | "downsides" => Some(false),
        _ => None,
    }
}

/// Words in lower case, without what numbers, decorates or ends them.
pub(in crate::adr) fn normal(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    let is_number = |word: &&str| word.chars().all(|c| c.is_ascii_digit());
    let words: Vec<&str> = words.skip_while(is_number).collect();
    words.join(" ").to_lowercase()
}
