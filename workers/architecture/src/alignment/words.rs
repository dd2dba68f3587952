//! Splits a text into tokens that can be compared: stems, and known names of products.
//!
//! Unlike the words of the index, these lose their endings (`stored`, `storing` and `store` are
//! equal), because a decision and a proposal are a few sentences by different people.

mod concepts;

use std::ops::Range;

use archway_index::terms::term;

use super::names::{self, Alternatives};
pub(super) use concepts::{ByConcept, Concept, Concepts};

/// A word, or a name of several words.
#[derive(Clone, Debug)]
pub(super) struct Token {
    /// The words in lower case, separated by spaces.
    pub(super) lower: String,
    /// Byte range in the text.
    pub(super) at: Range<usize>,
    /// The concept that the token stands for; `None` for stop words and numbers.
    pub(super) concept: Option<Concept>,
    /// Further concepts that the token implies: the product's kind, and the product that its first
    /// word names.
    pub(super) implied: Vec<Concept>,
    /// The groups of alternatives that the product is in.
    pub(super) alternatives: Alternatives,
    /// Whether it is spelled as a name: with a capital inside of a sentence, or with several
    /// capitals.
    pub(super) is_name: bool,
    /// Whether it is a technical term.
    pub(super) is_technical: bool,
    /// The separator before the token, apart from spaces.
    pub(super) before: Separator,
}

/// The separator between a token and the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    /// Spaces, a hyphen or a quotation mark.
    None,
    /// A comma.
    Comma,
    /// A bracket, a dash, a colon or a semicolon.
    Break,
}

pub(super) fn tokens(text: &str) -> Vec<Token> {
    let plain = plain_words(text);
    let mut tokens = Vec::with_capacity(plain.len());
    let mut at = 0;
    while let Some(word) = plain.get(at) {
        let (length, token) = longest_name(&plain, at).unwrap_or_else(|| (1, single_word(word)));
        tokens.push(token);
        at += length;
    }
    tokens
}

/// The tokens' words on one line, with a space before and after each.
pub(super) fn joined(tokens: &[Token]) -> String {
    let words: Vec<&str> = tokens.iter().map(|token| token.lower.as_str()).collect();
    format!(" {} ", words.join(" "))
}

/// The concept of a single word: its stem.
pub(super) fn stem_concept(word: &str) -> Concept {
    term(&stem(word))
}

struct PlainWord {
    lower: String,
    at: Range<usize>,
    before: Separator,
    is_capital: bool,
    is_name: bool,
}

fn plain_words(text: &str) -> Vec<PlainWord> {
    let mut words: Vec<PlainWord> = Vec::new();
    let mut end = 0;
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’' | '+' | '#' | '_');
    let mut rest = text.char_indices().peekable();
    while let Some((start, c)) = rest.next() {
        if !c.is_alphanumeric() {
            continue;
        }
        let mut stop = start + c.len_utf8();
        while let Some((at, c)) = rest.next_if(|(_, c)| is_inner(*c)) {
            stop = at + c.len_utf8();
        }
        let gap = text.get(end..start).unwrap_or_default();
        let word = text.get(start..stop).unwrap_or_default();
        let lower = word.to_lowercase().replace('’', "'");
        words.push(PlainWord {
            lower: lower.trim_end_matches(['\'', '+', '_']).to_owned() + plus_signs(&lower),
            at: start..stop,
            before: separator(gap),
            is_capital: c.is_uppercase(),
            is_name: is_name(
                word,
                words.is_empty() || gap.contains(['.', '?', '!', ':', '\n']),
            ),
        });
        end = stop;
    }
    words
}

/// Whether a word is spelled as a name. The first word of a sentence has a capital anyway.
fn is_name(word: &str, is_first: bool) -> bool {
    let capitals = word.chars().filter(|c| c.is_uppercase()).count();
    let has_digit = word.contains(|c: char| c.is_ascii_digit());
    let begins = word.starts_with(char::is_uppercase);
    capitals > 1 || (begins && (!is_first || has_digit))
}

