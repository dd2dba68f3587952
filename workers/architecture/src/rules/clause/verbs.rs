//! The verb after an RFC 2119 keyword, which determines how names are read.

use super::pieces::Piece;

/// Participles that say in a passive sentence that a name is used.
const USE_PARTICIPLES: [&str; 35] = [
    "used",
    "called",
    "invoked",
    "imported",
    "included",
    "required",
    "thrown",
    "raised",
    "returned",
    "declared",
    "defined",
    "written",
    "present",
    "referenced",
    "accessed",
    "instantiated",
    "constructed",
    "created",
    "added",
    "set",
    "caught",
    "exported",
    "extended",
    "implemented",
    "applied",
    "passed",
    "injected",
    "executed",
    "run",
    "evaluated",
    "made",
    "allowed",
    "permitted",
    "found",
    "employed",
];

/// Words that may stand between a keyword and its verb.
const ADVERBS: [&str; 9] = [
    "always",
    "only",
    "also",
    "never",
    "directly",
    "ever",
    "not",
    "either",
    "explicitly",
];

/// Verbs that turn a requirement into a prohibition: "MUST avoid", "SHOULD be avoided".
const AVOIDANCE_VERBS: [&str; 18] = [
    "avoid",
    "refrain",
    "remove",
    "replace",
    "drop",
    "ban",
    "forbid",
    "prohibit",
    "eliminate",
    "avoided",
    "removed",
    "replaced",
    "dropped",
    "banned",
    "forbidden",
    "prohibited",
    "eliminated",
    "disallowed",
];

/// Verbs with other meanings than use: after "MUST NOT modify `a`", `a` may still be used.
const OTHER_VERBS: [&str; 27] = [
    "mix",
    "combine",
    "nest",
    "chain",
    "compare",
    "shadow",
    "override",
    "modify",
    "mutate",
    "rename",
    "reassign",
    "duplicate",
    "repeat",
    "change",
    "swallow",
    "ignore",
    "leak",
    "block",
    "forget",
    "omit",
    "skip",
    "miss",
    "lack",
    "reorder",
    "share",
    "wrap",
    "cache",
];

/// The properties of a verb.
pub(super) struct Verb {
    /// Whether the subject is required: "… be used", "… appear".
    pub(super) is_passive: bool,
    /// Whether the absence of something is required.
    pub(super) forbids_use: bool,
    /// Whether the verb has another meaning than use.
    pub(super) has_other_meaning: bool,
}

/// The verb at the start of the words after a keyword.
pub(super) fn verb(object: &[Piece<'_>]) -> Verb {
    let words = object.iter().map_while(|piece| match piece {
        Piece::Word(word) => Some(*word),
        Piece::Name(_) | Piece::Mark(_) => None,
    });
    let mut verbs = words.filter(|word| !ADVERBS.contains(word));
    let first = verbs.next().unwrap_or_default();
    if first == "be" {
        let second = verbs.next().unwrap_or_default();
        let forbids_use = AVOIDANCE_VERBS.contains(&second);
        return Verb {
            is_passive: forbids_use || USE_PARTICIPLES.contains(&second),
            forbids_use,
            has_other_meaning: false,
        };
    }
    Verb {
        is_passive: ["appear", "occur", "exist"].contains(&first),
        forbids_use: AVOIDANCE_VERBS.contains(&first),
        has_other_meaning: OTHER_VERBS.contains(&first),
    }
}

/// Whether a word may precede its verb.
pub(super) fn is_adverb(word: &str) -> bool {
    ADVERBS.contains(&word)
}
