//! Words that make a sentence hold only somewhere, only sometimes, or only so many times. What they
//! stand with can't be looked up by words alone.

use super::{pieces::Piece, verbs::is_adverb};

/// Behind these, and before these, something holds only sometimes.
const CONDITIONS: [&str; 8] = [
    "when", "whenever", "if", "while", "until", "where", "unless", "except",
];

/// What a sentence begins with that holds only sometimes, or says of whom it does not hold.
const OPENINGS: [&str; 11] = [
    "after", "before", "during", "once", "upon", "only", "without", "no", "nothing", "none",
    "neither",
];

/// What a prohibition begins with that holds only somewhere.
const OPENING_PLACES: [&str; 7] = ["in", "inside", "within", "on", "from", "at", "under"];

/// What makes a prohibition hold only somewhere.
const EXCEPTIONS: [&str; 5] = ["without", "outside", "unless", "except", "than"];

/// Behind these, a place or a means, once something is named.
const PLACES: [&str; 24] = [
    "in", "from", "inside", "within", "on", "at", "with", "by", "via", "through", "to", "into",
    "for", "over", "before", "after", "as", "that", "which", "whose", "under", "of", "using",
    "during",
];

/// What may stand between a place and a word that makes it all of the code.
const DETERMINERS: [&str; 6] = ["the", "our", "this", "new", "application", "product"];

/// Places that are all of the code.
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

/// How many times, or how much of it.
const COUNTS: [&str; 27] = [
    "most", "exactly", "only", "single", "once", "twice", "thrice", "two", "three", "four", "five",
    "six", "seven", "eight", "nine", "ten", "multiple", "several", "many", "few", "fewer", "less",
    "more", "maximum", "max", "minimum", "min",
];

/// The same behind what is counted, and what puts several names together.
const COUNTS_BEHIND: [&str; 11] = [
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

/// What may stand before a name without saying which of its uses are meant.
const PLAIN: [&str; 84] = [
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

/// What parts names, and with them the words before each.
const JOINTS: [&str; 6] = ["and", "or", "nor", "such", "that", "like"];

/// Verbs that are plain behind "and", "or" and a comma, where a word may be an adjective as well.
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

/// Words that say what is hoped for rather than when.
const WISHES: [&str; 4] = ["possible", "practical", "practicable", "feasible"];

/// Whether a condition begins with this word.
pub(super) fn is_condition(word: &str) -> bool {
    CONDITIONS.contains(&word)
}

/// Whether what follows a condition's word makes it none: "where possible".
pub(super) fn is_wish(behind: &[Piece<'_>]) -> bool {
    word(behind.first()).is_some_and(|word| WISHES.contains(&word.as_str()))
}

/// Whether an exception begins with this word.
pub(super) fn is_exception(word: &str) -> bool {
    EXCEPTIONS.contains(&word)
}

/// Whether a place or a means begins with this word.
pub(super) fn is_place(word: &str) -> bool {
    PLACES.contains(&word)
}

/// Whether what stands behind the word of a place is all of the code.
pub(super) fn is_everywhere(behind: &[Piece<'_>]) -> bool {
    let mut words = behind.iter().map_while(|piece| word(Some(piece)));
    let place = words.find(|word| !DETERMINERS.contains(&word.as_str()));
    place.is_some_and(|place| EVERYWHERE.contains(&place.as_str()))
}

/// Whether the word says how many of what is named next are meant.
pub(super) fn is_count(word: &str) -> bool {
    COUNTS.contains(&word) || word.chars().all(|c| c.is_ascii_digit())
}

/// Whether the word says how many times what was named is meant, or that it is with another.
pub(super) fn is_count_behind(word: &str) -> bool {
    COUNTS_BEHIND.contains(&word)
}

/// Whether what comes before a word of RFC 2119 says when or where the demand holds. Who is meant
/// is not asked, so a place counts for prohibitions alone.
pub(super) fn is_limited(subject: &[Piece<'_>], forbids: bool) -> bool {
    let words = subject.iter().filter_map(|piece| word(Some(piece)));
    let has_condition = words
        .into_iter()
        .any(|word| is_condition(&word) || (forbids && is_exception(&word)));
    let opening = word(subject.first()).unwrap_or_default();
    let behind = subject.get(1..).unwrap_or_default();
    let is_at_a_place =
        forbids && OPENING_PLACES.contains(&opening.as_str()) && !is_everywhere(behind);
    has_condition || OPENINGS.contains(&opening.as_str()) || is_at_a_place
}

/// Whether words before a name say which of its uses are meant: "a bare `except`". What begins with
/// a verb (`has_verb`) has one that is none of them.
pub(super) fn is_qualified(before: &[Piece<'_>], has_verb: bool) -> bool {
    let (mut run, mut joint) = (Vec::new(), false);
    for piece in before.iter().rev() {
        match word(Some(piece)) {
            Some(word) if JOINTS.contains(&word.as_str()) => joint = true,
            Some(word) => run.push(word),
            None => joint = true,
        }
        if joint {
            break;
        }
    }
    if has_verb && !joint {
        // The words of the verb come last, since the run is turned.
        while run.pop().is_some_and(|word| is_adverb(&word)) {}
    }
    run.iter().any(|word| {
        let word = word.as_str();
        !(PLAIN.contains(&word) || VERBS.contains(&word) || word.ends_with("ing"))
    })
}

/// A word in small letters.
pub(super) fn word(piece: Option<&Piece<'_>>) -> Option<String> {
    match piece? {
        Piece::Word(word) => Some(word.to_ascii_lowercase()),
        Piece::Name(_) | Piece::Mark(_) => None,
    }
}
