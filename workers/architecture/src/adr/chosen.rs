//! Which of the options a record chose.

use super::parts::normal;
use super::{Adr, Choice, Verdict};
use crate::markdown::Markdown;

/// How many sentences of a decision are asked which option it chose.
const MAX_SENTENCES: usize = 50;
/// What the words begin with that name the chosen option.
const NAMED: [&str; 8] = [
    "chosen option",
    "chosen alternative",
    "chosen solution",
    "selected option",
    "chosen:",
    "decision:",
    "we chose ",
    "we have chosen ",
];
/// What they end with.
const ENDS: [&str; 9] = [
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
/// What else says that an option is taken.
const TAKES: [&str; 15] = [
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

/// Marks the options that were chosen, and the others as turned down.
pub(super) fn mark(markdown: &Markdown, adr: &mut Adr) {
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
        let named = sentences.iter().filter_map(|sentence| named(sentence));
        let positive = || sentences.iter().filter(|sentence| !denies(sentence));
        let taken = positive().filter_map(|sentence| taken(sentence));
        // A decision that merely names an option chose it.
        let other = positive().map(|sentence| before_end(sentence).to_owned());
        let mut named = named.chain(taken).chain(other);
        is_marked = named.any(|words| choose(&mut adr.options, &words));
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

/// What a sentence says was chosen, in the words for that.
fn named(sentence: &str) -> Option<String> {
    let lower = sentence.to_ascii_lowercase();
    let (at, word) = NAMED
        .iter()
        .find_map(|word| Some((lower.find(word)?, word)))?;
    let rest = sentence.get(at + word.len()..)?;
    Some(before_end(rest.trim_start_matches(['s', '(', ')', ':', ' '])).to_owned())
}

/// What a sentence says that is done from now on.
fn taken(sentence: &str) -> Option<String> {
    let lower = sentence.to_ascii_lowercase();
    let takes = TAKES.iter().any(|word| lower.contains(word));
    takes.then(|| before_end(sentence).to_owned())
}

/// Whether a sentence says what is not done, before it says why.
fn denies(sentence: &str) -> bool {
    let lower = before_end(sentence).to_lowercase();
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

/// A sentence up to where it says why, or instead of what.
fn before_end(sentence: &str) -> &str {
    let lower = sentence.to_ascii_lowercase();
    let end = ENDS.iter().filter_map(|end| lower.find(end)).min();
    sentence
        .get(..end.unwrap_or(sentence.len()))
        .unwrap_or(sentence)
}

/// Marks the options that these words name; whether there are any. Where one's name is within
/// another's, the longer one is meant.
fn choose(options: &mut [Choice], words: &str) -> bool {
    let mut words = format!(" {} ", normal(words));
    let mut order: Vec<usize> = (0..options.len()).collect();
    let length = |at: &usize| options.get(*at).map_or(0, |option| option.name.len());
    order.sort_by_key(|at| usize::MAX - length(at));
    let mut chosen = Vec::new();
    for at in order {
        let name = options
            .get(at)
            .map(|option| normal(&option.name))
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
        // Words of one name, shortened: "Postgres" for "Postgres with extensions".
        let is_within = |option: &Choice| {
            let wanted = words.trim();
            !wanted.is_empty()
                && format!(" {} ", normal(&option.name)).contains(&format!(" {wanted} "))
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
