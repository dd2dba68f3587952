//! What a sentence demands of code: a word of RFC 2119, and the names in backticks it is about.
//!
//! It reads no grammar, only the order of words. Names behind the word are what is demanded
//! ("MUST use `a`"), those before it are who is meant and left aside, unless the sentence is turned
//! ("`a` MUST NOT be used"). Names in a condition, a place or an advice ("when `a`", "in `b`",
//! "; use `c`") are no part of the demand. A prohibition that holds only somewhere ("outside `a`")
//! is none that words could check.

mod pieces;
mod verbs;

use super::Severity;
use pieces::{Modal, Piece, before_the_last_joint, modals, pieces};
use verbs::verb;

/// What one word of RFC 2119 demands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Clause<'s> {
    /// The word, with its NOT.
    pub(super) word: &'static str,
    pub(super) severity: Severity,
    pub(super) forbids: bool,
    /// As they are written; empty if what follows the sentence must name them.
    pub(super) names: Vec<&'s str>,
    /// Whether one of the names is enough.
    pub(super) any: bool,
}

/// Behind these a condition begins, or a reason.
const CONDITIONS: [&str; 12] = [
    "when", "whenever", "if", "while", "until", "where", "because", "since", "but", "see",
    "instead", "rather",
];

/// Behind these, a place or a means, once something is named.
const PLACES: [&str; 26] = [
    "in", "from", "inside", "within", "on", "at", "with", "by", "via", "through", "to", "into",
    "for", "over", "before", "after", "as", "that", "which", "whose", "use", "prefer", "call",
    "under", "of", "using",
];

/// What makes a prohibition hold only somewhere.
const EXCEPTIONS: [&str; 5] = ["without", "outside", "unless", "except", "than"];

/// The names of a clause.
#[derive(Default)]
struct Named<'s> {
    names: Vec<&'s str>,
    /// What is to be used instead of: forbidden where the names are demanded.
    instead: Vec<&'s str>,
    any: bool,
    /// Whether it holds only somewhere.
    is_partial: bool,
}

/// What a sentence demands.
pub(super) fn clauses(sentence: &str) -> Vec<Clause<'_>> {
    let pieces = pieces(sentence);
    let modals = modals(&pieces);
    let mut found = Vec::new();
    let mut subject = pieces.get(..modals.first().map_or(0, |modal| modal.at));
    for (nth, modal) in modals.iter().enumerate() {
        let next = modals.get(nth + 1);
        let end = next.map_or(pieces.len(), |next| next.at);
        let behind = pieces.get(modal.end..end).unwrap_or_default();
        let object_len = next.map_or(behind.len(), |_| before_the_last_joint(behind));
        let (object, rest) = behind.split_at_checked(object_len).unwrap_or((behind, &[]));
        demanded(modal, subject.unwrap_or_default(), object, &mut found);
        subject = Some(rest);
    }
    found
}

/// The names at the start of an entry of a list that a demand announced.
pub(super) fn listed(entry: &str) -> Vec<&str> {
    named(&pieces(entry), true).names
}

fn demanded<'s>(
    modal: &Modal,
    subject: &[Piece<'s>],
    object: &[Piece<'s>],
    found: &mut Vec<Clause<'s>>,
) {
    let verb = verb(object);
    let forbids = modal.forbids || verb.avoids;
    let mut named = named(object, forbids);
    if verb.is_turned {
        let (names, any) = named_last(subject);
        if !names.is_empty() {
            named.is_partial |= !forbids && object.contains(&Piece::Word("only"));
            (named.names, named.any) = (names, any);
        }
    }
    let ends_open = object.last() == Some(&Piece::Mark(':'));
    let is_nothing = named.names.is_empty() && !ends_open;
    // Who must not avoid a thing need not have it.
    let is_free = modal.forbids && verb.avoids;
    let (Some(severity), false) = (modal.severity, named.is_partial || is_nothing || is_free)
    else {
        return;
    };
    let clause = |names, forbids, any| Clause {
        word: if forbids { modal.negated } else { modal.word },
        severity,
        forbids,
        names,
        any,
    };
    found.push(clause(named.names, forbids, named.any && !forbids));
    if !named.instead.is_empty() {
        found.push(clause(named.instead, true, false));
    }
}

/// What the words behind one of RFC 2119 name.
fn named<'s>(object: &[Piece<'s>], forbids: bool) -> Named<'s> {
    let mut found = Named::default();
    let mut is_instead = false;
    let mut pieces = object.iter().peekable();
    while let Some(piece) = pieces.next() {
        let has_names = !found.names.is_empty();
        match piece {
            Piece::Name(name) if is_instead => found.instead.push(name),
            Piece::Name(name) => found.names.push(name),
            Piece::Mark(';') => break,
            Piece::Mark('(' | '—' | '–') if has_names => break,
            Piece::Mark(_) => {}
            Piece::Word(word) => {
                let word = word.to_ascii_lowercase();
                let next = pieces.peek();
                let is_of =
                    next == Some(&&Piece::Word("of")) || next == Some(&&Piece::Word("than"));
                if EXCEPTIONS.contains(&word.as_str()) {
                    found.is_partial = forbids;
                    break;
                } else if (word == "instead" || word == "rather") && is_of && has_names && !forbids
                {
                    is_instead = true;
                    pieces.next();
                } else if CONDITIONS.contains(&word.as_str())
                    || (has_names && PLACES.contains(&word.as_str()))
                    || (!forbids && ["such", "like", "example", "e"].contains(&word.as_str()))
                {
                    break;
                } else if word == "or" && has_names {
                    found.any = true;
                }
            }
        }
    }
    found.is_partial |= forbids && has_exception(object);
    found
}

