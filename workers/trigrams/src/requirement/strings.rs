//! A small set of strings in normal form.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::{Requirement, distinct_trigrams};
use crate::trigram::normal_form;

/// Strings of one set.
const MAX_STRINGS: usize = 32;
/// Bytes of one string.
const MAX_LENGTH: usize = 512;
/// Bytes that a trigram has before its last one.
const TAIL: usize = 2;

/// A set of at most [`MAX_STRINGS`] strings.
#[derive(Clone, Debug)]
pub(super) struct Strings(BTreeSet<Vec<u8>>);

impl Strings {
    /// No string.
    pub(super) fn none() -> Strings {
        Strings(BTreeSet::new())
    }

    /// The empty string.
    pub(super) fn empty() -> Strings {
        Strings::one(Vec::new())
    }

    pub(super) fn one(string: Vec<u8>) -> Strings {
        Strings(BTreeSet::from([string]))
    }

    /// The strings of one character each; `None` if they are too many.
    pub(super) fn characters(
        ranges: impl Iterator<Item = RangeInclusive<char>>,
    ) -> Option<Strings> {
        let mut strings = BTreeSet::new();
        for character in ranges.flatten() {
            strings.insert(normal_form(character.encode_utf8(&mut [0; 4])));
            if strings.len() > MAX_STRINGS {
                return None;
            }
        }
        // A class without characters never matches.
        (!strings.is_empty()).then_some(Strings(strings))
    }

    /// The strings of both; `None` if they are too many.
    pub(super) fn or(mut self, other: Strings) -> Option<Strings> {
        self.0.extend(other.0);
        (self.0.len() <= MAX_STRINGS).then_some(self)
    }

    /// Each of these strings followed by each of the others; `None` if they are too many, or too
    /// long.
    pub(super) fn followed_by(&self, others: &Strings) -> Option<Strings> {
        let longest = |strings: &Strings| strings.0.iter().map(Vec::len).max().unwrap_or(0);
        if self.0.len() * others.0.len() > MAX_STRINGS
            || longest(self) > TAIL && longest(self) + longest(others) > MAX_LENGTH
        {
            return None;
        }
        let firsts = self.0.iter();
        let joined = firsts.flat_map(|first| {
            let lasts = others.0.iter();
            lasts.map(move |last| [first.as_slice(), last].concat())
        });
        Some(Strings(joined.collect()))
    }

    /// The last bytes of the strings, with which trigrams of a following text may begin.
    pub(super) fn tails(&self) -> Strings {
        let tail = |string: &Vec<u8>| {
            let start = string.len().saturating_sub(TAIL);
            string.get(start..).unwrap_or_default().to_vec()
        };
        Strings(self.0.iter().map(tail).collect())
    }

    /// What a text requires that contains one of the strings.
    pub(super) fn requirement(&self) -> Requirement {
        let each = self.0.iter().map(|string| {
            let trigrams = distinct_trigrams(string).into_iter();
            Requirement::all(trigrams.map(Requirement::Trigram).collect())
        });
        Requirement::any(each.collect())
    }
}
