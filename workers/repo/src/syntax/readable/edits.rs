//! What is replaced in a text, without a change of its length.

use std::ops::Range;

use super::{Readable, tokens::Tokens};

/// Replacements, and which tokens remain.
pub(super) struct Edits {
    text: Vec<u8>,
    kept: Vec<bool>,
    /// Words that were left out.
    unread: Vec<Range<usize>>,
}

impl Edits {
    pub(super) fn of(text: &[u8], tokens: &Tokens) -> Edits {
        Edits {
            text: text.to_vec(),
            kept: vec![true; tokens.tokens.len()],
            unread: Vec::new(),
        }
    }

    /// Whether a token remains.
    pub(super) fn is_kept(&self, token: usize) -> bool {
        self.kept.get(token) == Some(&true)
    }

    /// Writes spaces, but leaves the ends of lines.
    pub(super) fn blank(&mut self, bytes: Range<usize>) {
        for byte in self.text.get_mut(bytes).into_iter().flatten() {
            if !matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }

    /// Leaves a token out.
    pub(super) fn drop(&mut self, token: usize, tokens: &Tokens) {
        if !self.is_kept(token) {
            return;
        }
        let dropped = &tokens.tokens[token];
        self.blank(dropped.bytes.clone());
        self.kept[token] = false;
        if dropped.sign == b'w' {
            self.unread.push(dropped.bytes.clone());
        }
    }

    /// Writes `;` for a sign.
    pub(super) fn end(&mut self, token: usize, tokens: &Tokens) {
        self.kept[token] = false;
        self.text[tokens.tokens[token].bytes.start] = b';';
    }

    /// Writes a type for a token that is long enough.
    pub(super) fn name_type(&mut self, token: usize, tokens: &Tokens) {
        let bytes = tokens.tokens[token].bytes.clone();
        self.blank(bytes.clone());
        if let Some(start) = self.text.get_mut(bytes).and_then(|it| it.get_mut(..3)) {
            start.copy_from_slice(b"int");
        }
    }

    /// The text with its replacements, if it is another one.
    pub(super) fn done(mut self, text: &[u8]) -> Option<Readable> {
        self.unread.sort_by_key(|it| it.start);
        (self.text != text).then_some(Readable {
            text: self.text,
            unread: self.unread,
        })
    }
}
