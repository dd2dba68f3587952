//! Reduces plurals to their singulars.
//!
//! Not an English stemmer: `parsing` and `parsed` stay distinct from `parse`, since merging them finds
//! no more in ten repositories (`cargo bench --bench meaning`). The result need not be a word, as long
//! as singular and plural have the same.

/// Endings of plurals in `es` without their `s`, whose singular has no `e`.
const ENDINGS: [&str; 6] = ["sse", "use", "iase", "xe", "che", "she"];

/// Removes the plural ending of a lower-case word: `queries` becomes `query`, `matches` becomes
/// `match`, and both `caches` and `cache` become `cach`.
pub(super) fn singular(word: &mut String) {
    let plural = word.len() > 2
        && word.ends_with('s')
        && !["ss", "us", "is", "ias"]
            .iter()
            .any(|end| word.ends_with(end));
    if plural {
        word.pop();
    }
    if word.len() > 3 && word.ends_with("ie") {
        word.truncate(word.len() - 2);
        word.push('y');
    } else if ENDINGS.iter().any(|end| word.ends_with(end)) {
        word.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stem(word: &str) -> String {
        let mut word = word.to_owned();
        singular(&mut word);
        word
    }

    #[test]
    fn plural_and_singular_are_equal() {
        for (one, many) in [
            ("file", "files"),
            ("id", "ids"),
            ("query", "queries"),
            ("cookie", "cookies"),
            ("class", "classes"),
            ("hash", "hashes"),
            ("cache", "caches"),
            ("match", "matches"),
            ("box", "boxes"),
            ("size", "sizes"),
            ("case", "cases"),
            ("process", "processes"),
            ("status", "statuses"),
            ("alias", "aliases"),
            ("schema", "schemas"),
            ("response", "responses"),
            ("tree", "trees"),
        ] {
            assert_eq!(stem(one), stem(many), "{one}, {many}");
        }
    }

    #[test]
    fn similar_words_stay_distinct() {
        for (left, right) in [
            ("parse", "par"),
            ("state", "stat"),
            ("mode", "mod"),
            ("process", "proces"),
            ("basis", "basi"),
            ("bus", "bu"),
        ] {
            assert_ne!(stem(left), stem(right), "{left}, {right}");
        }
    }
}
