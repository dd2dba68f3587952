//! Names of products and techniques, and which of them are alternatives to each other.
//!
//! Semicolons separate products, and commas separate names of one product. The products of a group
//! are alternatives: adopting one where another was chosen replaces it. A product may be in several
//! groups. Synonyms among plain words are in [`SYNONYMS`]; they have no alternatives.

mod cues;
mod vocabulary;
mod alternatives;

use std::collections::HashMap;
use std::sync::LazyLock;

use alternatives::groups;
use cues::CUES;
pub(super) use cues::{CUE_KINDS, MAX_CUE_WORDS};
use vocabulary::{AMBIGUOUS, SYNONYMS};
pub(super) use vocabulary::{EVERYDAY, TECHNICAL};

/// The longest name, in words.
pub(super) const MAX_NAME_WORDS: usize = 4;

/// At most this many groups contain one product.
const MAX_GROUPS: usize = 8;

/// The numbers, from 1, of the groups that a product is in; 0 marks a free entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Alternatives([u8; MAX_GROUPS]);

impl Alternatives {
    /// Whether the product is in no group.
    pub(super) fn is_empty(self) -> bool {
        self.0[0] == 0
    }

    /// Whether two products share a group.
    pub(super) fn overlaps(self, other: Alternatives) -> bool {
        let of_other = |group: &u8| *group != 0 && other.0.contains(group);
        self.0.iter().any(of_other)
    }

    fn add(&mut self, group: u8) {
        let free = self.0.iter_mut().find(|at| **at == 0 || **at == group);
        if let Some(free) = free {
            *free = group;
        }
    }
}

/// A product or technique: its main name, its kind and its groups.
#[derive(Clone, Debug, Default)]
pub(super) struct Product {
    /// The main name.
    pub(super) main_name: &'static str,
    /// For example a database or a language.
    pub(super) kind: &'static str,
    pub(super) alternatives: Alternatives,
}

/// The product with this name: lower-case words separated by single spaces.
pub(super) fn product(name: &str) -> Option<&'static Product> {
    PRODUCT_INDEX.get(name)
}

static PRODUCT_INDEX: LazyLock<HashMap<&'static str, Product>> = LazyLock::new(|| {
    let mut index: HashMap<&'static str, Product> = HashMap::new();
    let products = groups().zip(1..).flat_map(|((kind, group), number)| {
        group
            .split("; ")
            .map(move |line| (line, kind, Some(number)))
    });
    let synonyms = SYNONYMS.split('\n').map(|line| (line, "", None));
    for (line, kind, group) in products.chain(synonyms) {
        let mut names = line
            .split(", ")
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let Some(main_name) = names.next() else {
            continue;
        };
        for name in std::iter::once(main_name).chain(names) {
            let product = index.entry(name).or_default();
            if let Some(group) = group {
                product.alternatives.add(group);
            }
            if product.main_name.is_empty() {
                (product.main_name, product.kind) = (main_name, kind);
            }
        }
    }
    index
});

/// The kinds of cues that a word or phrase belongs to, one bit per kind.
pub(super) fn cues(phrase: &str) -> u8 {
    CUE_INDEX.get(phrase).copied().unwrap_or(0)
}

static CUE_INDEX: LazyLock<HashMap<&'static str, u8>> = LazyLock::new(|| {
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
    fn synonyms_are_one_product_and_alternatives_share_a_group() {
        let first = |name| product(name).map(|product| product.main_name);
        assert_eq!(first("pg"), Some("postgresql"));
        assert_eq!(first("json web tokens"), Some("jwt"));
        assert_eq!(first("parcel"), None);
        let alternatives = |name: &str| {
            product(name).map_or(Alternatives::default(), |product| product.alternatives)
        };
        assert!(alternatives("cockroachdb").overlaps(alternatives("postgres")));
        assert!(!alternatives("kafka").overlaps(alternatives("postgres")));
        assert!(alternatives("repo").is_empty());
    }

    #[test]
    fn groups_fit_their_number_type_and_names_the_maximum_length() {
        assert!(groups().count() < usize::from(u8::MAX));
        let is_full = |product: &Product| product.alternatives.0.iter().all(|group| *group != 0);
        assert!(!PRODUCT_INDEX.values().any(is_full));
        let longest = PRODUCT_INDEX
            .keys()
            .map(|name| name.split(' ').count())
            .max();
        assert!(longest.is_some_and(|longest| longest <= MAX_NAME_WORDS));
        assert!(PRODUCT_INDEX.len() >= 1500, "{}", PRODUCT_INDEX.len());
    }

    #[test]
    fn a_cue_has_the_bits_of_its_kinds() {
        assert_eq!(cues("instead of"), 0b00001);
        assert_eq!(cues("let's"), 0b00010);
        assert_eq!(cues("parcel"), 0);
        let longest = CUE_INDEX.keys().map(|cue| cue.split(' ').count()).max();
        assert_eq!(longest, Some(MAX_CUE_WORDS));
    }

    #[test]
    fn word_lists_are_sorted() {
        assert!(TECHNICAL.is_sorted());
        assert!(AMBIGUOUS.is_sorted());
    }
}
