//! Words that limit a sentence to a place, a condition or a count. Such a sentence can't be checked
//! by words.

use super::{pieces::Piece, verbs::is_adverb};

/// Words that begin a condition.
const CONDITIONS: [&str; 8] = [
    "when", "whenever", "if", "while", "until", "where", "unless", "except",
];

/// Words that begin a sentence with a condition or an exception.
const OPENINGS: [&str; 11] = [
    "after", "before", "during", "once", "upon", "only", "without", "no", "nothing", "none",
    "neither",
];

/// Words that begin a prohibition with a place.
const OPENING_PLACES: [&str; 7] = ["in", "inside", "within", "on", "from", "at", "under"];

/// Words that limit a prohibition.
const EXCEPTIONS: [&str; 5] = ["without", "outside", "unless", "except", "than"];

/// Words that begin a place or a means after a name.
const PLACES: [&str; 24] = [
    "in", "from", "inside", "within", "on", "at", "with", "by", "via", "through", "to", "into",
    "for", "over", "before", "after", "as", "that", "which", "whose", "under", "of", "using",
    "during",
];

/// Words that may stand before a place that means all code.
const DETERMINERS: [&str; 6] = ["the", "our", "this", "new", "application", "product"];

/// Places that mean all code.
const EVERYWHERE: [&str; 12] = [
    "code",
    "codebase",
    "production",
    "project",
    "repository",
    "repo",
    "source",
    "any",
    "all",
    "every",
    "no",
    "general",
];

/// Words for a count or an amount.
const COUNTS: [&str; 27] = [
    "most", "exactly", "only", "single", "once", "twice", "thrice", "two", "three", "four", "five",
    "six", "seven", "eight", "nine", "ten", "multiple", "several", "many", "few", "fewer", "less",
    "more", "maximum", "max", "minimum", "min",
];

/// The same after the counted name, and words that combine several names.
const COUNTS_AFTER: [&str; 11] = [
    "once",
    "twice",
    "times",
    "exactly",
    "only",
    "per",
    "together",
    "simultaneously",
    "alongside",
    "alone",
    "than",
];

/// Words before a name that don't restrict which of its uses are meant.
const PLAIN_WORDS: [&str; 84] = [
    "a",
    "an",
    "the",
    "any",
    "all",
    "each",
    "every",
    "either",
    "neither",
    "of",
    "to",
    "on",
    "from",
    "into",
    "with",
    "by",
    "in",
    "via",
    "through",
    "at",
    "as",
    "for",
    "upon",
    "not",
    "directly",
    "direct",
    "ever",
    "also",
    "always",
    "explicitly",
    "use",
    "uses",
    "usage",
    "call",
    "calls",
    "access",
    "accesses",
    "import",
    "imports",
    "reference",
    "references",
    "anything",
    "function",
    "functions",
    "method",
    "methods",
    "macro",
    "macros",
    "keyword",
    "keywords",
    "type",
    "types",
    "class",
    "classes",
    "module",
    "modules",
    "package",
    "packages",
    "library",
    "libraries",
    "crate",
    "crates",
    "statement",
    "statements",
    "operator",
    "decorator",
    "annotation",
    "attribute",
    "trait",
    "interface",
    "struct",
    "variable",
    "variables",
    "constant",
    "api",
    "command",
    "construct",
    "name",
    "names",
    "identifier",
    "built-in",
    "deprecated",
    "legacy",
    "old",
];

/// Words that separate names, and with them the qualifiers of each.
const JOINTS: [&str; 6] = ["and", "or", "nor", "such", "that", "like"];

/// Verbs that count as plain only after "and", "or" and a comma; elsewhere they may be adjectives.
const VERBS: [&str; 30] = [
    "invoke",
    "throw",
    "raise",
    "return",
    "declare",
    "define",
    "write",
    "instantiate",
    "construct",
    "create",
    "add",
    "set",
    "catch",
    "export",
    "extend",
    "implement",
    "apply",
    "pass",
    "inject",
    "execute",
    "run",
    "evaluate",
    "make",
    "contain",
    "have",
    "include",
    "depend",
    "rely",
    "expose",
    "be",
];

/// Words that express a wish instead of a condition.
const WISHES: [&str; 4] = ["possible", "practical", "practicable", "feasible"];

/// Whether this word begins a condition.
pub(super) fn is_condition(word: &str) -> bool {
    CONDITIONS.contains(&word)
}

/// Whether the words after a condition's word turn it into a wish: "where possible".
pub(super) fn is_wish(after: &[Piece<'_>]) -> bool {
    word(after.first()).is_some_and(|word| WISHES.contains(&word.as_str()))
}

/// Whether this word begins an exception.
pub(super) fn is_exception(word: &str) -> bool {
    EXCEPTIONS.contains(&word)
}

/// Whether this word begins a place or a means.
pub(super) fn is_place(word: &str) -> bool {
    PLACES.contains(&word)
}

/// Whether the words after a place's word mean all code.
pub(super) fn is_everywhere(after: &[Piece<'_>]) -> bool {
    let mut words = after.iter().map_while(|piece| word(Some(piece)));
    let place = words.find(|word| !DETERMINERS.contains(&word.as_str()));
    place.is_some_and(|place| EVERYWHERE.contains(&place.as_str()))
}

/// Whether the word is a count of the name after it.
pub(super) fn is_count(word: &str) -> bool {
    COUNTS.contains(&word) || word.chars().all(|c| c.is_ascii_digit())
}

/// Whether the word is a count of the name before it, or combines it with another.
pub(super) fn is_count_after(word: &str) -> bool {
    COUNTS_AFTER.contains(&word)
}

/// Whether a subject limits the requirement to a condition or a place. Subjects are otherwise
/// ignored, so a place limits prohibitions only.
pub(super) fn is_limited(subject: &[Piece<'_>], forbids: bool) -> bool {
    let words = subject.iter().filter_map(|piece| word(Some(piece)));
    let has_condition = words
        .into_iter()
        .any(|word| is_condition(&word) || (forbids && is_exception(&word)));
    let opening = word(subject.first()).unwrap_or_default();
    let after = subject.get(1..).unwrap_or_default();
    let begins_with_place =
        forbids && OPENING_PLACES.contains(&opening.as_str()) && !is_everywhere(after);
    has_condition || OPENINGS.contains(&opening.as_str()) || begins_with_place
}

/// Whether words before a name restrict which of its uses are meant: "a bare `except`". If the
/// words begin with a verb (`has_verb`), the verb is no restriction.
pub(super) fn is_qualified(before: &[Piece<'_>], has_verb: bool) -> bool {
    let (mut qualifiers, mut is_at_joint) = (Vec::new(), false);
    for piece in before.iter().rev() {
        match word(Some(piece)) {
            Some(word) if JOINTS.contains(&word.as_str()) => is_at_joint = true,
            Some(word) => qualifiers.push(word),
            None => is_at_joint = true,
        }
        if is_at_joint {
            break;
        }
    }
    if has_verb && !is_at_joint {
        // The verb's words are last, because `qualifiers` is reversed.
        while qualifiers.pop().is_some_and(|word| is_adverb(&word)) {}
    }
    qualifiers.iter().any(|word| {
        let word = word.as_str();
        !(PLAIN_WORDS.contains(&word) || VERBS.contains(&word) || word.ends_with("ing"))
    })
}

/// A word in lower case.
pub(super) fn word(piece: Option<&Piece<'_>>) -> Option<String> {
    match piece? {
        Piece::Word(word) => Some(word.to_ascii_lowercase()),
        Piece::Name(_) | Piece::Mark(_) => None,
    }
}
