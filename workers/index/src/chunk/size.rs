//! How long chunks are, and where a longer text is cut.
//!
//! A vector is made of at most 512 pieces of words, which is what about 2,500 bytes of code have:
//! of a longer chunk the end would not be found by its meaning. A shorter one says less of what it
//! is about, and is one more to keep. Most functions are shorter and stay whole.
//!
//! A cut falls where the text is indented least: there a statement of the outermost block begins,
//! in any language, and in data and configuration an outer key.

use std::ops::Range;

use memchr::memchr_iter;

/// How long the parts of a text become.
pub(super) struct Size {
    /// A text of at most so many bytes stays whole.
    whole: usize,
    /// What the parts of a longer one come close to, in bytes.
    aim: usize,
    /// How many lines a part has at most.
    lines: usize,
}

/// A declaration, or a section of a document: whole as long as its vector can hold it.
pub(super) const STRUCTURED: Size = Size {
    whole: 2_500,
    aim: 2_000,
    lines: usize::MAX,
};

/// A text whose structure is not known: about a screen of it.
pub(super) const WINDOW: Size = Size {
    whole: 2_000,
    aim: 2_000,
    lines: 40,
};

impl Size {
    /// Whether a declaration so long stays in one piece.
    pub(super) fn holds(&self, bytes: usize) -> bool {
        bytes <= self.whole
    }

    /// Where the first part of `rest` ends; all of it, if it is short enough.
    pub(super) fn part_end(&self, text: &str, rest: &Range<usize>) -> usize {
        let most = rest.start + self.whole.min(rest.len());
        let borders = borders(text, rest.start..most);
        let last = borders.get(self.lines - 1).copied();
        if most == rest.end && last.is_none_or(|last| last == rest.end) {
            return rest.end;
        }
        let parts = rest.len().div_ceil(self.aim);
        let aim = (rest.start + rest.len() / parts).min(last.unwrap_or(most));
        let most = last.unwrap_or(most);
        let least = rest.start + (aim - rest.start) / 2;
        let within = |border: &&usize| **border > least && **border <= most;
        let best = borders.iter().filter(within).min_by_key(|border| {
            let cost = cost(text, **border);
            (cost, border.abs_diff(aim))
        });
        let or_any = best.or_else(|| borders.iter().rfind(|border| **border <= most));
        or_any
            .copied()
            .unwrap_or_else(|| inside_line(text, rest, most))
    }
}

/// Where lines of `range` begin, but for the first.
fn borders(text: &str, range: Range<usize>) -> Vec<usize> {
    let bytes = text.as_bytes().get(range.clone()).unwrap_or_default();
    memchr_iter(b'\n', bytes)
        .map(|at| range.start + at + 1)
        .collect()
}

/// How ill a cut before the line at `border` is: least before a line that is indented little and
/// stands after an empty one. What closes a block belongs to what it closes.
fn cost(text: &str, border: usize) -> (bool, usize, bool) {
    let line = text.get(border..).unwrap_or_default();
    let start = line.trim_start_matches([' ', '\t']);
    let is_empty = start.is_empty() || start.starts_with(['\n', '\r']);
    let before = text.get(..border.saturating_sub(1)).unwrap_or_default();
    let after_empty = before.trim_end_matches([' ', '\t', '\r']).ends_with('\n');
    let closes = start.starts_with(['}', ')', ']']);
    (is_empty || closes, line.len() - start.len(), !after_empty)
}

/// A place within a line that is longer than a part, between two characters.
fn inside_line(text: &str, rest: &Range<usize>, most: usize) -> usize {
    let at = text.floor_char_boundary(most);
    if at > rest.start { at } else { rest.end }
}
