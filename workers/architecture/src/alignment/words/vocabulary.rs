//! The words that decide what a sentence does with others, and those that say nothing.

/// Verbs that end something or put something else in its place.
#[rustfmt::skip]
pub(super) const ENDS: &[&str] = &[
    "replace", "replaces", "replaced", "replacing", "swap", "swaps", "swapped", "drop", "drops",
    "dropped", "dropping", "retire", "retires", "retired", "retiring", "abandon", "abandoned",
    "remove", "removes", "removed", "removing", "delete", "deletes", "deleting", "ditch", "scrap",
    "decommission", "reject", "rejects",
];
/// Pairs of words that do so.
pub(super) const CONTINUES: &[[&str; 2]] = &[
    ["instead", "of"],
    ["rather", "than"],
    ["away", "from"],
    ["rid", "of"],
    ["place", "of"],
    ["move", "off"],
    ["switch", "off"],
    ["turn", "off"],
    ["shut", "down"],
    ["give", "up"],
    ["back", "out"],
    ["decided", "against"],
    ["and", "against"],
    ["and", "neglected"],
];
/// Words before `from`, `of` or `on` that leave what follows ended: "drop the use of Redis".
#[rustfmt::skip]
pub(super) const WHOLES: &[&str] = &[
    "use", "usage", "dependency", "dependence", "reliance", "instance", "instances", "all", "rid",
    "instead", "place", "away",
];
/// Phrases with which a decision says what was considered and not chosen.
pub(super) const TURNED_DOWN: &[&[&str]] = &[
    &["considered"],
    &["compared"],
    &["tried"],
    &["candidates"],
    &["rejected"],
    &["neglected"],
    &["discussed"],
    &["looked", "at"],
    &["looked", "into"],
    &["ruled", "out"],
    &["turned", "down"],
    &["decided", "against"],
    &["voted", "against"],
    &["too", "expensive"],
];
/// What follows a "no" that answers: "Kafka? No." It also stands at the end.
pub(super) const AFTER_NO: &[&str] = &[",", ".", ":", ";", "!", "thanks"];
/// Verbs whose `from` names what is left behind.
#[rustfmt::skip]
pub(super) const MOVES: &[&str] = &[
    "move", "moves", "moving", "migrate", "migrates", "migrating", "migrated", "migration",
    "switch", "switches", "switching", "port", "ports", "convert", "rewrite", "change", "go",
];
/// Negations.
#[rustfmt::skip]
pub(super) const NEGATES: &[&str] = &[
    "not", "never", "no", "don't", "doesn't", "won't", "can't", "cannot", "isn't", "aren't",
    "mustn't", "shouldn't", "shan't", "nobody", "nothing", "none", "neither", "nor", "nowhere",
    "without",
];
/// Words before what is used.
pub(super) const USES: &[&str] = &[
    "in", "on", "with", "through", "via", "by", "to", "into", "use", "uses", "using", "choose",
    "adopt", "adopts",
];
/// Words that make a rule hold under a condition.
#[rustfmt::skip]
pub(super) const EXCEPTIONS: &[&str] = &[
    "unless", "except", "exception", "without", "until", "only", "if", "when", "where", "nowhere", "other", "beside",
    "need", "before",
];
/// Words that keep one thing beside another.
pub(super) const ALONGSIDE: &[&str] = &["alongside", "beside", "besides"];
/// Words that begin another statement after a comma.
#[rustfmt::skip]
pub(super) const RESTARTS: &[&str] = &[
    "but", "it", "we", "so", "because", "since", "which", "that", "they", "the", "use", "and", "let",
];
/// Words without a subject.
#[rustfmt::skip]
pub(super) const STOPS: &[&str] = &[
    "a", "an", "the", "and", "or", "but", "of", "to", "in", "on", "at", "by", "for", "with", "from",
    "as", "is", "are", "was", "were", "be", "been", "being", "it", "its", "this", "that", "these",
    "those", "we", "our", "us", "they", "them", "their", "he", "she", "his", "her", "you", "your",
    "i", "so", "if", "then", "than", "too", "very", "can", "could", "may", "might", "must", "shall",
    "should", "will", "would", "do", "does", "did", "done", "has", "have", "had", "having", "there",
    "here", "what", "which", "who", "whom", "when", "where", "how", "why", "all", "any", "each",
    "every", "some", "such", "only", "own", "same", "other", "more", "most", "into", "onto", "over",
    "under", "up", "down", "out", "off", "about", "after", "before", "between", "during", "until",
    "while", "because", "since", "let", "let's", "also", "just", "one", "two", "it's", "we'd",
    "we'll", "that's", "don", "doesn", "isn", "ve", "re", "ll",
];
