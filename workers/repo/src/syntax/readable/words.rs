//! The tokens of C and C++ that remain, by position, and what belongs together.

use std::{collections::HashSet, ops::Range};

use super::tokens::Tokens;

/// Words before a declaration, none of which is its type.
pub(super) const BEGIN: [&[u8]; 30] = [
    b"static",
    b"inline",
    b"extern",
    b"const",
    b"constexpr",
    b"consteval",
    b"constinit",
    b"virtual",
    b"explicit",
    b"friend",
    b"typedef",
    b"volatile",
    b"register",
    b"mutable",
    b"thread_local",
    b"using",
    b"template",
    b"typename",
    b"namespace",
    b"public",
    b"private",
    b"protected",
    b"operator",
    b"unsigned",
    b"__inline",
    b"__inline__",
    b"__forceinline",
    b"__extension__",
    b"_Noreturn",
    b"_Thread_local",
];
/// Words of statements and expressions: what follows one is no declaration.
pub(super) const STATEMENT: [&[u8]; 28] = [
    b"return",
    b"case",
    b"else",
    b"new",
    b"delete",
    b"goto",
    b"throw",
    b"sizeof",
    b"if",
    b"while",
    b"for",
    b"switch",
    b"do",
    b"defined",
    b"co_return",
    b"co_yield",
    b"co_await",
    b"and",
    b"and_eq",
    b"bitand",
    b"bitor",
    b"compl",
    b"not",
    b"not_eq",
    b"or",
    b"or_eq",
    b"xor",
    b"xor_eq",
];
/// Words of the language with brackets behind them that are no parameters.
pub(super) const OPERATORS: [&[u8]; 10] = [
    b"decltype",
    b"typeof",
    b"__typeof__",
    b"typeid",
    b"alignas",
    b"_Alignas",
    b"alignof",
    b"__attribute__",
    b"__declspec",
    b"constexpr",
];
/// Words before the name of a type that has members.
pub(super) const KEYS: [&[u8]; 3] = [b"class", b"struct", b"union"];
/// Types of the language.
const TYPES: [&[u8]; 10] = [
    b"void", b"bool", b"char", b"short", b"int", b"long", b"float", b"double", b"signed", b"auto",
];
/// Parts of the names of types.
pub(super) const SIZES: [&[u8]; 4] = [b"unsigned", b"signed", b"long", b"short"];
/// What may follow the head of a function.
pub(super) const BEHIND: [&[u8]; 4] = [b"const", b"noexcept", b"override", b"final"];

/// Tokens that the arguments of a template, or the bases of a type, may have.
pub(super) const REACH: usize = 200;
/// Names that a qualified name may consist of.
const MAX_SCOPES: usize = 8;

/// Whether a word is written as a macro. Two letters are more often a type.
pub(super) fn is_macro_name(word: &[u8]) -> bool {
    word.len() > 2 && is_macro_before_name(word)
}

/// Whether a word between `class` and a name is written as a macro. One letter is a parameter of a template.
pub(super) fn is_macro_before_name(word: &[u8]) -> bool {
    word.len() > 1
        && word.iter().any(u8::is_ascii_uppercase)
        && !word.iter().any(u8::is_ascii_lowercase)
}

/// The last two tokens before a place.
#[derive(Clone, Copy, Default)]
pub(super) struct Before {
    pub(super) last: Option<usize>,
    pub(super) other: Option<usize>,
}

impl Before {
    pub(super) fn then(self, at: usize) -> Before {
        Before {
            last: Some(at),
            other: self.last,
        }
    }
}

/// The tokens that remain, one behind the other.
pub(super) struct Words<'a> {
    text: &'a [u8],
    pub(super) tokens: &'a Tokens,
    /// Their positions.
    pub(super) left: Vec<usize>,
    /// For each round bracket the position of its other half in `left`.
    halves: Vec<usize>,
    /// For each token the number of bodies that begin before it.
    bodies: Vec<usize>,
    /// Names of types that the text declares.
    declared: HashSet<&'a [u8]>,
}

