//! The verb behind a word of RFC 2119: what it makes of the names around it.

use super::pieces::Piece;

/// How a name is used, where the sentence is turned.
const USES: [&str; 35] = [
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

/// What may stand between a word of RFC 2119 and its verb.
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

/// Verbs by which a demand is a prohibition: "MUST avoid", "SHOULD be avoided".
const AVOIDING: [&str; 18] = [
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

/// Verbs of which what they are said of may be used all the same: "MUST NOT modify `a`".
const OTHER: [&str; 27] = [
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

/// What is said of the names.
pub(super) struct Verb {
    /// What stands before the word is what is demanded: "… be used", "… appear".
    pub(super) is_turned: bool,
    /// What is demanded is that something is not there.
    pub(super) avoids: bool,
    /// It is not whether something is used that is said of it.
    pub(super) is_other: bool,
}

/// The verb that what stands behind a word of RFC 2119 begins with.
pub(super) fn verb(object: &[Piece<'_>]) -> Verb {
    let words = object.iter().map_while(|piece| match piece {
        Piece::Word(word) => Some(*word),
        Piece::Name(_) | Piece::Mark(_) => None,
    });
    let mut verbs = words.filter(|word| !ADVERBS.contains(word));
    let first = verbs.next().unwrap_or_default();
    if first == "be" {
        let second = verbs.next().unwrap_or_default();
        let avoids = AVOIDING.contains(&second);
        return Verb {
            is_turned: avoids || USES.contains(&second),
            avoids,
            is_other: false,
        };
    }
    Verb {
        is_turned: ["appear", "occur", "exist"].contains(&first),
        avoids: AVOIDING.contains(&first),
        is_other: OTHER.contains(&first),
    }
}

/// Whether a word may stand before its verb.
pub(super) fn is_adverb(word: &str) -> bool {
    ADVERBS.contains(&word)
}