/// Restores the plus signs of "c++".
fn plus_signs(lower: &str) -> &'static str {
    if lower == "c++" { "++" } else { "" }
}

fn separator(gap: &str) -> Separator {
    let is_break = |c: char| {
        matches!(
            c,
            ';' | ':' | '(' | ')' | '–' | '—' | '.' | '?' | '!' | '→' | '|'
        )
    };
    if gap.contains(is_break) && gap.trim() != "." || gap.contains(" - ") || gap.starts_with(". ") {
        Separator::Break
    } else if gap.contains(',') {
        Separator::Comma
    } else {
        Separator::None
    }
}

/// The longest name that begins at this word, and its length in words.
fn longest_name(words: &[PlainWord], at: usize) -> Option<(usize, Token)> {
    let first = words.get(at)?;
    (1..=names::MAX_NAME_WORDS).rev().find_map(|length| {
        let these = words.get(at..at + length)?;
        let is_one = these
            .iter()
            .skip(1)
            .all(|word| word.before == Separator::None);
        let lower: Vec<&str> = these
            .iter()
            .map(|word| without_possessive(&word.lower))
            .collect();
        let lower = lower.join(" ");
        let product = names::product(&lower).filter(|_| is_one)?;
        // "Go", "Rust" and "Flow" are languages only with a capital inside of a sentence.
        let is_word = length == 1 && names::is_ambiguous(&lower);
        if is_word && (!first.is_capital || at == 0 || first.before == Separator::Break) {
            return None;
        }
        let end = these.last()?.at.end;
        let token = Token {
            at: first.at.start..end,
            concept: Some(term(product.main_name)),
            implied: implied(product, &lower),
            alternatives: product.alternatives,
            is_name: true,
            is_technical: !product.alternatives.is_empty()
                || names::is_technical(product.main_name),
            before: first.before,
            lower,
        };
        Some((length, token))
    })
}

fn implied(product: &names::Product, lower: &str) -> Vec<Concept> {
    let first = lower
        .split_once(' ')
        .and_then(|(first, _)| names::product(first));
    let first = first
        .map(|product| product.main_name)
        .filter(|name| *name != product.main_name);
    let kind = names::product(product.kind).map_or(product.kind, |kind| kind.main_name);
    let known = names::product(kind).is_some();
    let kind = (!kind.is_empty()).then(|| {
        if known {
            term(kind)
        } else {
            stem_concept(kind)
        }
    });
    kind.into_iter().chain(first.map(term)).collect()
}

fn single_word(word: &PlainWord) -> Token {
    let without_possessive = without_possessive(&word.lower);
    let is_plain = STOP_WORDS.binary_search(&without_possessive).is_ok()
        || STOP_WORDS.binary_search(&word.lower.as_str()).is_ok();
    // Numbers are compared as measures, with their units.
    let is_number = without_possessive.bytes().all(|byte| byte.is_ascii_digit());
    let counts = !is_plain && !is_number && without_possessive.len() > 1;
    Token {
        concept: counts.then(|| stem_concept(without_possessive)),
        lower: word.lower.clone(),
        at: word.at.clone(),
        implied: Vec::new(),
        alternatives: Alternatives::default(),
        is_name: word.is_name && counts,
        is_technical: names::is_technical(without_possessive),
        before: word.before,
    }
}

/// A word without a possessive `'s`.
fn without_possessive(lower: &str) -> &str {
    lower.strip_suffix("'s").unwrap_or(lower)
}

