//! Words that determine the roles of other words.

/// Words that invert what follows them.
#[rustfmt::skip]
pub(super) const INVERTS: &[&str] = &[
    "instead of", "rather than", "in place of", "away from", "go off", "move off", "moving off",
    "turn down", "turned down", "turns down", "shut down", "switch off", "switched off",
    "get rid of", "do away with", "decided against", "and against", "say no to", "back out of",
    "neither", "nor", "without",
];
/// Negations of a verb, which invert its subject as well.
#[rustfmt::skip]
pub(super) const NEGATES: &[&str] = &[
    "never", "not", "don't", "doesn't", "didn't", "won't", "can't", "cannot", "isn't", "aren't",
    "mustn't", "shouldn't", "wouldn't", "shan't", "wasn't", "weren't", "needn't", "hasn't",
    "haven't", "no longer", "nowhere", "nobody", "no one", "nothing", "none", "no",
];
/// Verbs that end something, in all their forms.
#[rustfmt::skip]
pub(super) const ENDS: &[&str] = &[
    "drop", "drops", "dropped", "dropping", "retire", "retires", "retired", "retiring", "abandon",
    "abandoned", "abandoning", "reject", "rejects", "rejected", "rejecting", "avoid", "avoids",
    "avoided", "avoiding", "stop", "stops", "stopped", "stopping", "ditch", "ditched", "ditching",
    "decommission", "decommissioned", "remove", "removes", "removed", "removing", "forbid",
    "forbids", "forbidden", "ban", "banned", "disable", "disabled", "disabling", "discontinue",
    "discontinued", "skip", "skipped", "skipping",
];
/// Verbs that replace one thing with another.
#[rustfmt::skip]
pub(super) const REPLACES: &[&str] = &[
    "replace", "replaces", "replaced", "replacing", "swap", "swaps", "swapped", "swapping",
];
/// Verbs that move from one thing to another.
#[rustfmt::skip]
pub(super) const MOVES: &[&str] = &[
    "move", "moves", "moved", "moving", "migrate", "migrates", "migrated", "migrating", "migration",
    "switch", "switches", "switched", "switching", "change", "changes", "changed", "port", "ported",
    "porting", "convert", "converted", "go",
];
/// Words that mention one thing alongside another.
#[rustfmt::skip]
pub(super) const ALONGSIDE: &[&str] = &[
    "in addition to", "alongside", "beside", "besides", "next to", "on top of",
];
/// After these words a negation doesn't invert: they make a comparison or an idiom.
#[rustfmt::skip]
pub(super) const COMPARES: &[&str] = &[
    "more", "fewer", "less", "only", "later", "just", "need", "matter", "doubt", "wonder", "until",
    "changes",
];
/// Words that start a new statement after a comma.
#[rustfmt::skip]
pub(super) const STARTS: &[&str] = &[
    "we", "it", "they", "i", "he", "she", "you", "but", "so", "because", "since", "as", "which",
    "that", "then", "there", "the", "all", "each", "every", "this", "these", "our", "let",
    "instead", "use", "keep", "where", "if", "when", "while", "what", "with", "who", "to",
];
