//! Macros that stand where a grammar knows none: before and behind declarations, and between `class` and
//! a name. A word counts as a macro if it has no small letter, and if the words around it are a
//! declaration without it.

use std::ops::Range;

use super::{
    edits::Edits,
    tokens::Tokens,
    words::{Before, KEYS, SIZES, TYPES, Words},
};

/// Passes over a text.
const MAX_PASSES: usize = 4;

/// Leaves out macros in broken items, and between `class` and a name. One may stand behind another, so the
/// rest is looked at again.
pub(super) fn drop(text: &[u8], tokens: &Tokens, broken: &[Range<usize>], edits: &mut Edits) {
    let is_broken = within(tokens, broken);
    for _ in 0..MAX_PASSES {
        let left = (0..tokens.tokens.len())
            .filter(|at| edits.is_kept(*at))
            .collect();
        if !Words::of(text, tokens, left).drop_all(&is_broken, edits) {
            break;
        }
    }
}

/// Which tokens lie in a range of bytes. The ranges are in the order of their starts.
fn within(tokens: &Tokens, ranges: &[Range<usize>]) -> Vec<bool> {
    let (mut ranges, mut end) = (ranges.iter().peekable(), 0);
    let mut is_within = |at: usize| {
        while let Some(range) = ranges.next_if(|it| it.start <= at) {
            end = end.max(range.end);
        }
        at < end
    };
    let tokens = tokens.tokens.iter();
    tokens.map(|it| is_within(it.bytes.start)).collect()
}

impl Words<'_> {
    /// Leaves out macros. Returns whether there was one.
    fn drop_all(&self, is_broken: &[bool], edits: &mut Edits) -> bool {
        let (mut at, mut template_end, mut is_dropped) = (0, 0, false);
        // The last token that is no macro, and the one before.
        let mut before = Before::default();
        while at < self.left.len() {
            if !is_broken.get(self.left[at]).is_some_and(|it| *it) {
                let end = self.head_end(before, at);
                if let Some(end) = end {
                    self.drop_range(at..end, edits);
                    (at, is_dropped) = (end, true);
                } else {
                    (before, at) = (before.then(at), at + 1);
                }
                continue;
            }
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

    /// The end of a macro between `class` and a name.
    fn head_end(&self, before: Before, at: usize) -> Option<usize> {
        let is_head = before.last.is_some_and(|it| self.is_one(it, &KEYS));
        let end = self.macro_end(at).filter(|_| is_head)?;
        self.heads_type(end).then_some(end)
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
    pub(super) fn macro_end(&self, at: usize) -> Option<usize> {
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
        if last.is_some_and(|it| self.is_one(it, &KEYS) || self.is(it, b"enum")) {
            return self.heads_type(end);
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
            if is_begin && (self.is_one(at, &TYPES) || self.is_one(at, &SIZES)) {
                return true;
            }
            if is_begin && self.is(at, b"const") {
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
            let end = (at..at + 8).find(|it| self.sign(*it) == b'{');
            self.drop_range(at + 1..end.unwrap_or(at + 1), edits);
        }
        if self.is_one(at, &SIZES) && self.sign(at + 1) == b'(' {
            edits.name_type(self.left[at], self.tokens);
        }
    }
}
