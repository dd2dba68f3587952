//! A chunk as it is searched: its text, and before it what it is called.
//!
//! A name says more of a function than a line of it does, so it stands there more than once. How
//! often was measured on ten repositories that the built-in table was not trained on, or had no
//! part in that is known. Vectors find a function by its comment's first sentence at an MRR@10 of
//! .38 without its name, .43 with parent and name before the text, .45 with the name twice, .47 five
//! times; words at .38, .42 and .44 twice. The path adds .001 to that, for those who ask so.

/// How often a chunk's name stands before the text of which its vector is made.
const NAMES: usize = 5;

/// The text of which a chunk's vector is made. The path is not in it: the vector depends on the
/// blob alone, and a file that is renamed needs no new one.
pub fn dense_text(parent: Option<&str>, symbol: Option<&str>, text: &str) -> String {
    let (parent, symbol) = (parent.unwrap_or_default(), symbol.unwrap_or_default());
    let length = parent.len() + NAMES * (symbol.len() + 1) + 1 + text.len();
    let mut dense = String::with_capacity(length);
    dense.push_str(parent);
    for _ in 0..NAMES {
        dense.push(' ');
        dense.push_str(symbol);
    }
    dense.push('\n');
    dense.push_str(text);
    dense
}

/// The header whose words count with those of a chunk, for [`Terms::of`](super::terms::Terms::of).
/// With an empty `path` they depend on the blob alone, as the vector does.
pub fn header<'a>(path: &'a str, parent: Option<&'a str>, symbol: Option<&'a str>) -> [&'a str; 4] {
    let symbol = symbol.unwrap_or_default();
    [path, parent.unwrap_or_default(), symbol, symbol]
}

/// What stands for a text where only its being the same counts: 16 characters.
pub fn short_hash(text: &str) -> String {
    let kind = gix::objs::Kind::Blob;
    let hash = gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, text.as_bytes());
    hash.map_or_else(
        |_collides| String::new(),
        |hash| hash.to_hex_with_len(16).to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::super::terms::{Terms, query_terms};
    use super::*;

    #[test]
    fn a_vector_is_made_of_parent_name_and_text() {
        let dense = dense_text(Some("Cache"), Some("get"), "fn get() {}");
        assert_eq!(dense, "Cache get get get get get\nfn get() {}");
    }

    #[test]
    fn a_chunk_without_a_name_is_its_text() {
        assert_eq!(dense_text(None, None, "let x = 1;").trim(), "let x = 1;");
        let terms = Terms::of(&header("", None, None), "shelf");
        assert_eq!(terms, Terms::of(&[], "shelf"));
    }

    #[test]
    fn a_chunk_is_found_by_its_path_its_parent_and_its_name() {
        let terms = Terms::of(&header("src/book.rs", Some("Shelf"), Some("lend")), "");
        for query in ["book", "shelf", "lend"] {
            let term = query_terms(query)[0];
            assert!(
                terms.counts.iter().any(|&(found, _)| found == term),
                "{query}"
            );
        }
    }
}
