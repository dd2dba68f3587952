//! Splits a sentence into words and punctuation marks.

/// At most this many tokens of a sentence are read.
const MAX_TOKENS: usize = 800;

/// A word as written, or a punctuation mark.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) lower: String,
    pub(super) is_capital: bool,
}

/// The tokens of a text, at most [`MAX_TOKENS`].
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let is_inner = |c: char| c.is_alphanumeric() || "'’+#_-.".contains(c);
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric() || ".,;:!?—–()→/|%".contains(c))
    {
        if tokens.len() >= MAX_TOKENS {
            break;
        }
        rest = rest.get(start..).unwrap_or_default();
        let is_word = rest.starts_with(char::is_alphanumeric);
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let end = if is_word {
            rest.find(|c| !is_inner(c)).unwrap_or(rest.len())
        } else {
            first
        };
        let token = rest.get(..end).unwrap_or_default();
        let word = token.trim_end_matches(['.', '-', '\'', '’', '_']);
        let word = if is_word { word } else { token };
        let lower = word.to_lowercase().replace('’', "'");
        let lower = lower
            .strip_suffix("'s")
            .map_or(lower.clone(), str::to_owned);
        tokens.push(Token {
            lower,
            is_capital: word.starts_with(char::is_uppercase),
        });
        rest = rest.get(word.len().max(1)..).unwrap_or_default();
    }
    tokens
}
