//! The names after an RFC 2119 keyword, and whether other words limit the requirement.

use super::{
    limits::{
        is_condition, is_count, is_count_behind, is_everywhere, is_exception, is_place,
        is_qualified, is_wish, word,
    },
    pieces::Piece,
};

/// Words that begin a reason or a contrast.
const ASIDES: [&str; 6] = ["because", "since", "but", "see", "instead", "rather"];

/// Words that begin an advice after a name.
const ADVICE: [&str; 3] = ["use", "prefer", "call"];

/// Words that begin examples in a requirement.
const EXAMPLES: [&str; 4] = ["such", "like", "example", "e"];

/// The names of a clause.
#[derive(Default)]
pub(super) struct Named<'s> {
    pub(super) names: Vec<&'s str>,
    /// The names after "instead of": forbidden where `names` are required.
    pub(super) instead: Vec<&'s str>,
    pub(super) any: bool,
    /// Whether the requirement is limited to a place, a condition or a count.
    pub(super) is_partial: bool,
}

/// The position of the names that a requirement applies to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// After the verb.
    Behind,
    /// Before the keyword.
    Before,
    /// In a list item, which has no verb.
    Listed,
}

/// Scans the words after an RFC 2119 keyword.
struct Reader<'p, 's> {
    object: &'p [Piece<'s>],
    forbids: bool,
    place: Place,
    found: Named<'s>,
    is_instead: bool,
    /// Whether a name was found, here or before the keyword.
    has_names: bool,
    /// Whether a comma follows the names.
    has_comma: bool,
}

/// The names after an RFC 2119 keyword, or in a list item.
pub(super) fn named<'s>(object: &[Piece<'s>], forbids: bool, place: Place) -> Named<'s> {
    let mut reader = Reader {
        object,
        forbids,
        place,
        found: Named::default(),
        is_instead: false,
        has_names: place == Place::Before,
        has_comma: false,
    };
    let mut at = 0;
    while let Some(next) = reader.step(at) {
        at = next;
    }
    let mut words = object.iter().filter_map(|piece| word(Some(piece)));
    reader.found.is_partial |= forbids && words.any(|word| is_exception(&word));
    reader.found
}

impl<'s> Reader<'_, 's> {
    /// Handles the piece at an index, and returns the next index; `None` if the rest doesn't
    /// concern the names.
    fn step(&mut self, at: usize) -> Option<usize> {
        match self.object.get(at)? {
            Piece::Name(name) => self.name(name, at),
            Piece::Mark(';') => return None,
            Piece::Mark('(') if self.has_names => {
                let first = word(self.object.get(at + 1)).unwrap_or_default();
                self.found.is_partial |= self.limits(&first, at + 1);
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
        self.found.is_partial |= self.forbids && is_qualified(before, self.place != Place::Listed);
        self.has_names = true;
        self.has_comma = false;
        match self.is_instead {
            true => self.found.instead.push(name),
            false => self.found.names.push(name),
        }
    }

    fn word(&mut self, at: usize) -> Option<usize> {
        let word = word(self.object.get(at))?;
        let next = self.next_word(at);
        if self.has_names && !self.forbids && is_instead_of(&word, &next) {
            self.is_instead = true;
            return Some(at + 2);
        }
        if word == "even" && self.has_names {
            return None;
        }
        if word == "one" || is_count(&word) || (self.has_names && is_count_behind(&word)) {
            self.count(&word, at);
            return Some(at + 1);
        }
        if self.limits(&word, at) {
            self.found.is_partial = true;
            return None;
        }
        let is_count = word == "at" && (next == "most" || next == "least");
        let is_over = is_condition(&word)
            || ASIDES.contains(&word.as_str())
            || (self.has_names && ADVICE.contains(&word.as_str()))
            || (self.has_names && is_place(&word) && !is_count)
            || (!self.forbids && EXAMPLES.contains(&word.as_str()));
        self.found.any |= word == "or" && self.has_names;
        (!is_over).then_some(at + 1)
    }

    /// Handles a count: "one of" the names and "at least one" are checkable, other counts are not.
    fn count(&mut self, word: &str, at: usize) {
        let before = at.checked_sub(1).and_then(|at| self.object.get(at));
        let is_least = before == Some(&Piece::Word("least"));
        let is_first = !self.has_names && word == "one";
        match is_first && !self.forbids && (is_least || self.next_word(at) == "of") {
            true => self.found.any |= self.next_word(at) == "of",
            false => self.found.is_partial |= !is_least,
        }
    }

    /// Whether this word begins a limit on the requirement.
    fn limits(&self, word: &str, at: usize) -> bool {
        let behind = self.object.get(at + 1..).unwrap_or_default();
        // "`a` MUST NOT be used by `b`" states a subject.
        let is_who = word == "by" && self.place == Place::Before;
        let is_for_some = self.forbids
            && self.has_names
            && !(self.has_comma || is_who)
            && is_place(word)
            && !is_everywhere(behind);
        let is_at_times = is_condition(word) && !is_wish(behind);
        is_at_times || is_for_some
    }

    fn next_word(&self, at: usize) -> String {
        word(self.object.get(at + 1)).unwrap_or_default()
    }
}

fn is_instead_of(word: &str, next: &str) -> bool {
    (word == "instead" || word == "rather") && (next == "of" || next == "than")
}
