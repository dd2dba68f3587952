//! The names that stand behind a word of RFC 2119, and whether words limit what is said of them.

use super::{
    limits::{
        is_condition, is_count, is_count_behind, is_everywhere, is_exception, is_place,
        is_qualified, is_wish, word,
    },
    pieces::Piece,
};

/// Behind these something else begins: a reason, a contrast.
const ASIDES: [&str; 6] = ["because", "since", "but", "see", "instead", "rather"];

/// Behind these an advice, once something is named.
const ADVICE: [&str; 3] = ["use", "prefer", "call"];

/// Behind these, in a demand, come examples of what may be used.
const EXAMPLES: [&str; 4] = ["such", "like", "example", "e"];

/// The names of a clause.
#[derive(Default)]
pub(super) struct Named<'s> {
    pub(super) names: Vec<&'s str>,
    /// What is to be used instead of: forbidden where the names are demanded.
    pub(super) instead: Vec<&'s str>,
    pub(super) any: bool,
    /// Whether it holds only somewhere, only sometimes, or so many times.
    pub(super) is_partial: bool,
}

/// Where the names stand that a demand is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Behind its verb.
    Behind,
    /// Before the word of RFC 2119.
    Before,
    /// In an entry of a list, which has no verb.
    Listed,
}

/// A way through the words behind one of RFC 2119.
struct Reader<'p, 's> {
    object: &'p [Piece<'s>],
    forbids: bool,
    place: Place,
    found: Named<'s>,
    is_instead: bool,
    /// Whether what is meant was named, here or before the word of RFC 2119.
    has_names: bool,
    /// Whether a comma stands behind the names.
    has_comma: bool,
}

/// What the words behind one of RFC 2119, or of an entry of a list, name.
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
    /// Reads what stands at a place; the next place, unless nothing further is said of the names.
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

    /// Takes note of how many are meant: "one of" them, "at least one", or what can't be counted.
    fn count(&mut self, word: &str, at: usize) {
        let before = at.checked_sub(1).and_then(|at| self.object.get(at));
        let is_least = before == Some(&Piece::Word("least"));
        let is_first = !self.has_names && word == "one";
        match is_first && !self.forbids && (is_least || self.next_word(at) == "of") {
            true => self.found.any |= self.next_word(at) == "of",
            false => self.found.is_partial |= !is_least,
        }
    }

    /// Whether with this word something begins that limits what is said of the names.
    fn limits(&self, word: &str, at: usize) -> bool {
        let behind = self.object.get(at + 1..).unwrap_or_default();
        // "`a` MUST NOT be used by `b`" says who is meant.
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
