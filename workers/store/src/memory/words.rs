//! Splits a text into words for storage and lookup: identical on both sides and independent of the
//! database's locale.

use std::collections::BTreeSet;

/// Maximum length of a word in bytes; longer ones are usually encoded data.
const MAX_WORD_BYTES: usize = 512;

/// Adds the words of `text` to `found`: runs of letters and digits of any script, in lower case.
pub fn words(text: &str, found: &mut BTreeSet<String>) {
    let runs = text.split(|character: char| !character.is_alphanumeric());
    for run in runs.filter(|run| !run.is_empty()) {
        let mut word = run.to_lowercase();
        word.truncate(word.floor_char_boundary(MAX_WORD_BYTES));
        // A lower-case form may contain a combining mark, which does not belong to the word.
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
    fn words_are_runs_of_letters_and_digits_of_any_case_and_script() {
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
    fn an_overlong_word_is_cut_at_a_character_boundary() {
        let long = found(&"ä".repeat(2_000));
        assert_eq!(long, ["ä".repeat(MAX_WORD_BYTES / 2)]);
    }
}
