//! Splits a text into words, as people type them to find it.
//!
//! An identifier is split into its parts (`parseHTTPHeader2`, `parse_http_header`), and also kept
//! whole without underscores, so that all spellings agree. Words are lower-cased and singular, without
//! stop words. Letters of any script form words; in scripts without spaces, each pair of neighbouring
//! letters is a word.

use std::sync::LazyLock;

use super::stem;

/// Longest word, in bytes: nobody types longer ones, and texts with them are data.
const LONGEST: usize = 64;

/// Length of the longest stop word, in bytes: fewer than a number has.
const LONGEST_STOP: usize = 6;

/// The stop words as numbers, in the same order: comparing numbers is faster than comparing texts.
static STOP_NUMBERS: LazyLock<Vec<u64>> =
    LazyLock::new(|| STOP.iter().map(|word| number(word)).collect());

/// Stop words: those of English, and keywords of many languages. Sorted, for binary search.
#[rustfmt::skip]
const STOP: &[&str] = &[
    "about", "also", "am", "an", "and", "any", "are", "aren", "as", "at", "be", "been", "being",
    "but", "by", "can", "const", "could", "def", "did", "didn", "do", "does", "doesn", "don",
    "else", "fn", "for", "from", "func", "had", "has", "hasn", "have", "he", "her", "his", "how",
    "if", "impl", "in", "into", "is", "isn", "it", "its", "let", "ll", "may", "me", "might",
    "must", "mut", "my", "nor", "of", "on", "or", "our", "pub", "re", "return", "self", "she",
    "should", "so", "such", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "too", "var", "ve", "very", "void", "was", "wasn", "we", "were",
    "what", "when", "where", "which", "while", "who", "whose", "why", "will", "with", "would",
    "you", "your",
];

/// Calls `take` with each word of `text`, in order.
pub(super) fn each(text: &str, mut take: impl FnMut(&str)) {
    let mut word = String::with_capacity(2 * LONGEST);
    let mut rest = text;
    while let Some((identifier, after)) = next_identifier(rest) {
        cut(identifier, &mut word, &mut take);
        rest = after;
    }
}

/// The first identifier of a text, and the rest.
fn next_identifier(text: &str) -> Option<(&str, &str)> {
    let mut rest = text;
    loop {
        let mut bytes = rest.bytes();
        let start = bytes.position(|byte| !byte.is_ascii() || is_ascii_part(byte))?;
        rest = rest.get(start..)?;
        let end = identifier_end(rest);
        if end > 0 {
            return rest.split_at_checked(end);
        }
        // A character that belongs to no identifier, like a dash or an arrow.
        rest = rest.get(rest.chars().next()?.len_utf8()..)?;
    }
}

/// The length of the identifier that a text begins with. Most are ASCII, which needs no decoding.
fn identifier_end(text: &str) -> usize {
    let mut bytes = text.bytes();
    match bytes.position(|byte| !is_ascii_part(byte)) {
        Some(end) if !text.as_bytes().get(end).is_some_and(u8::is_ascii) => {
            let is_outside = |c: char| !c.is_alphanumeric() && c != '_';
            text.find(is_outside).unwrap_or(text.len())
        }
        Some(end) => end,
        None => text.len(),
    }
}

fn is_ascii_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The parts of an identifier, and the whole if there are several.
fn cut(identifier: &str, word: &mut String, take: &mut impl FnMut(&str)) {
    let (mut parts, mut spaced) = (0_usize, true);
    for (class, part) in Parts(identifier) {
        parts += 1;
        if class == Class::Unspaced {
            spaced = false;
            pairs(part, take);
        } else if lower(part, word) && !is_stop(word) {
            stem::singular(word);
            // The singulars of "returns" and "consts" are stop words, too.
            if !is_stop(word) {
                take(word);
            }
        }
    }
    // A sentence without spaces is not an identifier, even if it contains one.
    if parts > 1 && spaced && lower(identifier, word) {
        take(word);
    }
}

fn is_stop(word: &str) -> bool {
    word.len() <= LONGEST_STOP && STOP_NUMBERS.binary_search(&number(word)).is_ok()
}

/// A number that orders words of up to eight bytes as their bytes do.
fn number(word: &str) -> u64 {
    let mut number = [0; 8];
    for (to, from) in number.iter_mut().zip(word.bytes()) {
        *to = from;
    }
    u64::from_be_bytes(number)
}

/// Sets `word` to `text` in lower case, without underscores. Returns `false` if it is no word: a
/// single letter, or too long.
fn lower(text: &str, word: &mut String) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    word.clear();
    if text.is_ascii() {
        let letters = text.bytes().filter(|&letter| letter != b'_');
        word.extend(letters.map(|letter| char::from(letter.to_ascii_lowercase())));
    } else {
        let letters = text.chars().filter(|&c| c != '_');
        word.extend(letters.flat_map(char::to_lowercase));
    }
    word.len() > 1
}

/// Each pair of neighbours in a text without spaces; a single letter is a word by itself.
fn pairs(text: &str, take: &mut impl FnMut(&str)) {
    let mut before = None;
    for (at, letter) in text.char_indices() {
        let end = at + letter.len_utf8();
        let alone = end == text.len() && before.is_none();
        if let Some(pair) = text.get(before.unwrap_or(at)..end)
            && (alone || before.is_some())
        {
            take(pair);
        }
        before = Some(at);
    }
}

