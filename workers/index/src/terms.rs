//! The words of a text, as readers of code see them: `parseHttpHeader` is also parse, http and header.
//!
//! Postgres and Qdrant store words by their hashes. So neither [`words`] nor the hash can change
//! without indexing everything again; tests pin both.

mod bm25;
mod stem;
mod words;

pub use bm25::{AVERAGE, idf, weight};

/// The hash of a word, used as an index of Qdrant's sparse vectors.
pub type Term = u32;

/// The words of a text and their counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Each distinct word and its count, sorted.
    pub counts: Vec<(Term, u16)>,
    /// Total number of words.
    pub length: u32,
}

impl Terms {
    /// The words of a chunk: of its header (path, parent, name) and its text.
    pub fn of(header: &[&str], text: &str) -> Self {
        let mut terms = Vec::with_capacity(text.len() / 4);
        for part in header.iter().chain([&text]) {
            words::each(part, |word| terms.push(term(word)));
        }
        terms.sort_unstable();
        Self::count(&terms)
    }

    fn count(sorted: &[Term]) -> Self {
        let counts: Vec<_> = sorted
            .chunk_by(|left, right| left == right)
            .filter_map(|same| Some((*same.first()?, count(same.len()))))
            .collect();
        let length = counts.iter().map(|&(_, count)| u32::from(count)).sum();
        Self { counts, length }
    }
}

/// The distinct words of a query, sorted; empty if it has only stop words.
pub fn query_terms(query: &str) -> Vec<Term> {
    let mut terms = Vec::new();
    words::each(query, |word| terms.push(term(word)));
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Saturates, for texts of megabytes; BM25 is flat long before.
fn count(occurrences: usize) -> u16 {
    u16::try_from(occurrences).unwrap_or(u16::MAX)
}

/// FNV-1a of 32 bits over UTF-8: one in a hundred thousand words collides.
pub fn term(word: &str) -> Term {
    word.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_term_is_the_fnv_1a_hash_of_its_word() {
        // The published values of 32-bit FNV-1a.
        for (word, hash) in [
            ("", 0x811c_9dc5),
            ("a", 0xe40c_292c),
            ("foobar", 0xbf9c_f968),
        ] {
            assert_eq!(term(word), hash, "{word}");
        }
    }

    #[test]
    fn the_terms_of_a_chunk_stay_as_stored() {
        let header = ["src/cache.rs", "QueryCache", "get"];
        let terms = Terms::of(&header, "fn get(&self, keys: &[Key]) -> Option<utf8>");
        let words = "cach cach get get key key option query querycache rs src utf utf8";
        let mut expected: Vec<_> = words.split(' ').map(term).collect();
        expected.sort_unstable();
        assert_eq!(terms, Terms::count(&expected));
        assert_eq!(terms.length, 13);
    }

    #[test]
    fn a_query_has_each_word_once() {
        let terms = query_terms("find the file of the files");
        let mut expected = vec![term("file"), term("find")];
        expected.sort_unstable();
        assert_eq!(terms, expected);
        assert!(query_terms("what is this?").is_empty());
    }

    #[test]
    fn the_count_of_a_word_saturates() {
        let terms = Terms::of(&[], &"word ".repeat(70_000));
        assert_eq!(terms.counts, [(term("word"), u16::MAX)]);
        assert_eq!(terms.length, u32::from(u16::MAX));
    }

    proptest! {
        #[test]
        fn any_text_has_terms_in_order_that_add_up(header in ".*", text in "(?s).*") {
            let terms = Terms::of(&[&header], &text);
            prop_assert!(terms.counts.is_sorted_by(|left, right| left.0 < right.0));
            let sum: u32 = terms.counts.iter().map(|&(_, count)| u32::from(count)).sum();
            prop_assert_eq!(sum, terms.length);
            prop_assert_eq!(&terms, &Terms::of(&[&header], &text));
        }

        #[test]
        fn any_text_matches_each_of_its_words(text in "[a-zA-Z_0-9 éÉß设置缓存/.-]*") {
            let terms: Vec<_> = Terms::of(&[], &text).counts.into_iter().map(|(term, _)| term).collect();
            prop_assert_eq!(terms, query_terms(&text));
        }
    }
}
