//! Where a grammar failed: places of errors, and of what it did not get.

use std::ops::Range;

use super::{Syntax, Walk};
use crate::{Cancel, Stopped};

/// What of a text is in no node, in bytes.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Where the first code is.
    start: Option<usize>,
    /// Its words, in the order of the text: macros, and names in lines of the preprocessor.
    pub(super) words: Vec<Range<usize>>,
    /// Lines of the preprocessor, but none that are never compiled.
    pub(super) directives: Vec<Range<usize>>,
}

impl LeftOut {
    /// Notes that code is left out that begins here.
    pub(super) fn note(&mut self, start: usize) {
        self.start = Some(self.start.map_or(start, |first| first.min(start)));
    }
}

impl Syntax<'_> {
    /// The 1-based line of the first syntax error; `None` without one.
    ///
    /// # Errors
    /// If the call was stopped.
    pub fn error_line(&self, cancel: &Cancel) -> Result<Option<usize>, Stopped> {
        let mut line = None;
        self.walk(self.root(), cancel, |node| {
            if line.is_none() && (node.is_error() || node.is_missing()) {
                line = Some(node.start_position().row + 1);
            }
            if line.is_none() && node.has_error() {
                Walk::Into
            } else {
                Walk::Past
            }
        })?;
        Ok(line)
    }

    /// The 1-based line of the first code that is in no node, though there may be no error: a macro, a line
    /// of the preprocessor, or a branch that its condition leaves out. `None` if the tree has all.
    pub fn left_out_line(&self) -> Option<usize> {
        let before = self.text.get(..self.left_out.start?)?;
        Some(memchr::memchr_iter(b'\n', before).count() + 1)
    }

    /// Words that are in no node, in bytes and in the order of the text: macros that the grammar does not
    /// know, and what a condition of the preprocessor leaves out.
    pub fn unread(&self) -> &[Range<usize>] {
        &self.left_out.words
    }

    /// Lines of the preprocessor that are in no node, without those that are never compiled.
    pub fn unread_directives(&self) -> impl Iterator<Item = &str> {
        let lines = self.left_out.directives.iter();
        lines.filter_map(|line| std::str::from_utf8(self.text.get(line.clone())?).ok())
    }
}