/// A word without its ending.
fn stem(word: &str) -> String {
    const ENDINGS: [(&str, &str); 20] = [
        ("ations", ""),
        ("ation", ""),
        ("ating", ""),
        ("ates", ""),
        ("ated", ""),
        ("ate", ""),
        ("ments", ""),
        ("ment", ""),
        ("ities", ""),
        ("ity", ""),
        ("ings", ""),
        ("ing", ""),
        ("ies", "y"),
        ("ied", "y"),
        ("ers", ""),
        ("er", ""),
        ("ed", ""),
        ("es", ""),
        ("s", ""),
        ("e", ""),
    ];
    if !word.is_ascii() || word.ends_with("ss") {
        return word.to_owned();
    }
    let ending = ENDINGS
        .iter()
        .find(|(end, _)| word.ends_with(end) && word.len() >= end.len() + 3);
    let Some((end, put)) = ending else {
        return word.to_owned();
    };
    let mut stem = word.strip_suffix(end).unwrap_or(word).to_owned() + put;
    let mut last = stem.bytes().rev();
    let is_double =
        matches!((last.next(), last.next()), (Some(a), Some(b)) if a == b && !b"sl".contains(&a));
    if is_double && stem.len() > 3 {
        stem.pop();
    }
    if stem.ends_with('e') && stem.len() > 3 {
        stem.pop();
    }
    stem
}

/// Stop words, sorted for binary search.
#[rustfmt::skip]
const STOP_WORDS: &[&str] = &[
    "a", "about", "again", "all", "also", "always", "am", "an", "and", "another", "any", "anybody",
    "anyone", "are", "aren't", "as", "at", "be", "because", "been", "before", "being", "beside",
    "besides", "between", "both", "but", "by", "can", "can't", "cannot", "case", "could", "did",
    "do", "does", "doesn't", "doing", "don't", "done", "each", "else", "ever", "every",
    "everybody", "first", "for", "from", "get", "gets", "getting", "give", "given", "gives", "go",
    "goes", "going", "good", "got", "had", "half", "has", "have", "he", "her", "here", "his",
    "how", "however", "i", "if", "in", "instead", "into", "is", "isn't", "it", "it's", "its",
    "itself", "just", "let", "let's", "like", "longer", "look", "looks", "lot", "made", "make",
    "makes", "many", "may", "me", "might", "more", "most", "much", "must", "my", "need", "needs",
    "neither", "never", "new", "no", "nobody", "none", "nor", "not", "nothing", "now", "nowhere",
    "of", "off", "old", "on", "once", "one", "only", "onto", "or", "other", "others", "our", "out",
    "over", "own", "per", "put", "puts", "rather", "same", "say", "says", "second", "shall", "she",
    "should", "since", "so", "some", "somebody", "something", "still", "such", "take", "taken",
    "takes", "than", "that", "that's", "the", "their", "them", "then", "there", "they", "they're",
    "thing", "things", "third", "this", "those", "three", "to", "today", "together", "too", "two",
    "under", "until", "up", "upon", "us", "use", "used", "uses", "using", "very", "want", "wants",
    "was", "way", "we", "we'd", "we'll", "we're", "well", "were", "what", "what's", "when",
    "where", "whether", "which", "while", "who", "whoever", "whose", "why", "will", "with",
    "within", "without", "won't", "would", "yet", "you", "your",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn concepts(text: &str) -> Vec<Option<Concept>> {
        tokens(text).iter().map(|token| token.concept).collect()
    }

    #[test]
    fn forms_of_a_word_share_a_concept() {
        for (one, other) in [
            ("migrations", "migrate"),
            ("stored", "storing"),
            ("batteries", "battery"),
            ("logged", "logging"),
            ("services", "service"),
            ("deployment", "deployed"),
        ] {
            assert_eq!(concepts(one), concepts(other), "{one}, {other}");
        }
        assert_ne!(concepts("parcel"), concepts("parser"));
    }

    #[test]
    fn spellings_of_a_name_share_a_concept() {
        assert_eq!(concepts("json web tokens"), concepts("JWT"));
        assert_eq!(concepts("GitHub Actions"), concepts("gh-actions"));
        assert_eq!(concepts("Postgres's"), concepts("pg"));
    }

    #[test]
    fn an_ambiguous_word_is_a_product_only_if_spelled_as_a_name() {
        let alternatives = |text: &str| {
            tokens(text)
                .iter()
                .any(|token| !token.alternatives.is_empty())
        };
        assert!(alternatives("written in Go"));
        assert!(!alternatives("Go to the fair"));
        assert!(!alternatives("we go on"));
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }
}