/// The rest of an identifier, which is split into parts.
struct Parts<'a>(&'a str);

impl<'a> Iterator for Parts<'a> {
    type Item = (Class, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0.trim_start_matches('_');
        let first = class(rest.chars().next()?);
        let (part, rest) = rest.split_at_checked(end(rest))?;
        self.0 = rest;
        Some((first, part))
    }
}

/// End of the first part of `rest`.
fn end(rest: &str) -> usize {
    let mut before = None;
    for (at, letter) in rest.char_indices() {
        let class = class(letter);
        if before.is_some_and(|before| meet(before, class, rest.get(at..).unwrap_or_default())) {
            return at;
        }
        before = Some(class);
    }
    rest.len()
}

/// Whether a part ends between two letters; `rest` starts with the second.
fn meet(before: Class, class: Class, rest: &str) -> bool {
    match (before, class) {
        (Class::Upper, Class::Upper) => begins_word(rest),
        (Class::Upper, Class::Lower) => false,
        (before, class) => before != class,
    }
}

/// Whether the capital at the start of `rest` begins the next word, like the S of `HTTPServer`, but
/// not the L of `URLs`.
fn begins_word(rest: &str) -> bool {
    let mut after = rest.chars().skip(1);
    let is_lower = |letter: Option<char>| letter.map(class) == Some(Class::Lower);
    match after.next() {
        Some('s') => is_lower(after.next()),
        letter => is_lower(letter),
    }
}

/// The class of a letter, by which identifiers are split.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// A small letter, or one of a script without case.
    Lower,
    /// A capital.
    Upper,
    /// A digit of any script.
    Digit,
    /// An underscore.
    Joint,
    /// A letter of a script that puts no space between words.
    Unspaced,
}

fn class(letter: char) -> Class {
    match letter {
        'a'..='z' => Class::Lower,
        'A'..='Z' => Class::Upper,
        '0'..='9' => Class::Digit,
        '_' => Class::Joint,
        letter if letter.is_ascii() => Class::Lower,
        letter if unspaced(letter) => Class::Unspaced,
        letter if letter.is_numeric() => Class::Digit,
        letter if letter.is_uppercase() => Class::Upper,
        _ => Class::Lower,
    }
}

/// Thai to Burmese, Khmer, Hangul, Kana and Han, by Unicode blocks. Korean has spaces, but attaches
/// particles to words, so pairs match better than words.
fn unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{0e00}'..='\u{0eff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{2fdf}'
        | '\u{3005}'..='\u{30ff}'
        | '\u{3130}'..='\u{318f}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ffdc}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn an_identifier_gives_its_parts_and_itself_in_any_spelling() {
        for identifier in ["parseHttpHeader", "ParseHTTPHeader", "parse_http_header"] {
            let expected = ["parse", "http", "header", "parsehttpheader"];
            assert_eq!(words(identifier), expected, "{identifier}");
        }
        assert_eq!(words("PARSE_HTTP"), ["parse", "http", "parsehttp"]);
    }

    #[test]
    fn digits_separate_parts_and_stay_in_the_whole() {
        assert_eq!(words("sha256sum"), ["sha", "256", "sum", "sha256sum"]);
        assert_eq!(words("utf8"), ["utf", "utf8"]);
        assert_eq!(words("HTTP2Frame"), ["http", "frame", "http2frame"]);
    }

    #[test]
    fn an_acronym_ends_before_the_next_word_and_keeps_its_plural() {
        assert_eq!(words("HTTPServer"), ["http", "server", "httpserver"]);
        assert_eq!(words("URLs"), ["url"]);
        assert_eq!(words("IDsOf"), ["id", "idsof"]);
        assert_eq!(words("APISchema"), ["api", "schema", "apischema"]);
    }

    #[test]
    fn a_path_gives_its_names() {
        let expected = ["src", "user", "service", "userservice", "spec", "ts"];
        assert_eq!(words("src/user_service.spec.ts"), expected);
    }

    #[test]
    fn stop_words_and_single_letters_count_only_in_the_whole() {
        assert_eq!(words("what is the x of a file?"), ["file"]);
        assert_eq!(words("is_empty"), ["empty", "isempty"]);
        assert_eq!(words("Returns this size"), ["size"]);
        assert!(words("let mut self; __ _a_").is_empty());
    }

    #[test]
    fn stop_words_are_sorted_and_in_lower_case() {
        assert!(STOP.is_sorted());
        assert!(STOP.iter().all(|word| word.to_lowercase() == *word));
    }

    #[test]
    fn letters_of_any_script_make_words() {
        assert_eq!(words("Größe naïve"), ["größe", "naïve"]);
        assert_eq!(
            words("ПроверитьКлюч"),
            ["проверить", "ключ", "проверитьключ"]
        );
        assert_eq!(words("π"), ["π"]);
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        assert_eq!(words("设置缓存"), ["设置", "置缓", "缓存"]);
        assert_eq!(words("猫"), ["猫"]);
        assert_eq!(words("猫 と"), ["猫", "と"]);
        assert_eq!(words("用HttpClient连接"), ["用", "http", "client", "连接"]);
    }

    #[test]
    fn overlong_words_are_skipped() {
        let long = "a".repeat(LONGEST + 1);
        assert!(words(&long).is_empty());
        assert_eq!(words(&format!("name_{long}")), ["name"]);
    }
}
