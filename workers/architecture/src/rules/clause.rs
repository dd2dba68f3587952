//! The requirements in a sentence: an RFC 2119 keyword and the names in backticks that it applies
//! to.
//!
//! The parser uses word order only, no grammar. Names after the keyword are required ("MUST use
//! `a`"). Names before it are the subject, which is ignored unless the sentence is passive ("`a`
//! MUST NOT be used"). Names in a place or an advice ("in `b`", "; use `c`") are not part of the
//! requirement. A requirement that is limited to a place, a condition or a count ("outside `a`", "a
//! bare `b`", "at most one `c`") can't be checked by words: it yields no clause, and
//! [`Requirements`] says that something was left out.

mod limits;
mod names;
mod pieces;
mod verbs;

use super::Severity;
use limits::{is_limited, is_place, is_qualified, word};
use names::{ClauseNames, NamePosition, names_in};
use pieces::{Keyword, Piece, keywords, object_length, pieces};
use verbs::{Verb, verb};

/// The requirement of one RFC 2119 keyword.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Clause<'s> {
    /// The keyword, with NOT.
    pub(super) word: &'static str,
    pub(super) severity: Severity,
    pub(super) forbids: bool,
    /// As written; empty if a list after the sentence has the names.
    pub(super) names: Vec<&'s str>,
    /// Whether one of the names is sufficient.
    pub(super) any: bool,
}

/// The requirements in a sentence.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Requirements<'s> {
    /// The requirements that words can check.
    pub(super) clauses: Vec<Clause<'s>>,
    /// Whether the sentence requires more than that.
    pub(super) has_more: bool,
}

/// Parses a sentence.
pub(super) fn clauses(sentence: &str) -> Requirements<'_> {
    let pieces = pieces(sentence);
    let keywords = keywords(&pieces);
    let mut requirements = Requirements::default();
    let mut subject = pieces.get(..keywords.first().map_or(0, |keyword| keyword.at));
    for (nth, keyword) in keywords.iter().enumerate() {
        let next = keywords.get(nth + 1);
        let end = next.map_or(pieces.len(), |next| next.at);
        let after = pieces.get(keyword.end..end).unwrap_or_default();
        let object_len = next.map_or(after.len(), |_| object_length(after));
        let (object, rest) = after.split_at_checked(object_len).unwrap_or((after, &[]));
        add_requirement(
            keyword,
            subject.unwrap_or_default(),
            object,
            &mut requirements,
        );
        subject = Some(rest);
    }
    requirements
}

/// The names at the start of an item in a list of required names; `None` if words can't check the
/// item.
pub(super) fn listed(entry: &str, forbids: bool) -> Option<Vec<&str>> {
    let pieces = pieces(entry);
    let named = names_in(&pieces, forbids, NamePosition::Listed);
    (!named.is_restricted && !named.names.is_empty()).then_some(named.names)
}

