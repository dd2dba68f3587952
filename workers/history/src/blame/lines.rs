//! Versions of a file as interned lines.
//!
//! Versions of one file are alike: only the part between the ends that it shares with a known
//! version is split and looked up.

use std::collections::HashMap;
use std::ops::Range;

use gix::diff::blob::{IndentLevel, Token};

use archway_repo::{Cancel, Stopped};

/// Interned lines are dropped beyond this size, in bytes, including overhead.
const MAX_INTERNED_BYTES: usize = 64 << 20;
/// Cost of an interned line beyond its bytes.
const OVERHEAD: usize = 48;
/// Number of lines that are interned between two deadline checks.
const CHECK_INTERVAL: usize = 1 << 12;
/// Number of bytes that are compared at a time.
const BLOCK: usize = 1024;
/// Tab width for comparing indentation, as in git.
const TAB: u8 = 8;

/// A version of a file.
#[derive(Debug, Default)]
pub(super) struct Text {
    bytes: Vec<u8>,
    /// Offset of each line.
    starts: Vec<u32>,
    /// Token of each line.
    lines: Vec<Token>,
}

/// Interned lines.
#[derive(Default)]
pub(super) struct LineInterner {
    of: HashMap<Box<[u8]>, Token>,
    indents: Vec<IndentLevel>,
    bytes: usize,
}

impl Text {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of lines.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.lines.len()).unwrap_or(u32::MAX)
    }

    /// Its lines, without those of the last `tail` bytes.
    pub(super) fn lines_before(&self, tail: usize) -> &[Token] {
        let end = self.bytes.len().saturating_sub(tail);
        let lines = self.starts.partition_point(|&start| (start as usize) < end);
        self.lines.get(..lines).unwrap_or_default()
    }

    /// About how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        self.bytes.len() + 8 * self.lines.len()
    }

    /// The range of lines that differ from `bytes` between the shared ends, and the range of bytes
    /// that replaces them.
    fn ends(&self, bytes: &[u8]) -> (Range<usize>, Range<usize>) {
        let begun = |offset: usize| {
            let begins = |&start: &u32| start as usize <= offset;
            self.starts.partition_point(begins)
        };
        // A line is shared if its line end is.
        let head = begun(common_start(&self.bytes, bytes)).saturating_sub(1);
        let start = self.start(head);
        let rest = |text: &[u8]| text.len() - start;
        let longest = rest(&self.bytes).min(rest(bytes));
        let same = common_end(&self.bytes, bytes).min(longest);
        let tail = begun(self.bytes.len() - same).max(head);
        let end = bytes.len() - (self.bytes.len() - self.start(tail));
        (head..tail, start..end)
    }

    /// Offset of a line; the end, if there is no such line.
    fn start(&self, line: usize) -> usize {
        self.starts
            .get(line)
            .map_or(self.bytes.len(), |&start| start as usize)
    }
}

impl LineInterner {
    /// The number of interned lines.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.indents.len()).unwrap_or(u32::MAX)
    }

    /// Whether interned lines exceed their memory bound.
    pub(super) fn is_full(&self) -> bool {
        self.bytes > MAX_INTERNED_BYTES
    }

    /// A line's indentation.
    pub(super) fn indent(&self, line: Token) -> IndentLevel {
        let known = self.indents.get(line.0 as usize).copied();
        known.unwrap_or_else(|| IndentLevel::for_ascii_line([], TAB))
    }

    /// Splits a text into lines. Lines that it shares with `like` at both ends are copied.
    ///
    /// # Errors
    /// If the call has to stop.
    pub(super) fn text(
        &mut self,
        bytes: Vec<u8>,
        like: Option<&Text>,
        cancel: &Cancel,
    ) -> Result<Text, Stopped> {
        let empty = Text::default();
        let like = like.unwrap_or(&empty);
        let (changed, between) = like.ends(&bytes);
        let mut lines = like.lines.get(..changed.start).unwrap_or_default().to_vec();
        let mut starts = like
            .starts
            .get(..changed.start)
            .unwrap_or_default()
            .to_vec();
        let mut at = between.start;
        let middle = bytes.get(between.clone()).unwrap_or_default();
        for line in middle.split_inclusive(|&byte| byte == b'\n') {
            if lines.len().is_multiple_of(CHECK_INTERVAL) {
                cancel.check()?;
            }
            lines.push(self.intern(line));
            starts.push(offset(at));
            at += line.len();
        }
        lines.extend_from_slice(like.lines.get(changed.end..).unwrap_or_default());
        let moved = |&start: &u32| offset(start as usize + between.end - like.start(changed.end));
        starts.extend(
            like.starts
                .get(changed.end..)
                .unwrap_or_default()
                .iter()
                .map(moved),
        );
        Ok(Text {
            bytes,
            starts,
            lines,
        })
    }

    fn intern(&mut self, line: &[u8]) -> Token {
        if let Some(&known) = self.of.get(line) {
            return known;
        }
        let token = Token(self.count());
        self.of.insert(line.into(), token);
        let indent = IndentLevel::for_ascii_line(line.iter().copied(), TAB);
        self.indents.push(indent);
        self.bytes += line.len() + OVERHEAD;
        token
    }
}

/// The length of the common prefix.
fn common_start(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK));
    let same = blocks.take_while(|(a, b)| a == b).count() * BLOCK;
    let left = a.get(same..).unwrap_or_default().iter();
    let right = b.get(same..).unwrap_or_default().iter();
    same + left.zip(right).take_while(|(a, b)| a == b).count()
}

/// The length of the common suffix.
pub(super) fn common_end(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.rchunks_exact(BLOCK).zip(b.rchunks_exact(BLOCK));
    let same = blocks.take_while(|(a, b)| a == b).count() * BLOCK;
    let left = a.get(..a.len() - same).unwrap_or_default().iter().rev();
    let right = b.get(..b.len() - same).unwrap_or_default().iter().rev();
    same + left.zip(right).take_while(|(a, b)| a == b).count()
}

pub(super) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::cancel;
    use proptest::prelude::*;

    use super::*;

    fn of(interner: &mut LineInterner, text: &str, like: Option<&Text>) -> Text {
        interner
            .text(text.as_bytes().to_vec(), like, &cancel())
            .unwrap()
    }

    #[test]
    fn lines_are_shared_only_with_their_line_end() {
        let mut interner = LineInterner::default();
        let old = of(&mut interner, "a\nb\nc", None);
        let new = of(&mut interner, "a\nb\nc\n", Some(&old));
        assert_eq!(new.lines.get(..2), old.lines.get(..2));
        assert_ne!(new.lines.get(2), old.lines.get(2));
    }

    proptest! {
        #[test]
        fn splitting_gives_the_same_lines_next_to_any_version(
            one in "[ab\n]{0,30}", other in "[ab\n]{0,30}", shared in "[ab\n]{0,9}",
        ) {
            let mut interner = LineInterner::default();
            let (one, other) = (format!("{shared}{one}{shared}"), format!("{shared}{other}{shared}"));
            let alone = of(&mut interner, &one, None);
            let like = of(&mut interner, &other, None);
            let beside = of(&mut interner, &one, Some(&like));
            prop_assert_eq!(&alone.lines, &beside.lines);
            prop_assert_eq!(&alone.starts, &beside.starts);
        }
    }
}
