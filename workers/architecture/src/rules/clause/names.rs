//! The names after an RFC 2119 keyword, and whether other words limit the requirement.

use super::{
    limits::{
        is_condition, is_count, is_count_after, is_everywhere, is_exception, is_place,
        is_qualified, is_wish, word,
    },
    pieces::Piece,
};

/// Words that begin a reason or a contrast.
const REASONS_AND_CONTRASTS: [&str; 6] = ["because", "since", "but", "see", "instead", "rather"];

/// Words that begin an advice after a name.
const ADVICE: [&str; 3] = ["use", "prefer", "call"];

/// Words that begin examples in a requirement.
const EXAMPLES: [&str; 4] = ["such", "like", "example", "e"];

/// The names of a clause.
#[derive(Default)]
pub(super) struct ClauseNames<'s> {
    pub(super) names: Vec<&'s str>,
    /// The names after "instead of": forbidden where `names` are required.
    pub(super) forbidden: Vec<&'s str>,
    pub(super) any: bool,
    /// Whether the requirement is limited to a place, a condition or a count.
    pub(super) is_restricted: bool,
}

/// The position of the names that a requirement applies to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NamePosition {
    /// After the verb.
    AfterVerb,
    /// Before the keyword.
    BeforeKeyword,
    /// In a list item, which has no verb.
    Listed,
}

/// Scans the words after an RFC 2119 keyword.
struct NameScanner<'p, 's> {
    object: &'p [Piece<'s>],
    forbids: bool,
    position: NamePosition,
    found: ClauseNames<'s>,
    in_instead: bool,
    /// Whether a name was found, here or before the keyword.
    has_names: bool,
    /// Whether a comma follows the names.
    has_comma: bool,
}

/// The names after an RFC 2119 keyword, or in a list item.
pub(super) fn names_in<'s>(
    object: &[Piece<'s>],
    forbids: bool,
    position: NamePosition,
) -> ClauseNames<'s> {
    let mut scanner = NameScanner {
        object,
        forbids,
        position,
        found: ClauseNames::default(),
        in_instead: false,
        has_names: position == NamePosition::BeforeKeyword,
        has_comma: false,
    };
    let mut at = 0;
    while let Some(next) = scanner.step(at) {
        at = next;
    }
    let mut words = object.iter().filter_map(|piece| word(Some(piece)));
    scanner.found.is_restricted |= forbids && words.any(|word| is_exception(&word));
    scanner.found
}

impl<'s> NameScanner<'_, 's> {
    /// Handles the piece at an index, and returns the next index; `None` if the rest doesn't
    /// concern the names.
    fn step(&mut self, at: usize) -> Option<usize> {
        match self.object.get(at)? {
            Piece::Name(name) => self.name(name, at),
            Piece::Mark(';') => return None,
            Piece::Mark('(') if self.has_names => {
                let first = word(self.object.get(at + 1)).unwrap_or_default();
                self.found.is_restricted |= self.restricts(&first, at + 1);
                return None;
            }
            Piece::Mark('—' | '–' | ':') if self.has_names => return None,
            Piece::Mark(_) => self.has_comma = self.has_names,
            Piece::Word(_) => return self.word(at),
        }
        Some(at + 1)
    }

    fn name(&mut self, name: &'s str, at: usize) {
        let before = self.object.get(..at).unwrap_or_default();
        self.found.is_restricted |=
            self.forbids && is_qualified(before, self.position != NamePosition::Listed);
        self.has_names = true;
        self.has_comma = false;
        match self.in_instead {
            true => self.found.forbidden.push(name),
            false => self.found.names.push(name),
        }
    }

    fn word(&mut self, at: usize) -> Option<usize> {
        let word = word(self.object.get(at))?;
        let next = self.next_word(at);
        if self.has_names && !self.forbids && is_instead_of(&word, &next) {
            self.in_instead = true;
            return Some(at + 2);
        }
        if word == "even" && self.has_names {
            return None;
        }
        if word == "one" || is_count(&word) || (self.has_names && is_count_after(&word)) {
            self.count(&word, at);
            return Some(at + 1);
        }
        if self.restricts(&word, at) {
            self.found.is_restricted = true;
            return None;
        }
        let is_count = word == "at" && (next == "most" || next == "least");
        let ends = is_condition(&word)
            || REASONS_AND_CONTRASTS.contains(&word.as_str())
            || (self.has_names && ADVICE.contains(&word.as_str()))
            || (self.has_names && is_place(&word) && !is_count)
            || (!self.forbids && EXAMPLES.contains(&word.as_str()));
        self.found.any |= word == "or" && self.has_names;
        (!ends).then_some(at + 1)
    }

    /// Handles a count: "one of" the names and "at least one" are checkable, other counts are not.
    fn count(&mut self, word: &str, at: usize) {
        let before = at.checked_sub(1).and_then(|at| self.object.get(at));
        let is_least = before == Some(&Piece::Word("least"));
        let is_first = !self.has_names && word == "one";
        match is_first && !self.forbids && (is_least || self.next_word(at) == "of") {
            true => self.found.any |= self.next_word(at) == "of",
            false => self.found.is_restricted |= !is_least,
        }
    }

    /// Whether this word begins a limit on the requirement.
    fn restricts(&self, word: &str, at: usize) -> bool {
        let after = self.object.get(at + 1..).unwrap_or_default();
        // "`a` MUST NOT be used by `b`" states a subject.
        let is_agent = word == "by" && self.position == NamePosition::BeforeKeyword;
        let is_limited_place = self.forbids
            && self.has_names
            && !(self.has_comma || is_agent)
            && is_place(word)
            && !is_everywhere(after);
        let is_limited_condition = is_condition(word) && !is_wish(after);
        is_limited_condition || is_limited_place
    }

    fn next_word(&self, at: usize) -> String {
        word(self.object.get(at + 1)).unwrap_or_default()
    }
}

fn is_instead_of(word: &str, next: &str) -> bool {
    (word == "instead" || word == "rather") && (next == "of" || next == "than")
}
