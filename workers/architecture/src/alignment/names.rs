//! Names of products and techniques, and which of them are alternatives to each other.
//!
//! Semicolons separate products, and commas separate names of one product. The products of a group
//! are alternatives: adopting one where another was chosen replaces it. A product may be in several
//! groups. Synonyms among plain words are in [`SAME`]; they have no alternatives.

mod cues;
mod plain;
mod rivals;

use std::collections::HashMap;
use std::sync::LazyLock;

use cues::CUES;
pub(super) use cues::{KINDS, LONGEST_CUE};
use plain::{AMBIGUOUS, SAME};
pub(super) use plain::{EVERYDAY, TECHNICAL};
use rivals::blocks;

/// The longest name, in words.
pub(super) const LONGEST: usize = 4;

/// At most this many groups contain one product.
const MAX_BLOCKS: usize = 8;

/// The numbers, from 1, of the groups that a product is in; 0 marks a free entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rivals([u8; MAX_BLOCKS]);

impl Rivals {
    /// Whether the product is in no group.
    pub(super) fn is_empty(self) -> bool {
        self.0[0] == 0
    }

    /// Whether two products share a group.
    pub(super) fn meet(self, other: Rivals) -> bool {
        let of_other = |block: &u8| *block != 0 && other.0.contains(block);
        self.0.iter().any(of_other)
    }

    fn add(&mut self, block: u8) {
        let free = self.0.iter_mut().find(|at| **at == 0 || **at == block);
        if let Some(free) = free {
            *free = block;
        }
    }
}

/// A product or technique: its main name, its kind and its groups.
#[derive(Clone, Debug, Default)]
pub(super) struct Thing {
    /// The main name.
    pub(super) first: &'static str,
    /// What it is: a database, a language.
    pub(super) kind: &'static str,
    pub(super) rivals: Rivals,
}

/// The product with this name: lower-case words separated by single spaces.
pub(super) fn thing(name: &str) -> Option<&'static Thing> {
    INDEX.get(name)
}

static INDEX: LazyLock<HashMap<&'static str, Thing>> = LazyLock::new(|| {
    let mut index: HashMap<&'static str, Thing> = HashMap::new();
    let things = blocks().zip(1..).flat_map(|((kind, block), number)| {
        block
            .split("; ")
            .map(move |line| (line, kind, Some(number)))
    });
    let same = SAME.split('\n').map(|line| (line, "", None));
    for (line, kind, block) in things.chain(same) {
        let mut names = line
            .split(", ")
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let Some(first) = names.next() else { continue };
        for name in std::iter::once(first).chain(names) {
            let thing = index.entry(name).or_default();
            if let Some(block) = block {
                thing.rivals.add(block);
            }
            if thing.first.is_empty() {
                (thing.first, thing.kind) = (first, kind);
            }
        }
    }
    index
});

/// The kinds of cues that a word or phrase belongs to, one bit per kind.
pub(super) fn cues(phrase: &str) -> u8 {
    KINDS_OF.get(phrase).copied().unwrap_or(0)
}

static KINDS_OF: LazyLock<HashMap<&'static str, u8>> = LazyLock::new(|| {
    let mut kinds = HashMap::new();
    for (cues, kind) in CUES.iter().zip(0..) {
        for cue in cues.split(", ") {
            *kinds.entry(cue).or_insert(0) |= 1 << kind;
        }
    }
    kinds
});

/// Whether a word is a technical term.
pub(super) fn is_technical(word: &str) -> bool {
    TECHNICAL.binary_search(&word).is_ok()
}

/// Whether a name is also an English word.
pub(super) fn is_ambiguous(name: &str) -> bool {
    AMBIGUOUS.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_thing_are_one_and_rivals_share_a_block() {
        let first = |name| thing(name).map(|thing| thing.first);
        assert_eq!(first("pg"), Some("postgresql"));
        assert_eq!(first("json web tokens"), Some("jwt"));
        assert_eq!(first("parcel"), None);
        let rivals = |name: &str| thing(name).map_or(Rivals::default(), |thing| thing.rivals);
        assert!(rivals("cockroachdb").meet(rivals("postgres")));
        assert!(!rivals("kafka").meet(rivals("postgres")));
        assert!(rivals("repo").is_empty());
    }

    #[test]
    fn the_table_fits_its_numbers_and_the_longest_name() {
        assert!(blocks().count() < usize::from(u8::MAX));
        let is_full = |thing: &Thing| thing.rivals.0.iter().all(|block| *block != 0);
        assert!(!INDEX.values().any(is_full));
        let longest = INDEX.keys().map(|name| name.split(' ').count()).max();
        assert!(longest.is_some_and(|longest| longest <= LONGEST));
        assert!(INDEX.len() >= 1500, "{}", INDEX.len());
    }

    #[test]
    fn a_cue_is_of_a_kind_or_of_several() {
        assert_eq!(cues("instead of"), 0b00001);
        assert_eq!(cues("let's"), 0b00010);
        assert_eq!(cues("parcel"), 0);
        let longest = KINDS_OF.keys().map(|cue| cue.split(' ').count()).max();
        assert_eq!(longest, Some(LONGEST_CUE));
    }

    #[test]
    fn words_of_the_trade_are_sorted() {
        assert!(TECHNICAL.is_sorted());
        assert!(AMBIGUOUS.is_sorted());
    }
}