fn add_requirement<'s>(
    keyword: &Keyword,
    subject: &[Piece<'s>],
    object: &[Piece<'s>],
    requirements: &mut Requirements<'s>,
) {
    let Some(severity) = keyword.severity else {
        return;
    };
    let verb = verb(object);
    let forbids = keyword.forbids || verb.forbids_use;
    let named = names_of(&verb, subject, object, forbids);
    let announces_list = object.last() == Some(&Piece::Mark(':'));
    let has_no_names = named.names.is_empty() && !announces_list;
    // "MUST NOT avoid" doesn't require the thing.
    let is_permission = keyword.forbids && verb.forbids_use;
    if named.is_restricted || has_no_names || is_permission || is_limited(subject, forbids) {
        requirements.has_more = true;
        return;
    }
    let clause = |names, forbids, any| Clause {
        word: if forbids {
            keyword.negated
        } else {
            keyword.word
        },
        severity,
        forbids,
        names,
        any,
    };
    let clauses = &mut requirements.clauses;
    clauses.push(clause(named.names, forbids, named.any && !forbids));
    if !named.forbidden.is_empty() {
        clauses.push(clause(named.forbidden, true, false));
    }
}

/// The required names: those after the keyword, or those before it in a passive sentence.
fn names_of<'s>(
    verb: &Verb,
    subject: &[Piece<'s>],
    object: &[Piece<'s>],
    forbids: bool,
) -> ClauseNames<'s> {
    let last = if verb.is_passive {
        last_names(subject, forbids)
    } else {
        ClauseNames::default()
    };
    let position = if last.names.is_empty() {
        NamePosition::AfterVerb
    } else {
        NamePosition::BeforeKeyword
    };
    let mut named = names_in(object, forbids, position);
    named.is_restricted |= verb.has_other_meaning && forbids;
    if last.names.is_empty() {
        return named;
    }
    ClauseNames {
        is_restricted: named.is_restricted || last.is_restricted,
        ..last
    }
}

/// The names at the end of a subject, and whether one of them is sufficient.
fn last_names<'s>(subject: &[Piece<'s>], forbids: bool) -> ClauseNames<'s> {
    let mut found = ClauseNames::default();
    let mut at = subject.len();
    for (nth, piece) in subject.iter().enumerate().rev() {
        match piece {
            Piece::Name(name) => {
                found.names.push(*name);
                at = nth;
            }
            Piece::Word("or") => found.any = true,
            Piece::Word("and" | "nor" | "the" | "a" | "an" | "both") | Piece::Mark(',') => {}
            // "`a` of `b`": which name is meant is unclear.
            Piece::Word(_) if found.names.is_empty() => {
                found.is_restricted |= forbids && word(Some(piece)).is_some_and(|it| is_place(&it));
            }
            Piece::Mark(_) if found.names.is_empty() => {}
            Piece::Word(_) | Piece::Mark(_) => break,
        }
    }
    let before = subject.get(..at).unwrap_or_default();
    found.is_restricted |= forbids && is_qualified(before, false);
    found.names.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats each clause: its keyword and names.
    fn read(sentence: &str) -> Vec<String> {
        let clauses = clauses(sentence).clauses.into_iter();
        let requirements = clauses.map(|clause| {
            let forbids = if clause.forbids { "-" } else { "+" };
            let joint = if clause.any { "|" } else { "," };
            format!("{forbids}{} {}", clause.word, clause.names.join(joint))
        });
        requirements.collect()
    }

    #[test]
    fn names_after_the_keyword_are_required() {
        for (sentence, requirements) in [
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
                "`console.log` SHOULD NOT be used in production code",
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
            ("Code MUST avoid `any`", "-MUST NOT any"),
            ("The use of `any` SHOULD be avoided", "-SHOULD NOT any"),
            ("Fields MUST be `private`", "+MUST private"),
            (
                "Controllers MUST NOT access `db` directly; they MUST NOT",
                "-MUST NOT db",
            ),
        ] {
            let requirements: Vec<&str> = Some(requirements)
                .filter(|requirements| !requirements.is_empty())
                .into_iter()
                .collect();
            assert_eq!(read(sentence), requirements, "{sentence}");
        }
    }

    #[test]
    fn each_keyword_has_its_own_names() {
        for (sentence, requirements) in [
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
            assert_eq!(read(sentence), requirements, "{sentence}");
        }
    }

    #[test]
    fn uncheckable_sentences_have_no_clauses() {
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
    fn limited_requirements_are_left_out_and_flagged() {
        for sentence in [
            "MUST NOT use a bare `except`",
            "Bare `except` MUST NOT be used",
            "Code MUST avoid raw `SELECT`",
            "MUST NOT catch `a` or bare `except`",
            "`print` outside of `main` MUST NOT be used",
            "`print` MUST NOT be used in `src`",
            "`a` without `b` MUST NOT appear",
            "A function MUST have at most one `unwrap`",
            "MUST have exactly one `main`",
            "MUST call `init` once",
            "MUST call `init` at most twice",
            "MUST NOT have more than one `return`",
            "MUST NOT have multiple `return` statements",
            "MUST NOT use `a` and `b` together",
            "MUST NOT mix `a` and `b`",
            "MUST call `close` when `open` failed",
            "When `a` is set, code MUST NOT use `b`",
            "After `open`, code MUST call `close`",
            "In tests, code MUST NOT use `sleep`",
            "MUST NOT use `md5` for passwords",
            "MUST NOT call `query` with raw text",
            "MUST NOT import `x` from `lodash`",
            "MUST NOT use `a` (unless in tests)",
            "Only repositories SHOULD call `query`",
            "No function SHOULD use `eval`",
            "MUST only return `Result`",
            "MUST use `a` unless `b` is set",
            "MUST NOT forget `await`",
            "Handlers MUST be small",
        ] {
            let requirements = clauses(sentence);
            assert!(requirements.has_more, "{sentence}");
            assert_eq!(requirements.clauses, [], "{sentence}");
        }
    }

    #[test]
    fn unlimited_requirements_are_complete() {
        for (sentence, requirements) in [
            ("MUST NOT use `a`, which is slow", "-MUST NOT a"),
            ("MUST NOT use `a` in any form", "-MUST NOT a"),
            ("MUST NOT use `a`, even in tests", "-MUST NOT a"),
            ("MUST NOT use `a`, as it is slow", "-MUST NOT a"),
            ("MUST NOT use the `any` type", "-MUST NOT any"),
            ("MUST NOT make calls to `a`", "-MUST NOT a"),
            ("MUST NOT depend on `a` or import `b`", "-MUST NOT a,b"),
            ("Calls to `a` MUST NOT be made by handlers", "-MUST NOT a"),
            ("SHOULD avoid `a` where possible", "-SHOULD NOT a"),
            ("Production code MUST NOT call `a`", "-MUST NOT a"),
            ("MUST NOT use `a` because of `b`", "-MUST NOT a"),
            ("MUST use one of `a`, `b`", "+MUST a|b"),
            ("MUST have at least one `a`", "+MUST a"),
            ("MUST call `a` at least once", "+MUST a"),
            ("MUST prefer `a`", "+MUST a"),
            ("MUST return a typed `a`", "+MUST a"),
            ("MUST call `close` before the end", "+MUST close"),
        ] {
            assert_eq!(read(sentence), [requirements], "{sentence}");
            assert!(!clauses(sentence).has_more, "{sentence}");
        }
    }

    #[test]
    fn a_colon_announces_a_list_of_names() {
        assert_eq!(read("Code MUST NOT use:"), ["-MUST NOT "]);
        assert_eq!(read("Code MUST NOT use any of:"), ["-MUST NOT "]);
        assert_eq!(listed("`eval` (use `parse`)", true).unwrap(), ["eval"]);
        assert_eq!(listed("`a` and `b`", true).unwrap(), ["a", "b"]);
        for entry in [
            "bare `except`",
            "`print`, if in `main`",
            "`print` outside `main`",
            "things",
        ] {
            assert_eq!(listed(entry, true), None, "{entry}");
        }
    }
}
