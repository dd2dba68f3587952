//! Words that are in no node of a tree, as macros that a grammar does not know.

use std::ops::Range;

use archway_repo::syntax::Syntax;

use crate::Receiver;

/// A line of a text.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    /// From 1.
    pub(crate) number: u32,
    /// Where it begins, in bytes.
    pub(crate) start: usize,
}

/// The words, one after the other.
pub(crate) struct Unread<'s> {
    left: &'s [Range<usize>],
    line: Line,
    /// Where the last word began.
    at: usize,
}

impl<'s> Unread<'s> {
    pub(crate) fn of(syntax: &'s Syntax<'_>) -> Unread<'s> {
        Unread {
            left: syntax.unread(),
            line: Line {
                number: 1,
                start: 0,
            },
            at: 0,
        }
    }

    /// The next word, if it begins before a byte, and its line.
    pub(crate) fn next(&mut self, text: &str, to: usize) -> Option<(Range<usize>, Line)> {
        let (word, left) = self.left.split_first()?;
        if word.start >= to {
            return None;
        }
        let between = text.as_bytes().get(self.at..word.start).unwrap_or_default();
        for (at, _) in (self.at..).zip(between).filter(|(_, byte)| **byte == b'\n') {
            self.line.number = self.line.number.saturating_add(1);
            self.line.start = at + 1;
        }
        (self.left, self.at) = (left, word.start);
        Some((word.clone(), self.line))
    }
}

/// What stands before a word.
pub(crate) fn receiver(text: &str, start: usize) -> Receiver {
    let before = text.get(..start).unwrap_or_default().trim_end();
    match [".", "->", "::"].iter().any(|sign| before.ends_with(sign)) {
        true => Receiver::Unknown,
        false => Receiver::None,
    }
}
