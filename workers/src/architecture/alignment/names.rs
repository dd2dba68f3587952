//! What products and techniques are called, and which of them take each other's place.
//!
//! Names between semicolons are one thing; a block of them are rivals: who adopts one of them where
//! another was chosen replaces it. A thing may stand in several blocks. Plain words that mean the
//! same stand in [`SAME`]: they have no rivals.

mod plain;
mod rivals;

use std::collections::HashMap;
use std::sync::LazyLock;

use plain::{SAME, TECHNICAL};
use rivals::RIVALS;

/// The longest name, in words.
pub(super) const LONGEST: usize = 4;

/// A name's thing: what it is called first, and the blocks of rivals it is in.
#[derive(Clone, Debug, Default)]
pub(super) struct Thing {
    /// How it is called first.
    pub(super) first: &'static str,
    /// What it is one of: a database, a language.
    pub(super) kind: &'static str,
    /// The blocks it is in, a bit each.
    pub(super) rivals: u64,
}

/// The thing of a name: words in lower case, parted by blanks.
pub(super) fn thing(name: &str) -> Option<&'static Thing> {
    INDEX.get(name)
}

static INDEX: LazyLock<HashMap<&'static str, Thing>> = LazyLock::new(|| {
    let mut index: HashMap<&'static str, Thing> = HashMap::new();
    let things = RIVALS.iter().zip(0_u32..).flat_map(|((kind, block), bit)| {
        block.split("; ").map(move |line| (line, *kind, 1 << bit))
    });
    let same = SAME.split('\n').map(|line| (line, "", 0));
    for (line, kind, rivals) in things.chain(same) {
        let mut names = line
            .split(", ")
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let Some(first) = names.next() else { continue };
        for name in std::iter::once(first).chain(names) {
            let thing = index.entry(name).or_default();
            thing.rivals |= rivals;
            if thing.first.is_empty() {
                (thing.first, thing.kind) = (first, kind);
            }
        }
    }
    index
});

/// Whether a word is one of the trade: what people who run no software seldom say.
pub(super) fn is_technical(word: &str) -> bool {
    TECHNICAL.binary_search(&word).is_ok()
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
        let rivals = |name: &str| thing(name).map_or(0, |thing| thing.rivals);
        assert_ne!(rivals("cockroachdb") & rivals("postgres"), 0);
        assert_eq!(rivals("kafka") & rivals("postgres"), 0);
        assert_eq!(rivals("repo"), 0);
    }

    #[test]
    fn the_table_fits_its_bits_and_the_longest_name() {
        assert!(RIVALS.len() <= 64);
        let longest = INDEX.keys().map(|name| name.split(' ').count()).max();
        assert!(longest.is_some_and(|longest| longest <= LONGEST));
        assert!(INDEX.len() >= 250, "{}", INDEX.len());
    }

    #[test]
    fn words_of_the_trade_are_sorted() {
        assert!(TECHNICAL.is_sorted());
    }
}
