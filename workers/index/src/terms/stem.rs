//! Plurals, made one with their singulars.
//!
//! Not a stemmer of English: `parsing` and `parsed` stay apart from `parse`. Made one, they find no
//! more in ten repositories (`cargo bench --bench meaning`). What comes out need not be a word, as
//! long as singular and plural come out alike.

/// What a plural in `es` leaves behind where the singular has no `e`.
const ENDINGS: [&str; 6] = ["sse", "use", "iase", "xe", "che", "she"];

/// Takes from a lower-case word what makes it a plural: `queries` is `query`, `matches` is `match`,
/// and both `caches` and `cache` are `cach`.
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
    fn a_plural_is_its_singular() {
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
    fn words_that_only_look_alike_stay_apart() {
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
