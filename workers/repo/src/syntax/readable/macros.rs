//! Macros that stand where a grammar knows none: before and behind declarations, and between `class` and
//! a name. A word counts as a macro if it has no small letter, and if the words around it are a
//! declaration without it.

use std::ops::Range;

use super::{
    broken::BrokenBytes,
    edits::Edits,
    tokens::Tokens,
    words::{Before, SIZES, Words, is_macro_before_name, is_macro_name},
};

/// Passes over a text.
const MAX_PASSES: usize = 4;
/// From `enum` to its `{`, at most, in tokens.
const MAX_ENUM_HEAD: usize = 8;

/// What happens to a token, and where the next one is to be looked at.
enum Fate {
    Stays,
    /// A macro that stands for nothing.
    Goes(usize),
    /// A macro that stands for a type.
    IsType(usize),
}

/// Leaves out macros in broken places. One may stand behind another, so the rest is looked at again.
pub(super) fn drop(text: &[u8], tokens: &Tokens, broken: &BrokenBytes, edits: &mut Edits) {
    for _ in 0..MAX_PASSES {
        let left = (0..tokens.tokens.len())
            .filter(|at| edits.is_kept(*at))
            .collect();
        if !Words::of(text, tokens, left).drop_macros(broken, edits) {
            break;
        }
    }
}

impl Words<'_> {
    /// Goes over the tokens once. Returns whether a macro went.
    fn drop_macros(&self, broken: &BrokenBytes, edits: &mut Edits) -> bool {
        let (mut at, mut template_end, mut has_gone) = (0, 0, false);
        let mut before = Before::default();
        while let Some(token) = self.left.get(at) {
            if !broken.touch(&self.tokens.tokens[*token].bytes) {
                (before, at) = (before.then(at), at + 1);
                continue;
            }
            if self.is(at, b"template") && self.sign(at + 1) == b'<' {
                template_end = self.arguments_end(at + 1).max(template_end);
            }
            match self.fate(before, at, at < template_end) {
                Fate::Goes(end) => {
                    self.drop_range(at..end, edits);
                    (at, has_gone) = (end, true);
                }
                Fate::IsType(end) => {
                    self.drop_range(at..end, edits);
                    edits.name_type(*token, self.tokens);
                    (before, at) = (before.then(at), end);
                }
                Fate::Stays => {
                    self.drop_type(at, edits);
                    (before, at) = (before.then(at), at + 1);
                }
            }
        }
        has_gone
    }

    /// What happens to a token in a broken place. `before` has no macros.
    fn fate(&self, before: Before, at: usize, is_in_template: bool) -> Fate {
        let is_before_name = before.last.is_some_and(|it| self.is_type_key(it));
        let end = match is_before_name {
            true => self.written_macro_end(at, is_macro_before_name),
            false => self.macro_end(at),
        };
        let Some(end) = end else {
            return Fate::Stays;
        };
        if (is_in_template && self.is_parameter(at, end)) || self.is_type(before, at, end) {
            return Fate::IsType(end);
        }
        // `if MACRO (…)`
        if before.last.is_some_and(|it| self.is(it, b"if")) {
            return Fate::Goes(at + 1);
        }
        match self.is_macro(before, at, end) {
            true => Fate::Goes(end),
            false => Fate::Stays,
        }
    }

    /// The end of the macro and its arguments at a place, if the word there is written as one.
    pub(super) fn macro_end(&self, at: usize) -> Option<usize> {
        self.written_macro_end(at, is_macro_name)
    }

    fn written_macro_end(&self, at: usize, is_macro: fn(&[u8]) -> bool) -> Option<usize> {
        self.word(at).filter(|it| is_macro(it))?;
        let has_arguments = self.sign(at + 1) == b'(';
        let close = self.half(at + 1).filter(|_| has_arguments);
        let close = close.filter(|close| !self.has_body(at + 1..*close));
        Some(close.map_or(at + 1, |close| close + 1))
    }

    fn is_macro(&self, before: Before, at: usize, end: usize) -> bool {
        let last = before.last;
        if last.is_some_and(|it| self.is_type_key(it)) {
            return !self.is_declared(at)
                && !self.is_second_in_brackets(before)
                && self.heads_type(end);
        }
        self.is_suffix(last, end)
            || self.is_behind_name(before, end)
            || self.is_statement(before, at, end)
            || self.is_prefix(last, at, end)
    }

    /// Whether a macro with arguments is a statement that the grammar does not know: it has types as
    /// arguments, or no `;`.
    fn is_statement(&self, before: Before, at: usize, end: usize) -> bool {
        let other = before.other.map_or(0, |it| self.sign(it));
        let is_begin = before.last.is_none_or(|it| match self.sign(it) {
            b';' | b'}' => true,
            // That of an initializer holds no statements.
            b'{' => !matches!(other, b'=' | b',' | b'(' | b'{' | b']'),
            _ => false,
        });
        if !is_begin {
            return false;
        }
        if end == at + 1 {
            let next = self.macro_end(end).unwrap_or(end);
            return self.sign(next) == 0 || self.sign(end) == b'{';
        }
        match self.sign(end) {
            b';' => self.has_type(at + 1),
            b'}' | 0 => true,
            b'w' => self.sign(end + 1) != b'(' && self.is_line_between(end),
            _ => false,
        }
    }

    /// Whether an argument in these brackets is a type. Brackets within them are passed over.
    fn has_type(&self, open: usize) -> bool {
        let Some(close) = self.half(open) else {
            return false;
        };
        let mut at = open + 1;
        while at < close {
            let is_begin = matches!(self.sign(at - 1), b'(' | b',');
            if is_begin
                && (self.begins_type(at) || self.is_one(at, &SIZES) || self.is(at, b"const"))
            {
                return true;
            }
            at = self.half(at).filter(|it| *it > at).unwrap_or(at) + 1;
        }
        false
    }

    /// Whether a macro stands for a parameter of a template.
    fn is_parameter(&self, at: usize, end: usize) -> bool {
        let before = at.checked_sub(1).map_or(0, |it| self.sign(it));
        matches!(before, b'<' | b',') && matches!(self.sign(end), b',' | b'>')
    }

    /// Whether a macro stands for a type that gets another name.
    fn is_type(&self, before: Before, at: usize, end: usize) -> bool {
        let is_alias = before
            .last
            .is_some_and(|it| self.is_one(it, &[b"typedef", b"typename"]));
        is_alias && end > at + 1 && self.word(end).is_some()
    }

    fn drop_range(&self, range: Range<usize>, edits: &mut Edits) {
        for at in range {
            edits.drop(self.left[at], self.tokens);
        }
    }

    /// Replaces types that the grammar does not know where they stand: that of an enumeration without a
    /// name, from `:` to `{`, and that of a cast as `unsigned(x)`.
    fn drop_type(&self, at: usize, edits: &mut Edits) {
        if self.is(at, b"enum") && self.is_colon(at + 1) {
            let end = (at..at + MAX_ENUM_HEAD).find(|it| self.sign(*it) == b'{');
            self.drop_range(at + 1..end.unwrap_or(at + 1), edits);
        }
        if self.is_one(at, &SIZES) && self.sign(at + 1) == b'(' {
            edits.name_type(self.left[at], self.tokens);
        }
    }
}
