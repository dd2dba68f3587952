//! Determines which of the options a record chose.

use super::parts::normalized;
use super::{Adr, ConsideredOption, Verdict};
use crate::markdown::Markdown;

/// At most this many sentences of a decision are searched for the chosen option.
const MAX_SENTENCES: usize = 50;
/// Phrases that introduce the chosen option.
const CHOICE_PHRASES: [&str; 8] = [
    "chosen option",
    "chosen alternative",
    "chosen solution",
    "selected option",
    "chosen:",
    "decision:",
    "we chose ",
    "we have chosen ",
];
/// Words that end the option's name: a reason or a contrast follows.
const END_PHRASES: [&str; 9] = [
    ", because",
    " because",
    ", since",
    ", as it",
    ", due to",
    " due to ",
    " instead of ",
    " rather than ",
    " over ",
];
/// Other phrases that announce a decision.
const DECISION_PHRASES: [&str; 15] = [
    "we will use ",
    "we will ",
    "we use ",
    "we decided for ",
    "we decided to ",
    "we decided on ",
    "we go with ",
    "we will go with ",
    "we adopt ",
    "we choose ",
    "we pick ",
    "we selected ",
    "is chosen",
    "was chosen",
    "we have decided ",
];

/// Marks the chosen options, and all other undecided ones as rejected.
pub(super) fn mark_outcomes(markdown: &Markdown, adr: &mut Adr) {
    let mut is_marked = adr
        .options
        .iter()
        .any(|option| option.verdict == Verdict::Chosen);
    if !is_marked {
        let sentences = adr
            .decision
            .iter()
            .flat_map(|passage| passage.sentences(markdown));
        let sentences: Vec<String> = sentences
            .take(MAX_SENTENCES)
            .map(|sentence| sentence.text(markdown).replace('\n', " "))
            .collect();
        let explicit = sentences
            .iter()
            .filter_map(|sentence| explicit_choice(sentence));
        let positive = || sentences.iter().filter(|sentence| !is_negated(sentence));
        let announced = positive().filter_map(|sentence| announced_choice(sentence));
        // A decision that merely names an option chose it.
        let other = positive().map(|sentence| before_reason(sentence).to_owned());
        let mut candidates = explicit.chain(announced).chain(other);
        is_marked = candidates.any(|words| mark_named(&mut adr.options, &words));
    }
    if is_marked {
        for option in adr
            .options
            .iter_mut()
            .filter(|option| option.verdict == Verdict::Open)
        {
            option.verdict = Verdict::Rejected;
        }
    }
}

/// The name after an explicit phrase such as "chosen option:".
fn explicit_choice(sentence: &str) -> Option<String> {
    let lower = sentence.to_ascii_lowercase();
    let (at, word) = CHOICE_PHRASES
        .iter()
        .find_map(|word| Some((lower.find(word)?, word)))?;
    let rest = sentence.get(at + word.len()..)?;
    Some(before_reason(rest.trim_start_matches(['s', '(', ')', ':', ' '])).to_owned())
}

/// The sentence up to its reason, if it announces a decision.
fn announced_choice(sentence: &str) -> Option<String> {
    let lower = sentence.to_ascii_lowercase();
    let announces = DECISION_PHRASES.iter().any(|word| lower.contains(word));
    announces.then(|| before_reason(sentence).to_owned())
}

/// Whether a sentence is negated before its reason.
fn is_negated(sentence: &str) -> bool {
    let lower = before_reason(sentence).to_lowercase();
    let words = [
        "not ",
        "n't ",
        "never ",
        "reject",
        "against ",
        "no longer ",
        "discard",
    ];
    words.iter().any(|word| lower.contains(word))
}

/// A sentence up to its reason or contrast.
fn before_reason(sentence: &str) -> &str {
    let lower = sentence.to_ascii_lowercase();
    let end = END_PHRASES.iter().filter_map(|end| lower.find(end)).min();
    sentence
        .get(..end.unwrap_or(sentence.len()))
        .unwrap_or(sentence)
}

/// Marks the options that these words name, and returns whether there are any. If one option's name
/// contains another's, the longer name wins.
fn mark_named(options: &mut [ConsideredOption], words: &str) -> bool {
    let mut words = format!(" {} ", normalized(words));
    let mut order: Vec<usize> = (0..options.len()).collect();
    let length = |at: &usize| options.get(*at).map_or(0, |option| option.name.len());
    order.sort_by_key(|at| usize::MAX - length(at));
    let mut chosen = Vec::new();
    for at in order {
        let name = options
            .get(at)
            .map(|option| normalized(&option.name))
            .unwrap_or_default();
        let number = |word: &str| format!(" {word} {} ", at + 1);
        let numbers = [number("option"), number("alternative"), number("position")];
        let name = format!(" {name} ");
        if name.len() > 2 && words.contains(&name) {
            words = words.replace(&name, "  ");
            chosen.push(at);
        } else if numbers.iter().any(|number| words.contains(number)) {
            chosen.push(at);
        }
    }
    if chosen.is_empty() {
        // The words may shorten a name: "Postgres" for "Postgres with extensions".
        let is_within = |option: &ConsideredOption| {
            let shortened = words.trim();
            !shortened.is_empty()
                && format!(" {} ", normalized(&option.name)).contains(&format!(" {shortened} "))
        };
        chosen.extend(options.iter().position(is_within));
    }
    for at in &chosen {
        if let Some(option) = options.get_mut(*at) {
            option.verdict = Verdict::Chosen;
        }
    }
    !chosen.is_empty()
}