impl<'a> Words<'a> {
    /// The tokens at these positions.
    pub(super) fn of(text: &'a [u8], tokens: &'a Tokens, left: Vec<usize>) -> Words<'a> {
        let mut words = Words {
            text,
            tokens,
            halves: vec![usize::MAX; left.len()],
            bodies: Vec::with_capacity(left.len()),
            declared: HashSet::new(),
            left,
        };
        let (mut open, mut bodies) = (Vec::new(), 0);
        for at in 0..words.left.len() {
            words.bodies.push(bodies);
            words.declared.extend(words.declared_name(at));
            match words.sign(at) {
                // That of a list is behind another sign.
                b'{' if at > 0 && matches!(words.sign(at - 1), b'w' | b')') => bodies += 1,
                b'(' => open.push(at),
                b')' => {
                    if let Some(start) = open.pop() {
                        words.halves[start] = at;
                        words.halves[at] = start;
                    }
                }
                _ => {}
            }
        }
        words
    }

    /// The other half of a round bracket.
    pub(super) fn half(&self, at: usize) -> Option<usize> {
        self.halves.get(at).copied().filter(|it| *it != usize::MAX)
    }

    /// The sign of a token; 0 behind the last one.
    pub(super) fn sign(&self, at: usize) -> u8 {
        self.left.get(at).map_or(0, |at| self.tokens.sign(*at))
    }

    /// The text of a token that is a word.
    pub(super) fn word(&self, at: usize) -> Option<&'a [u8]> {
        self.tokens.word(self.text, *self.left.get(at)?)
    }

    /// Whether a token is this word.
    pub(super) fn is(&self, at: usize, word: &[u8]) -> bool {
        self.word(at) == Some(word)
    }

    /// Whether a token is one of these words.
    pub(super) fn is_one(&self, at: usize, words: &[&[u8]]) -> bool {
        self.word(at).is_some_and(|it| words.contains(&it))
    }

    /// Whether a token is one of the words of the language above.
    pub(super) fn is_keyword(&self, at: usize) -> bool {
        self.is_one(at, &BEGIN) || self.begins_type(at) || self.is_one(at, &STATEMENT)
    }

    /// Whether a token is a word before the name of a type.
    pub(super) fn is_type_key(&self, at: usize) -> bool {
        self.is_one(at, &KEYS) || self.is(at, b"enum")
    }

    /// Whether a token is a type, or begins its definition.
    pub(super) fn begins_type(&self, at: usize) -> bool {
        self.is_one(at, &TYPES) || self.is_type_key(at)
    }

    /// Whether the text declares a type with the name of a token.
    pub(super) fn is_declared(&self, at: usize) -> bool {
        self.word(at).is_some_and(|it| self.declared.contains(it))
    }

    /// The name of the type that is declared at a token.
    fn declared_name(&self, at: usize) -> Option<&'a [u8]> {
        let is_declared = matches!(self.sign(at + 2), b'{' | b':' | b';') && self.is_type_key(at);
        self.word(at + 1).filter(|_| is_declared)
    }

    /// Whether a body begins among tokens, as that of a function or type.
    pub(super) fn has_body(&self, range: Range<usize>) -> bool {
        self.bodies.get(range.start) < self.bodies.get(range.end)
    }

    /// Whether a line ends before a token.
    pub(super) fn is_line_between(&self, at: usize) -> bool {
        let place = |at: usize| Some(self.tokens.tokens.get(*self.left.get(at)?)?.bytes.clone());
        let (Some(before), Some(next)) = (at.checked_sub(1).and_then(place), place(at)) else {
            return true;
        };
        let between = self.text.get(before.end..next.start).unwrap_or_default();
        between.contains(&b'\n')
    }

    /// A `:` that is no part of `::`.
    pub(super) fn is_colon(&self, at: usize) -> bool {
        self.sign(at) == b':' && self.sign(at + 1) != b':'
    }

    /// The end of a name with its scopes and arguments.
    pub(super) fn name_end(&self, at: usize) -> Option<usize> {
        let mut end = at;
        for _ in 0..MAX_SCOPES {
            if self.is_scope(end) {
                end += 2;
            }
            self.word(end)?;
            end += 1;
            if self.sign(end) == b'<' {
                end = self.arguments_end(end);
            }
            if !self.is_scope(end) {
                return Some(end);
            }
        }
        None
    }

    /// Whether a place has `::`.
    fn is_scope(&self, at: usize) -> bool {
        self.sign(at) == b':' && self.sign(at + 1) == b':'
    }

    /// The end of the arguments of a template, which begin with `<`.
    pub(super) fn arguments_end(&self, at: usize) -> usize {
        let mut depth = 0_usize;
        let mut end = at;
        while end < self.left.len().min(at + REACH) {
            match self.sign(end) {
                b'<' => depth += 1,
                b'>' if depth <= 1 => return end + 1,
                b'>' => depth -= 1,
                b'(' => end = self.half(end).unwrap_or(end),
                b';' | b'{' | b'}' => return at,
                _ => {}
            }
            end += 1;
        }
        at
    }
}
