//! Places in declarations where a grammar knows no macro: what stands around one there would be a declaration
//! without it.

use super::words::{BEGIN, BEHIND, Before, OPERATORS, REACH, STATEMENT, Words};

impl Words<'_> {
    /// Whether a macro stands behind the name of a parameter or variable.
    pub(super) fn is_behind_name(&self, before: Before, end: usize) -> bool {
        let (Some(name), Some(of_type)) = (before.last, before.other) else {
            return false;
        };
        // Compilers' own words are no names: `__read_mostly`.
        let is_name = |word: &[u8]| !word.starts_with(b"__");
        let is_named = self.word(name).is_some_and(is_name) && !self.is_keyword(name);
        let is_typed = match self.sign(of_type) {
            b'w' => {
                !self.is_one(of_type, &BEGIN)
                    && !self.is_one(of_type, &STATEMENT)
                    && !self.is_type_key(of_type)
            }
            sign => matches!(sign, b'*' | b'&' | b'>'),
        };
        is_named && is_typed && matches!(self.sign(end), b')' | b',' | b'=' | b';')
    }

    /// Whether the name of a type and its body or bases follow.
    pub(super) fn heads_type(&self, at: usize) -> bool {
        // `class URL final {`
        if self.is(at, b"final") {
            return false;
        }
        let Some(end) = self.name_end(at) else {
            return false;
        };
        // Behind the name and size of a bit field there is none.
        let mut signs = (end..end + REACH).map(|at| self.sign(at));
        let mut is_body_next = || signs.find(|it| matches!(it, b'{' | b';')) == Some(b'{');
        self.is(end, b"final") || self.sign(end) == b'{' || (self.is_colon(end) && is_body_next())
    }

    /// Whether a token is behind the `(` and the first word in it, as in the head of a `for`.
    pub(super) fn is_second_in_brackets(&self, before: Before) -> bool {
        before.other.is_some_and(|it| self.sign(it) == b'(')
    }

    /// Whether a macro stands before a declaration.
    pub(super) fn is_prefix(&self, before: Option<usize>, at: usize, end: usize) -> bool {
        let has_place = before.is_none_or(|it| match self.sign(it) {
            b'w' => !self.is_one(it, &STATEMENT),
            sign => matches!(
                sign,
                b';' | b'{' | b'}' | b':' | b'>' | b'(' | b',' | b')' | b']' | b'*' | b'&'
            ),
        });
        if !has_place {
            return false;
        }
        if self.sign(end) == b'~' {
            return true;
        }
        if self.is(end, b"operator") {
            return self.word(end + 1).is_some();
        }
        if self.begins_type(end)
            || (self.is_one(end, &BEGIN) && !self.is_one(end, &[b"const", b"volatile"]))
        {
            return true;
        }
        let type_at = if self.is_one(end, &[b"const", b"volatile"]) {
            end + 1
        } else {
            end
        };
        let Some(type_end) = self.name_end(type_at) else {
            return false;
        };
        match self.sign(type_end) {
            b'w' => !self.is_one(type_end, &BEHIND) && !self.is_behind_variable(type_end),
            b'*' | b'&' => true,
            // `MACRO Type(…) : member(…)`, or `Type MACRO name(…)`
            b'(' => self.is_constructor(type_end) || (end == at + 1 && self.is_behind_type(before)),
            _ => false,
        }
    }

    /// Whether initializers of members follow the parameters.
    fn is_constructor(&self, open: usize) -> bool {
        let Some(close) = self.half(open) else {
            return false;
        };
        let is_noexcept = self.is(close + 1, b"noexcept");
        self.is_colon(close + 1 + usize::from(is_noexcept))
    }

    /// Whether attributes stand behind the name of a variable, so that the word before the name is its type:
    /// `UINT32 x PACKED;`.
    fn is_behind_variable(&self, at: usize) -> bool {
        let is_ended = |end| matches!(self.sign(end), b';' | b',' | b')' | b'=' | b'[');
        self.is_one(at, &[b"__attribute__", b"asm", b"__asm__"])
            || self.macro_end(at).is_some_and(is_ended)
    }

    /// Whether a type stands before a place.
    fn is_behind_type(&self, before: Option<usize>) -> bool {
        before.is_some_and(|it| match self.sign(it) {
            b'w' => !self.is_one(it, &BEGIN) && !self.is_one(it, &STATEMENT),
            sign => matches!(sign, b'*' | b'&'),
        })
    }

    /// Whether a macro stands behind the head of a function.
    pub(super) fn is_suffix(&self, before: Option<usize>, end: usize) -> bool {
        let Some(before) = before else { return false };
        // `int const LIMIT = 5;` has no head.
        let is_qualifier = |it: &usize| self.is_one(*it, &BEHIND);
        let close = (0..=before)
            .rev()
            .take(BEHIND.len() + 1)
            .find(|it| !is_qualifier(it));
        let open = close.and_then(|close| self.half(close).filter(|open| *open < close));
        let is_head = |name: usize| {
            let is_other = self.is_one(name, &STATEMENT) || self.is_one(name, &OPERATORS);
            self.word(name).is_some() && !is_other
        };
        let is_behind = open
            .and_then(|open| open.checked_sub(1))
            .is_some_and(is_head);
        let is_arrow = self.sign(end) == b'-' && self.sign(end + 1) == b'>';
        is_behind
            && (matches!(self.sign(end), b'{' | b';' | b'=')
                || self.is_colon(end)
                || is_arrow
                || self.is_one(end, &BEHIND))
    }
}
