//! The searchable text of a chunk: its name, then its content.
//!
//! A name says more about a function than a line of its body, so it is repeated. The number of
//! repetitions was measured on ten repositories outside the training data of the built-in table, as
//! far as known. Finding a function by the first sentence of its comment, vectors reach an MRR@10 of
//! .38 without the name, .43 with parent and name before the text, .45 with the name twice, .47 five
//! times; words reach .38, .42, and .44 twice. The path adds .001.

/// How often the name precedes a chunk in the embedder's input.
const NAMES: usize = 5;

/// The embedder's input for a chunk. Without the path, so that it depends on the blob alone and a
/// renamed file needs no new vector.
pub fn embedding_text(parent: Option<&str>, symbol: Option<&str>, text: &str) -> String {
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

/// The header whose words count as the chunk's, for [`Terms::of`](super::terms::Terms::of). With an
/// empty `path` they depend on the blob alone, as the vector does.
pub fn header<'a>(path: &'a str, parent: Option<&'a str>, symbol: Option<&'a str>) -> [&'a str; 4] {
    let symbol = symbol.unwrap_or_default();
    [path, parent.unwrap_or_default(), symbol, symbol]
}

/// A hash of 16 hexadecimal digits, to compare texts by.
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
    fn an_embedding_text_has_parent_name_and_content() {
        let dense = embedding_text(Some("Cache"), Some("get"), "fn get() {}");
        assert_eq!(dense, "Cache get get get get get\nfn get() {}");
    }

    #[test]
    fn a_chunk_without_a_name_is_its_content() {
        assert_eq!(
            embedding_text(None, None, "let x = 1;").trim(),
            "let x = 1;"
        );
        let terms = Terms::of(&header("", None, None), "shelf");
        assert_eq!(terms, Terms::of(&[], "shelf"));
    }

    #[test]
    fn the_words_of_path_parent_and_name_count() {
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
