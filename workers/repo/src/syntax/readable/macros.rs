//! Macros that stand where a grammar knows none: before and behind declarations, and between `class` and
//! a name. A word counts as a macro if it has no small letter, and if the words around it are a
//! declaration without it.

use std::ops::Range;

use super::{
    edits::Edits,
    tokens::Tokens,
    words::{BEGIN, BEHIND, SIZES, STATEMENT, TYPES, Words},
};

/// Passes over a text.
const MAX_PASSES: usize = 4;

/// The last two tokens before a place.
#[derive(Clone, Copy, Default)]
struct Before {
    last: Option<usize>,
    other: Option<usize>,
}

impl Before {
    fn then(self, at: usize) -> Before {
        Before {
            last: Some(at),
            other: self.last,
        }
    }
}

/// Leaves out macros. One may stand behind another, so the rest is looked at again.
pub(super) fn drop(text: &[u8], tokens: &Tokens, edits: &mut Edits) {
    for _ in 0..MAX_PASSES {
        let left = (0..tokens.tokens.len())
            .filter(|at| edits.is_kept(*at))
            .collect();
        if !Words::of(text, tokens, left).drop_all(edits) {
            break;
        }
    }
}

impl Words<'_> {
    /// Leaves out macros. Returns whether there was one.
    fn drop_all(&self, edits: &mut Edits) -> bool {
        let (mut at, mut template_end, mut is_dropped) = (0, 0, false);
        // The last token that is no macro, and the one before.
        let mut before = Before::default();
        while at < self.left.len() {
            if self.is(at, b"template") && self.sign(at + 1) == b'<' {
                template_end = self.arguments_end(at + 1).max(template_end);
            }
            let is_parameter = |end: &usize| {
                (at < template_end && self.is_parameter(at, *end)) || self.is_type(before, at, *end)
            };
            let end = self.macro_end(at);
            if let Some(end) = end.filter(is_parameter) {
                self.drop_range(at..end, edits);
                edits.name_type(self.left[at], self.tokens);
                (before, at) = (before.then(at), end);
            } else if let Some(end) = end.and_then(|end| self.dropped_end(before, at, end)) {
                self.drop_range(at..end, edits);
                (at, is_dropped) = (end, true);
            } else {
                self.drop_type(at, edits);
                (before, at) = (before.then(at), at + 1);
            }
        }
        is_dropped
    }

    /// The end of a macro that goes; `None` if it stays.
    fn dropped_end(&self, before: Before, at: usize, end: usize) -> Option<usize> {
        // `if MACRO (…)`
        if before.last.is_some_and(|it| self.is(it, b"if")) {
            return Some(at + 1);
        }
        self.is_macro(before, at, end).then_some(end)
    }

    /// The end of the macro and its arguments at a place, if the word there is written as one.
    fn macro_end(&self, at: usize) -> Option<usize> {
        let word = self.word(at)?;
        let is_upper = word.len() > 2
            && word.iter().any(u8::is_ascii_uppercase)
            && !word.iter().any(u8::is_ascii_lowercase);
        if !is_upper {
            return None;
        }
        let has_arguments = self.sign(at + 1) == b'(';
        let close = self.half(at + 1).filter(|_| has_arguments);
        Some(close.map_or(at + 1, |close| close + 1))
    }

    fn is_macro(&self, before: Before, at: usize, end: usize) -> bool {
        let last = before.last;
        if last.is_some_and(|it| self.is_one(it, &[b"class", b"struct", b"union"])) {
            return self.heads_type(end);
        }
        self.is_suffix(last, end)
            || self.is_behind_name(before, end)
            || self.is_statement(last, at, end)
            || self.is_prefix(last, at, end)
    }

    /// Whether a macro stands behind the name of a parameter or variable.
    fn is_behind_name(&self, before: Before, end: usize) -> bool {
        let (Some(name), Some(of_type)) = (before.last, before.other) else {
            return false;
        };
        let is_named = self.word(name).is_some() && !self.is_keyword(name);
        let is_typed = match self.sign(of_type) {
            b'w' => {
                !self.is_one(of_type, &BEGIN)
                    && !self.is_one(of_type, &STATEMENT)
                    && !self.is_one(of_type, &TYPES[10..])
            }
            sign => matches!(sign, b'*' | b'&' | b'>'),
        };
        is_named && is_typed && matches!(self.sign(end), b')' | b',' | b'=' | b';')
    }

    /// Whether a macro with arguments is a statement that the grammar does not know: it has types as
    /// arguments, or no `;`.
    fn is_statement(&self, before: Option<usize>, at: usize, end: usize) -> bool {
        let is_begin = before.is_none_or(|it| matches!(self.sign(it), b';' | b'{' | b'}'));
        if !is_begin {
            return false;
        }
        if end == at + 1 {
            let next = self.macro_end(end).unwrap_or(end);
            return self.sign(next) == 0 || self.sign(end) == b'{';
        }
        let has_type = || (at..end).any(|it| self.is_one(it, &TYPES) || self.is(it, b"const"));
        match self.sign(end) {
            b';' => has_type(),
            b'}' | 0 => true,
            b'w' => self.sign(end + 1) != b'(' && self.is_line_between(end),
            _ => false,
        }
    }

    /// Whether the name of a type and its body or bases follow.
    fn heads_type(&self, at: usize) -> bool {
        let Some(end) = self.name_end(at) else {
            return false;
        };
        self.sign(end) == b'{' || self.is(end, b"final") || self.is_colon(end)
    }

    /// Whether a macro stands before a declaration.
    fn is_prefix(&self, before: Option<usize>, at: usize, end: usize) -> bool {
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
        if self.is_one(end, &TYPES)
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
            b'w' => !self.is_one(type_end, &BEHIND),
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

    /// Whether a type stands before a place.
    fn is_behind_type(&self, before: Option<usize>) -> bool {
        before.is_some_and(|it| match self.sign(it) {
            b'w' => !self.is_one(it, &BEGIN) && !self.is_one(it, &STATEMENT),
            sign => matches!(sign, b'*' | b'&'),
        })
    }

    /// Whether a macro stands behind the head of a function.
    fn is_suffix(&self, before: Option<usize>, end: usize) -> bool {
        let Some(before) = before else { return false };
        let is_behind = match self.sign(before) {
            b')' => {
                let name = self.half(before).and_then(|open| open.checked_sub(1));
                name.is_some_and(|it| self.word(it).is_some() && !self.is_one(it, &STATEMENT))
            }
            b'w' => self.is_one(before, &BEHIND),
            _ => false,
        };
        let is_arrow = self.sign(end) == b'-' && self.sign(end + 1) == b'>';
        is_behind
            && (matches!(self.sign(end), b'{' | b';' | b'=')
                || self.is_colon(end)
                || is_arrow
                || self.is_one(end, &BEHIND))
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
            let end = (at..at + 8).find(|it| self.sign(*it) == b'{');
            self.drop_range(at + 1..end.unwrap_or(at + 1), edits);
        }
        if self.is_one(at, &SIZES) && self.sign(at + 1) == b'(' {
            edits.name_type(self.left[at], self.tokens);
        }
    }
}
