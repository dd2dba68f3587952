//! What is replaced in a text, without a change of its length.

use std::ops::Range;

use super::{
    Readable,
    tokens::{Directive, Tokens},
};
use crate::syntax::failed::LeftOut;

/// Replacements, and which tokens remain.
pub(super) struct Edits {
    text: Vec<u8>,
    kept: Vec<bool>,
    left_out: LeftOut,
}

impl Edits {
    pub(super) fn of(text: &[u8], tokens: &Tokens) -> Edits {
        Edits {
            text: text.to_vec(),
            kept: vec![true; tokens.tokens.len()],
            left_out: LeftOut::default(),
        }
    }

    /// Whether a token remains.
    pub(super) fn is_kept(&self, token: usize) -> bool {
        self.kept.get(token) == Some(&true)
    }

    /// Leaves out code.
    fn leave_out(&mut self, bytes: Range<usize>) {
        self.left_out.note(bytes.start);
        self.blank(bytes);
    }

    /// Writes spaces, but leaves the ends of lines.
    fn blank(&mut self, bytes: Range<usize>) {
        for byte in self.text.get_mut(bytes).into_iter().flatten() {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }

    /// Leaves out a comment in a line of the preprocessor, which goes on in the lines of the comment.
    pub(super) fn drop_comment(&mut self, bytes: Range<usize>) {
        self.blank(bytes.clone());
        let comment = self.text.get_mut(bytes).unwrap_or_default();
        for end in 1..comment.len() {
            let is_end = matches!(comment.get(end..), Some([b'\n', ..] | [b'\r', b'\n', ..]));
            if is_end && comment[end - 1] == b' ' {
                comment[end - 1] = b'\\';
            }
        }
    }

    /// Leaves a token out.
    pub(super) fn drop(&mut self, token: usize, tokens: &Tokens) {
        if !self.is_kept(token) {
            return;
        }
        let dropped = &tokens.tokens[token];
        self.leave_out(dropped.bytes.clone());
        self.kept[token] = false;
        if dropped.sign == b'w' {
            self.left_out.words.push(dropped.bytes.clone());
        }
    }

    /// Leaves a line of the preprocessor out. Notes the names that its grammar has nodes for.
    pub(super) fn drop_line(&mut self, directive: &Directive, text: &[u8]) {
        if !self.is_line_kept(directive) {
            return;
        }
        self.leave_out(directive.bytes.clone());
        self.left_out.directives.push(directive.bytes.clone());
        let mut words = directive.words(text).into_iter();
        let name = words.next().and_then(|it| text.get(it)).unwrap_or_default();
        let names = match name {
            b"define" | b"undef" => 1,
            b"if" | b"ifdef" | b"ifndef" | b"elif" | b"elifdef" | b"elifndef" => usize::MAX,
            _ => 0,
        };
        let names = words.take(names);
        let names = names.filter(|it| text.get(it.clone()) != Some(b"defined"));
        self.left_out.words.extend(names);
    }

    /// Whether a line of the preprocessor remains.
    pub(super) fn is_line_kept(&self, directive: &Directive) -> bool {
        self.text.get(directive.bytes.start) == Some(&b'#')
    }

    /// Leaves out what is never compiled. Nothing there is a use.
    pub(super) fn drop_never(&mut self, bytes: Range<usize>, branch: Range<usize>) {
        self.leave_out(bytes);
        if let Some(kept) = self.kept.get_mut(branch) {
            kept.fill(false);
        }
    }

    /// Writes `;` for a sign that remains.
    pub(super) fn end(&mut self, token: usize, tokens: &Tokens) {
        if self.is_kept(token) {
            let start = tokens.tokens[token].bytes.start;
            self.kept[token] = false;
            self.text[start] = b';';
            self.left_out.note(start);
        }
    }

    /// Writes a type for a token that is long enough.
    pub(super) fn name_type(&mut self, token: usize, tokens: &Tokens) {
        let bytes = tokens.tokens[token].bytes.clone();
        self.leave_out(bytes.clone());
        if let Some(start) = self.text.get_mut(bytes).and_then(|it| it.get_mut(..3)) {
            start.copy_from_slice(b"int");
        }
    }

    /// The text with its replacements, if it is another one.
    pub(super) fn done(mut self, text: &[u8]) -> Option<Readable> {
        self.left_out.words.sort_by_key(|it| it.start);
        (self.text != text).then_some(Readable {
            text: self.text,
            left_out: self.left_out,
        })
    }
}
