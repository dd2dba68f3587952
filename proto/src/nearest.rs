//! Suggests the known names that an unknown one most likely meant.
//!
//! A short word is within a few edits of many others, and means none of them. So the longer of two names
//! determines how much may differ. A name that begins or ends with the unknown one's words is nearer than
//! any misspelling.

/// No known name is longer, and the distance costs the product of both lengths. In bytes.
const LONGEST_NAME: usize = 64;
/// Shorter names are part of too many others. In characters.
const SHORTEST_PART: usize = 3;

/// The nearest of `known`, if any is near.
pub fn to<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    among(name, known, 1).pop()
}

/// At most `most` of `known` that are near, the nearest first. If some begin or end with the name's words,
/// only those; else those that differ in at most a third of their characters. Case is ignored.
pub fn among<'a>(name: &str, known: impl Iterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    if name.len() > LONGEST_NAME {
        return Vec::new();
    }
    let name = name.to_lowercase();
    let near = known.filter_map(|known| Some((distance(&name, &known.to_lowercase())?, known)));
    let mut near: Vec<_> = near.collect();
    near.sort_unstable();
    near.dedup();
    let is_part = near.first().is_some_and(|((is_other, _), _)| !is_other);
    near.retain(|((is_other, _), _)| *is_other != is_part);
    near.truncate(most);
    near.into_iter().map(|(_, known)| known).collect()
}

/// Whether the name is not part of the known one, and their distance; `None` if that is too large.
fn distance(name: &str, known: &str) -> Option<(bool, usize)> {
    let (length, other) = (name.chars().count(), known.chars().count());
    let apart = length.abs_diff(other);
    if length >= SHORTEST_PART && is_part(name, known) {
        return Some((false, apart));
    }
    let reach = length.max(other) / 3;
    // The difference in length is a lower bound of the edits, and excludes most names cheaply.
    if apart > reach {
        return None;
    }
    let edits = strsim::osa_distance(name, known);
    (edits <= reach).then_some((true, edits))
}

/// Whether a known name begins or ends with the words of `name`.
fn is_part(name: &str, known: &str) -> bool {
    let (first, last) = (name.chars().next(), name.chars().next_back());
    let after = known.strip_prefix(name);
    let before = known.strip_suffix(name);
    after.is_some_and(|after| is_end_of_word(last, after.chars().next()))
        || before.is_some_and(|before| is_end_of_word(before.chars().next_back(), first))
}

/// Whether there is a word boundary between two characters. Words consist of letters, or of digits.
fn is_end_of_word(left: Option<char>, right: Option<char>) -> bool {
    let are_both = |are: fn(char) -> bool| left.is_some_and(are) && right.is_some_and(are);
    !are_both(char::is_alphabetic) && !are_both(char::is_numeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_near_and_a_short_word_to_nothing_else() {
        let known = ["ref", "ref1", "since", "until", "author", "file_path"];
        let near = |name| to(name, known.into_iter());
        assert_eq!(near("untill"), Some("until"));
        assert_eq!(near("rev"), Some("ref"));
        assert_eq!(near("FilePath"), Some("file_path"));
        assert_eq!(near("file"), Some("file_path"), "a part of it");
        for name in ["grep", "head", "a", "", "line", &"since".repeat(20)] {
            assert_eq!(near(name), None, "{name}");
        }
    }

    #[test]
    fn names_with_the_words_exclude_others_and_appear_once() {
        let known = ["v2.4.3", "v2.43.1", "v2.43.0", "v2.43.0", "v2.44.0"];
        let near = |name, most| among(name, known.into_iter(), most);
        assert_eq!(near("v2.43", 3), ["v2.43.0", "v2.43.1"]);
        assert_eq!(near("2.44.0", 1), ["v2.44.0"]);
        assert_eq!(near("V2.44.0", 1), ["v2.44.0"]);
        assert_eq!(to("pth", ["max_depth", "path"].into_iter()), Some("path"));
        assert_eq!(to("log.c", ["catalog.c"].into_iter()), None);
    }
}