fn has_exception(pieces: &[Piece<'_>]) -> bool {
    pieces.iter().any(|piece| match piece {
        Piece::Word(word) => EXCEPTIONS.contains(&word.to_ascii_lowercase().as_str()),
        Piece::Name(_) | Piece::Mark(_) => false,
    })
}

/// The names that a subject ends with, and whether one of them is enough.
fn named_last<'s>(subject: &[Piece<'s>]) -> (Vec<&'s str>, bool) {
    let (mut names, mut any) = (Vec::new(), false);
    for piece in subject.iter().rev() {
        match piece {
            Piece::Name(name) => names.push(*name),
            Piece::Word("or") => any = true,
            Piece::Word("and" | "nor" | "the" | "a" | "an" | "both") | Piece::Mark(',') => {}
            Piece::Word(_) | Piece::Mark(_) if names.is_empty() => {}
            Piece::Word(_) | Piece::Mark(_) => break,
        }
    }
    names.reverse();
    (names, any)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each clause as its word and its names.
    fn read(sentence: &str) -> Vec<String> {
        let clauses = clauses(sentence).into_iter();
        let said = clauses.map(|clause| {
            let forbids = if clause.forbids { "-" } else { "+" };
            let joint = if clause.any { "|" } else { "," };
            format!("{forbids}{} {}", clause.word, clause.names.join(joint))
        });
        said.collect()
    }

    #[test]
    fn names_behind_the_word_are_demanded_and_those_before_it_meant() {
        for (sentence, said) in [
            ("Handlers MUST call `validate` first.", "+MUST validate"),
            ("Code MUST NOT use `eval` or `exec`.", "-MUST NOT eval,exec"),
            (
                "`UserService` MUST extend `Base` and implement `Repo`",
                "+MUST Base,Repo",
            ),
            (
                "Handlers SHOULD return `Result` or `Option`",
                "+SHOULD Result|Option",
            ),
            ("Callers SHALL NOT `unwrap`", "-SHALL NOT unwrap"),
            (
                "`console.log` SHOULD NOT be used in `src`",
                "-SHOULD NOT console.log",
            ),
            ("`a`, `b` and `c` MUST NOT be called", "-MUST NOT a,b,c"),
            ("The macro `println!` MUST NOT appear", "-MUST NOT println!"),
            ("`tracing` is RECOMMENDED", ""),
            ("It is REQUIRED to call `close`", "+REQUIRED close"),
            ("It is NOT RECOMMENDED to use `any`", "-NOT RECOMMENDED any"),
            ("MUST never call `abort`", "-MUST NOT abort"),
            ("Imports MUST NOT come from `lodash`", "-MUST NOT lodash"),
            ("MUST call `close` in `finally`", "+MUST close"),
            ("MUST NOT use `eval`; use `parse` instead", "-MUST NOT eval"),
            ("MUST NOT use `eval` (use `parse`)", "-MUST NOT eval"),
            ("MUST NOT use `eval`, use `parse`", "-MUST NOT eval"),
            ("MUST NOT use globals such as `window`", "-MUST NOT window"),
            ("MUST call `close` when `open` failed", "+MUST close"),
            ("Code MUST avoid `any`", "-MUST NOT any"),
            ("The use of `any` SHOULD be avoided", "-SHOULD NOT any"),
            ("Fields MUST be `private`", "+MUST private"),
            (
                "Controllers MUST NOT access `db` directly; they MUST NOT",
                "-MUST NOT db",
            ),
        ] {
            let said: Vec<&str> = Some(said)
                .filter(|said| !said.is_empty())
                .into_iter()
                .collect();
            assert_eq!(read(sentence), said, "{sentence}");
        }
    }

    #[test]
    fn each_word_of_a_sentence_has_its_own_names() {
        for (sentence, said) in [
            (
                "Code MUST use `a` and MUST NOT use `b`, and MAY use `c`.",
                &["+MUST a", "-MUST NOT b"][..],
            ),
            (
                "`a` MUST be used and `b` MUST NOT be used",
                &["+MUST a", "-MUST NOT b"],
            ),
            (
                "`a` MUST NOT be used; `b` SHOULD be used",
                &["-MUST NOT a", "+SHOULD b"],
            ),
            ("MUST use `a` instead of `b`", &["+MUST a", "-MUST NOT b"]),
            (
                "MUST use `a` rather than `b` in `c`",
                &["+MUST a", "-MUST NOT b"],
            ),
        ] {
            assert_eq!(read(sentence), said, "{sentence}");
        }
    }

    #[test]
    fn what_asks_for_nothing_that_words_could_check_is_left_aside() {
        for sentence in [
            "Code must use `a`.",
            "Must use `a`",
            "Code MAY use `a` and it is NOT REQUIRED to call `b`",
            "`UserService` MUST be a singleton",
            "`Connection` MUST NOT be shared",
            "`query` MUST NOT be called outside `repositories`",
            "MUST NOT call `open` without `close`",
            "MUST NOT use `eval` unless in tests",
            "MUST NOT use anything other than `spawn`",
            "MUST NOT remove `a`",
            "`query` MUST only be used in repositories",
            "MUST log by a library such as `tracing`",
            "Handlers MUST be small",
            "MUST use when `a` is set",
            "`MUST` is a word",
            "",
            "`",
        ] {
            assert_eq!(read(sentence), [""; 0], "{sentence}");
        }
    }

    #[test]
    fn a_demand_that_ends_with_a_colon_is_open_to_the_list_behind_it() {
        assert_eq!(read("Code MUST NOT use:"), ["-MUST NOT "]);
        assert_eq!(read("Code MUST NOT use any of:"), ["-MUST NOT "]);
        assert_eq!(listed("`eval` (use `parse`)"), ["eval"]);
        assert_eq!(listed("`a` and `b`"), ["a", "b"]);
    }
}
