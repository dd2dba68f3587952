//! Splits a text into sentences.
//!
//! A sentence ends at a full stop, an exclamation mark or a question mark before whitespace. It
//! continues if a lower-case letter follows, or if the full stop belongs to an abbreviation, an
//! initial or a number. Code spans are never split.

use std::ops::Range;

/// Abbreviations that never end a sentence; in lower case, without the last full stop.
const ABBREVIATIONS: [&str; 17] = [
    "approx", "cf", "dr", "e.g", "eg", "esp", "i.e", "ie", "incl", "mr", "mrs", "prof", "resp",
    "u.s", "viz", "vs", "w.r.t",
];
/// Abbreviations that don't end a sentence before a number.
const NUMBER_ABBREVIATIONS: [&str; 10] = [
    "art", "ch", "fig", "no", "p", "pp", "sec", "ver", "vol", "v",
];

/// The sentences of a text, as ranges without surrounding whitespace.
pub(crate) fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut start, mut code) = (0, None);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if character == '`' {
            code = match code {
                Some(_) => None,
                // An unclosed backtick starts no code span.
                None => text.get(at + 1..).and_then(|rest| rest.find('`')),
            };
        }
        if code.is_some() {
            continue;
        }
        let end = match character {
            '。' | '！' | '？' => Some(at + character.len_utf8()),
            '.' | '!' | '?' | '…' => sentence_end(text, start, at, character),
            _ => None,
        };
        if let Some(end) = end {
            push_trimmed(&mut found, text, start..end);
            start = end;
            while characters.next_if(|(at, _)| *at < end).is_some() {}
        }
    }
    push_trimmed(&mut found, text, start..text.len());
    found
}

/// The end of the sentence if the mark at `at` ends it; `None` if the sentence continues.
fn sentence_end(text: &str, start: usize, at: usize, mark: char) -> Option<usize> {
    let rest_of_text = text.get(at + mark.len_utf8()..)?;
    let closing = |c: char| matches!(c, '"' | '\'' | ')' | ']' | '*' | '_' | '”' | '’' | '»');
    let rest = rest_of_text.trim_start_matches(closing);
    let end = text.len() - rest.len();
    let next = rest.trim_start();
    if next.is_empty() {
        return Some(end);
    }
    if next.len() == rest.len() || next.starts_with(char::is_lowercase) {
        return None;
    }
    let sentence = text.get(start..at)?;
    let continues = mark == '.' && continues_after(sentence, next);
    (!continues).then_some(end)
}

/// Whether a full stop between these words and `next` doesn't end the sentence.
fn continues_after(sentence: &str, next: &str) -> bool {
    let word = sentence.rsplit(|c: char| c.is_whitespace() || "([\"".contains(c));
    let word = word.into_iter().next().unwrap_or_default();
    let lower = word.to_lowercase();
    let is_initial = word.chars().count() == 1 && word.starts_with(char::is_uppercase);
    // "1. Record decisions" is one sentence.
    let is_number = sentence.trim() == word && word.chars().all(|c| c.is_ascii_digit());
    let numbers = NUMBER_ABBREVIATIONS.contains(&lower.as_str());
    is_number
        || (is_initial && word != "I")
        || ABBREVIATIONS.contains(&lower.as_str())
        || (numbers && next.starts_with(|c: char| c.is_ascii_digit()))
}

fn push_trimmed(found: &mut Vec<Range<usize>>, text: &str, range: Range<usize>) {
    let sentence = text.get(range.clone()).unwrap_or_default();
    let start = range.end - sentence.trim_start().len();
    let end = range.start + sentence.trim_end().len();
    if start < end {
        found.push(start..end);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Vec<&str> {
        let ranges = sentences(text).into_iter();
        ranges.map(|range| text.get(range).unwrap()).collect()
    }

    #[test]
    fn sentences_end_at_stops_and_marks() {
        assert_eq!(
            split("We use it. Why? \"It works!\" (Mostly.) And so\non"),
            [
                "We use it.",
                "Why?",
                "\"It works!\"",
                "(Mostly.)",
                "And so\non"
            ]
        );
        assert_eq!(split("決めた。使う！"), ["決めた。", "使う！"]);
    }

    #[test]
    fn abbreviations_numbers_and_code_are_not_split() {
        for whole in [
            "Use a store, e.g. Redis, i.e. Something fast.",
            "It needs 3.5 GB on v. 2 of it.",
            "1. Record decisions",
            "See J. Doe about it.",
            "Call `a. B` and `c! D` first.",
            "Kafka vs. RabbitMQ etc. and more.",
            "Version 1.2.3 of node.js it is.",
        ] {
            assert_eq!(split(whole), [whole]);
        }
    }

    #[test]
    fn an_unclosed_backtick_hides_no_full_stop() {
        assert_eq!(split("A ` stands. Alone."), ["A ` stands.", "Alone."]);
    }

    #[test]
    fn an_abbreviation_for_numbers_may_end_a_sentence() {
        assert_eq!(
            split("They said no. Within 5 ms. See no. 5 of it."),
            ["They said no.", "Within 5 ms.", "See no. 5 of it."]
        );
    }

    #[test]
    fn etc_ends_a_sentence_before_a_capital() {
        assert_eq!(
            split("Logs, traces etc. We like them."),
            ["Logs, traces etc.", "We like them."]
        );
    }

    proptest! {
        #[test]
        fn every_word_is_in_one_sentence(text in "[a-z A-Z.!?`()é。\n]{0,80}") {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let joined = split(&text).join("");
            prop_assert_eq!(words(&joined).concat(), words(&text).concat());
        }
    }
}
