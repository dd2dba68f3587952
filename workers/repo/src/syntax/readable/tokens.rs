//! Words and signs of C and C++, without comments and literals; lines of the preprocessor apart.

use std::ops::Range;

/// A word or a sign of one byte.
#[derive(Clone, Debug)]
pub(super) struct Token {
    /// In bytes.
    pub(super) bytes: Range<usize>,
    /// The byte of a sign; `w` for a word, `0` for a number, `"` for a string or character.
    pub(super) sign: u8,
}

/// What a line of the preprocessor does to the lines behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// `#if`, `#ifdef`, `#ifndef`.
    If,
    /// `#else`, `#elif`, …
    Else,
    /// `#endif`
    End,
    /// Any other line.
    Other,
}

/// A line of the preprocessor.
#[derive(Debug)]
pub(super) struct Directive {
    /// The line in bytes, without its end.
    pub(super) bytes: Range<usize>,
    pub(super) step: Step,
    /// The number of tokens before it.
    pub(super) at: usize,
}

/// A text as the lexer of C sees it.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    pub(super) tokens: Vec<Token>,
    pub(super) directives: Vec<Directive>,
    /// Comments inside of such lines.
    pub(super) comments: Vec<Range<usize>>,
}

impl Directive {
    /// Its words, the first of which says what it does.
    pub(super) fn words(&self, text: &[u8]) -> Vec<Range<usize>> {
        let line = self.line(text);
        let words = line.tokens.into_iter().filter(|it| it.sign == b'w');
        let start = self.bytes.start + 1;
        words
            .map(|it| it.bytes.start + start..it.bytes.end + start)
            .collect()
    }

    /// Whether it defines a macro.
    pub(super) fn defines(&self, text: &[u8]) -> bool {
        let name = self.words(text).into_iter().next();
        name.and_then(|it| text.get(it)) == Some(b"define")
    }

    /// Whether it is `#if 0` or `#if false`, also in brackets.
    pub(super) fn is_never(&self, text: &[u8]) -> bool {
        let start = self.bytes.start + 1;
        let line = self.line(text).tokens.into_iter();
        let words = line
            .filter(|it| !matches!(it.sign, b'(' | b')'))
            .map(|it| text.get(it.bytes.start + start..it.bytes.end + start));
        let words: Vec<_> = words.flatten().collect();
        matches!(words.as_slice(), [b"if", b"0" | b"false"])
    }

    /// What stands behind its `#`; places count from there.
    fn line(&self, text: &[u8]) -> Tokens {
        let line = text.get(self.bytes.start + 1..self.bytes.end);
        Tokens::of(line.unwrap_or_default())
    }
}

impl Tokens {
    pub(super) fn of(text: &[u8]) -> Tokens {
        let mut tokens = Tokens::default();
        // Behind the mark of the byte order.
        let start = if text.starts_with(b"\xef\xbb\xbf") {
            3
        } else {
            0
        };
        let (mut at, mut is_line_start) = (start, true);
        while let Some(&byte) = text.get(at) {
            let end = match byte {
                b'\n' => {
                    is_line_start = true;
                    at += 1;
                    continue;
                }
                _ if byte.is_ascii_whitespace() => at + 1,
                b'/' if starts(text, at, b"//") => line_end(text, at),
                b'/' if starts(text, at, b"/*") => comment_end(text, at),
                b'#' if is_line_start => tokens.directive(text, at),
                _ => {
                    is_line_start = false;
                    tokens.token(text, at)
                }
            };
            at = end.max(at + 1);
        }
        tokens
    }

    /// The sign of a token; 0 behind the last one.
    pub(super) fn sign(&self, at: usize) -> u8 {
        self.tokens.get(at).map_or(0, |it| it.sign)
    }

    /// The text of a token that is a word.
    pub(super) fn word<'t>(&self, text: &'t [u8], at: usize) -> Option<&'t [u8]> {
        let token = self.tokens.get(at).filter(|it| it.sign == b'w')?;
        text.get(token.bytes.clone())
    }

    /// Adds the token at a byte, and returns its end.
    fn token(&mut self, text: &[u8], at: usize) -> usize {
        let (sign, end) = match text[at] {
            quote @ (b'"' | b'\'') => (b'"', quoted_end(text, at, quote)),
            byte if byte.is_ascii_digit() => (b'0', number_end(text, at)),
            byte if is_of_word(byte) => word(text, at),
            byte => (byte, at + 1),
        };
        self.tokens.push(Token {
            bytes: at..end,
            sign,
        });
        end
    }

    /// Adds the line of the preprocessor at a byte, and returns its end.
    fn directive(&mut self, text: &[u8], at: usize) -> usize {
        let end = self.directive_end(text, at + 1);
        let line = text.get(at + 1..end).unwrap_or_default().trim_ascii_start();
        let length = line.iter().take_while(|it| is_of_word(**it)).count();
        let step = match line.get(..length).unwrap_or_default() {
            b"if" | b"ifdef" | b"ifndef" => Step::If,
            b"else" | b"elif" | b"elifdef" | b"elifndef" => Step::Else,
            b"endif" => Step::End,
            _ => Step::Other,
        };
        self.directives.push(Directive {
            bytes: at..end,
            step,
            at: self.tokens.len(),
        });
        end
    }

    /// The end of a line of the preprocessor. Notes comments with more behind them.
    fn directive_end(&mut self, text: &[u8], from: usize) -> usize {
        let mut at = from;
        while let Some(&byte) = text.get(at) {
            at = match byte {
                b'\n' if !text.get(..at).is_some_and(is_continued) => return at,
                b'/' if starts(text, at, b"//") => return line_end(text, at),
                b'/' if starts(text, at, b"/*") => {
                    let end = comment_end(text, at);
                    let rest = text.get(end..).unwrap_or_default();
                    let next = rest.iter().find(|it| !matches!(it, b' ' | b'\t' | b'\r'));
                    if next.is_some_and(|it| *it != b'\n') {
                        self.comments.push(at..end);
                    }
                    end
                }
                b'"' | b'\'' => quoted_end(text, at, byte),
                _ => at + 1,
            };
        }
        text.len()
    }
}

