//! How long chunks are, and where longer texts are cut.
//!
//! A vector covers at most 512 word pieces, about 2,500 bytes of code: the end of a longer chunk would
//! not be found by its meaning. Shorter chunks say less about their topic, and take more memory. Most
//! functions are shorter and stay whole.
//!
//! Texts are cut where they are indented least. There a statement of the outermost block begins, in
//! any language, and in data and configuration an outer key.

use std::ops::Range;

use memchr::memchr_iter;

/// The size of chunks.
pub(super) struct Size {
    /// Texts up to this many bytes stay whole.
    whole: usize,
    /// Target size of the parts of a longer text, in bytes.
    aim: usize,
    /// Lines of a part, at most.
    lines: usize,
}

/// A declaration, or a section of a document: whole as long as one vector covers it.
pub(super) const STRUCTURED: Size = Size {
    whole: 2_500,
    aim: 2_000,
    lines: usize::MAX,
};

/// A text of unknown structure: about a screen.
pub(super) const WINDOW: Size = Size {
    whole: 2_000,
    aim: 2_000,
    lines: 40,
};

impl Size {
    /// Whether a declaration of this size stays whole.
    pub(super) fn holds(&self, bytes: usize) -> bool {
        bytes <= self.whole
    }

    /// End of the first part of `rest`; the end of `rest` if it is short enough.
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

/// The starts of lines in `range`, except the first.
fn borders(text: &str, range: Range<usize>) -> Vec<usize> {
    let bytes = text.as_bytes().get(range.clone()).unwrap_or_default();
    memchr_iter(b'\n', bytes)
        .map(|at| range.start + at + 1)
        .collect()
}

/// The cost of a cut before the line at `border`: lowest before a line of little indentation that
/// follows an empty one. A closing bracket belongs to its block.
fn cost(text: &str, border: usize) -> (bool, usize, bool) {
    let line = text.get(border..).unwrap_or_default();
    let start = line.trim_start_matches([' ', '\t']);
    let is_empty = start.is_empty() || start.starts_with(['\n', '\r']);
    let before = text.get(..border.saturating_sub(1)).unwrap_or_default();
    let after_empty = before.trim_end_matches([' ', '\t', '\r']).ends_with('\n');
    let closes = start.starts_with(['}', ')', ']']);
    (is_empty || closes, line.len() - start.len(), !after_empty)
}

/// An offset within an overlong line, between two characters.
fn inside_line(text: &str, rest: &Range<usize>, most: usize) -> usize {
    let at = text.floor_char_boundary(most);
    if at > rest.start { at } else { rest.end }
}
