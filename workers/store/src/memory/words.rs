//! The words of a text, as they are stored and looked up: the same on both sides, and in every
//! database, whatever its locale.

use std::collections::BTreeSet;

/// Bytes of a word that count: what is longer is data that somebody encoded.
const MAX_WORD_BYTES: usize = 512;

/// Adds the words of `text`: runs of letters and digits of any script, in lower case.
pub fn words(text: &str, found: &mut BTreeSet<String>) {
    let runs = text.split(|character: char| !character.is_alphanumeric());
    for run in runs.filter(|run| !run.is_empty()) {
        let mut word = run.to_lowercase();
        word.truncate(word.floor_char_boundary(MAX_WORD_BYTES));
        // A lower-case form may have a mark of its own: it is none of the word.
        word.retain(char::is_alphanumeric);
        found.insert(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let mut found = BTreeSet::new();
        words(text, &mut found);
        found.into_iter().collect()
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_whatever_their_case_and_script() {
        assert_eq!(found("EDA notebook, eda!"), ["eda", "notebook"]);
        assert_eq!(
            found("src/auth_v2/jwt.ts"),
            ["auth", "jwt", "src", "ts", "v2"]
        );
        assert_eq!(found("GRÖSSE und Größe"), ["grösse", "größe", "und"]);
        assert_eq!(found("İstanbul ЖУК 東京"), ["istanbul", "жук", "東京"]);
        assert_eq!(found("-- … '' =x"), ["x"]);
    }

    #[test]
    fn a_word_without_end_is_cut_where_a_character_ends() {
        let long = found(&"ä".repeat(2_000));
        assert_eq!(long, ["ä".repeat(MAX_WORD_BYTES / 2)]);
    }
}