/// Whether a line goes on behind its end.
fn is_continued(text: &[u8]) -> bool {
    text.strip_suffix(b"\r").unwrap_or(text).ends_with(b"\\")
}

pub(super) fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn starts(text: &[u8], at: usize, with: &[u8]) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with(with))
}

/// The end of the first `what` behind a byte, or of the text.
fn behind(text: &[u8], at: usize, what: &[u8]) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let found = rest.windows(what.len()).position(|it| it == what);
    found.map_or(text.len(), |found| at + found + what.len())
}

/// The end of a line, or of the last one that it goes on in.
fn line_end(text: &[u8], at: usize) -> usize {
    let mut ends = memchr::memchr_iter(b'\n', text.get(at..).unwrap_or_default());
    let end = ends.find(|it| !text.get(..at + it).is_some_and(is_continued));
    end.map_or(text.len(), |end| at + end)
}

fn comment_end(text: &[u8], at: usize) -> usize {
    behind(text, at + 2, b"*/")
}

/// No quote is open at the end of a line.
fn quoted_end(text: &[u8], at: usize, quote: u8) -> usize {
    let mut end = at + 1;
    while let Some(&byte) = text.get(end) {
        match byte {
            b'\\' if starts(text, end + 1, b"\r\n") => end += 2,
            b'\\' => end += 1,
            b'\n' => return end,
            _ if byte == quote => return end + 1,
            _ => {}
        }
        end += 1;
    }
    text.len()
}

/// Digits may be separated by `'`.
fn number_end(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let is_end = |it: &u8| !is_of_word(*it) && !matches!(it, b'.' | b'\'');
    let length = rest.iter().position(is_end);
    length.map_or(text.len(), |length| at + length)
}

/// A word, or the raw string that it begins: its sign and end.
fn word(text: &[u8], at: usize) -> (u8, usize) {
    let rest = text.get(at..).unwrap_or_default();
    let length = rest.iter().position(|it| !is_of_word(*it));
    let end = length.map_or(text.len(), |length| at + length);
    let word = text.get(at..end).unwrap_or_default();
    if !matches!(word, b"R" | b"LR" | b"uR" | b"UR" | b"u8R") || text.get(end) != Some(&b'"') {
        return (b'w', end);
    }
    let rest = text.get(end + 1..).unwrap_or_default();
    let is_end = |it: &u8| it.is_ascii_whitespace() || matches!(it, b'(' | b')' | b'"' | b'\\');
    let length = rest.iter().take(17).position(is_end);
    let Some(length) = length.filter(|it| rest.get(*it) == Some(&b'(')) else {
        return (b'w', end);
    };
    let close = [b")", rest.get(..length).unwrap_or_default(), b"\""].concat();
    (b'"', behind(text, end + 1 + length, &close))
}

#[cfg(test)]
mod tests {
    use super::Tokens;

    fn texts(text: &str) -> Vec<&str> {
        let tokens = Tokens::of(text.as_bytes()).tokens;
        tokens
            .into_iter()
            .map(|it| text.get(it.bytes).unwrap())
            .collect()
    }

    #[test]
    fn comments_and_strings_go_on_behind_a_backslash() {
        assert_eq!(
            texts("a // b \\\n c\nd // e \\\r\n f\r\ng"),
            ["a", "d", "g"]
        );
        assert_eq!(texts("\"a\\\r\nb\" c"), ["\"a\\\r\nb\"", "c"]);
    }

    #[test]
    fn only_a_delimiter_begins_a_raw_string() {
        let c = texts("R\"\" f(\"x\") ; a");
        assert_eq!(c, ["R", "\"\"", "f", "(", "\"x\"", ")", ";", "a"]);
        assert_eq!(texts("R\"x(a\")x\" b"), ["R\"x(a\")x\"", "b"]);
    }
}
