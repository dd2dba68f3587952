//! Where a grammar failed: places of errors, and of what it did not get.

use super::{Syntax, Walk};
use crate::{Cancel, Stopped};

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
        let before = self.text.get(..self.left_out?)?;
        Some(memchr::memchr_iter(b'\n', before).count() + 1)
    }
}

/// The first byte that is replaced in `other` and no white space.
pub(super) fn left_out(text: &[u8], other: &[u8]) -> Option<usize> {
    let mut pairs = text.iter().zip(other);
    pairs.position(|(byte, other)| byte != other && !byte.is_ascii_whitespace())
}
