//! Versions of a file as lines that can be compared as numbers, and what two versions share.
//!
//! Versions of one file are alike: of a second one only what lies between its common ends with the
//! first is cut into lines and looked up. Lines are compared as `git blame` does, with the line end
//! that belongs to them, by Myers' algorithm with git's heuristics (`imara-diff`).

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::rc::Rc;

use gix::ObjectId;
use gix::diff::blob::{Algorithm, Diff, IndentHeuristic, IndentLevel, Token};

use super::spans::Common;
use crate::history::cuts::pieces;
use crate::history::{HistoryError, error::git};
use crate::repo::Cancel;

const READING: &str = "reading a file";

/// The largest version that is compared, in bytes.
const MAX_SIZE: u64 = 64 << 20;
/// What is kept of versions that may be needed again, in bytes.
const KEPT: usize = 8 << 20;
/// After how many bytes of different lines their numbers are given anew.
const NUMBERED: usize = 32 << 20;
/// How much of a common end is taken at a time, in bytes: so does git, and where a change may have
/// been at several places, which one it says depends on it.
const BLOCK: usize = 1024;
/// How wide a tab is where indentation is compared, in git and here.
const TAB: u8 = 8;

/// A version of a file.
#[derive(Debug, Default)]
pub(super) struct Text {
    bytes: Vec<u8>,
    /// Where each line begins.
    starts: Vec<u32>,
    /// What each line is.
    lines: Vec<Token>,
}

/// The versions of the files that a blame has met of late.
#[derive(Default)]
pub(super) struct Texts {
    numbers: Numbers,
    kept: VecDeque<(ObjectId, Rc<Text>)>,
    kept_bytes: usize,
    diff: Diff,
}

/// What each different line is called.
#[derive(Default)]
struct Numbers {
    of: HashMap<Box<[u8]>, Token>,
    indents: Vec<IndentLevel>,
    bytes: usize,
}

impl Texts {
    /// What the version `id` and its parent have in common, in line order.
    ///
    /// # Errors
    /// If one of them can't be read, or the call has to stop.
    pub(super) fn common(
        &mut self,
        repository: &gix::Repository,
        id: ObjectId,
        parent: ObjectId,
        cancel: &Cancel,
    ) -> Result<Vec<Common>, HistoryError> {
        if self.numbers.bytes > NUMBERED {
            *self = Texts::default();
        }
        let header = repository.find_header(parent);
        if header.map_err(git(READING))?.size() > MAX_SIZE {
            return Ok(Vec::new());
        }
        let new = self.text(repository, id, None)?;
        let old = self.text(repository, parent, Some(&new))?;
        self.compare(&old, &new, cancel)
    }

    /// The version `id`, which is like another one.
    fn text(
        &mut self,
        repository: &gix::Repository,
        id: ObjectId,
        like: Option<&Text>,
    ) -> Result<Rc<Text>, HistoryError> {
        let known = self.kept.iter().position(|(kept, _)| *kept == id);
        let text = match known.and_then(|at| self.kept.remove(at)) {
            Some((_, text)) => text,
            None => {
                let blob = repository.find_blob(id).map_err(git(READING))?;
                let text = Rc::new(self.numbers.text(blob.detach().data, like));
                self.kept_bytes += text.size();
                text
            }
        };
        self.kept.push_back((id, Rc::clone(&text)));
        while self.kept_bytes > KEPT && self.kept.len() > 2 {
            let oldest = self.kept.pop_front();
            self.kept_bytes -= oldest.map_or(0, |(_, text)| text.size());
        }
        Ok(text)
    }

    fn compare(
        &mut self,
        old: &Text,
        new: &Text,
        cancel: &Cancel,
    ) -> Result<Vec<Common>, HistoryError> {
        let tail = common_blocks(old, new);
        let (old_lines, new_lines) = (old.without(tail), new.without(tail));
        let mut common = Gaps::default();
        for (old_piece, new_piece) in pieces(old_lines, new_lines) {
            cancel.check()?;
            let begin = (offset(old_piece.start), offset(new_piece.start));
            let old_lines = old_lines.get(old_piece.clone()).unwrap_or_default();
            let new_lines = new_lines.get(new_piece.clone()).unwrap_or_default();
            self.differ(old_lines, new_lines);
            (common.old, common.new) = begin;
            for hunk in self.diff.hunks() {
                common.until(begin.0 + hunk.before.start, begin.1 + hunk.after.start);
                common.old = begin.0 + hunk.before.end;
                common.new = begin.1 + hunk.after.end;
            }
            common.until(offset(old_piece.end), offset(new_piece.end));
        }
        (common.old, common.new) = (offset(old_lines.len()), offset(new_lines.len()));
        common.until(old.count(), new.count());
        Ok(common.found)
    }

    /// Finds what differs between some lines.
    fn differ(&mut self, old: &[Token], new: &[Token]) {
        let indents = &self.numbers.indents;
        let count = u32::try_from(indents.len()).unwrap_or(u32::MAX);
        let indent = |line: Token| {
            let known = indents.get(line.0 as usize).copied();
            known.unwrap_or_else(|| IndentLevel::for_ascii_line([], TAB))
        };
        self.diff.compute_with(Algorithm::Myers, old, new, count);
        self.diff
            .postprocess_with(old, new, IndentHeuristic::new(indent));
    }
}

/// What lies between changes.
#[derive(Default)]
struct Gaps {
    /// Where the last change ended in either version.
    old: u32,
    new: u32,
    found: Vec<Common>,
}

impl Gaps {
    fn until(&mut self, old: u32, new: u32) {
        let count = new
            .saturating_sub(self.new)
            .min(old.saturating_sub(self.old));
        if count > 0 {
            self.found.push(Common {
                line: self.new,
                parent: self.old,
                count,
            });
        }
    }
}

/// How many bytes at the end, from a line's beginning on, are not compared: whole blocks that are
/// the same, less the line that may have begun before them.
fn common_blocks(old: &Text, new: &Text) -> usize {
    let same = common_end(&old.bytes, &new.bytes);
    let blocks = same - same % BLOCK;
    let tail = new
        .bytes
        .get(new.bytes.len() - blocks..)
        .unwrap_or_default();
    let begun = memchr::memchr(b'\n', tail).map_or(tail.len(), |end| end + 1);
    blocks - begun
}

/// How many bytes two texts begin with alike.
fn common_start(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK));
    let same = blocks.take_while(|(a, b)| a == b).count() * BLOCK;
    let left = a.get(same..).unwrap_or_default().iter();
    let right = b.get(same..).unwrap_or_default().iter();
    same + left.zip(right).take_while(|(a, b)| a == b).count()
}

/// How many bytes two texts end with alike.
fn common_end(a: &[u8], b: &[u8]) -> usize {
    let blocks = a.rchunks_exact(BLOCK).zip(b.rchunks_exact(BLOCK));
    let same = blocks.take_while(|(a, b)| a == b).count() * BLOCK;
    let left = a.get(..a.len() - same).unwrap_or_default().iter().rev();
    let right = b.get(..b.len() - same).unwrap_or_default().iter().rev();
    same + left.zip(right).take_while(|(a, b)| a == b).count()
}

impl Text {
    fn count(&self) -> u32 {
        u32::try_from(self.lines.len()).unwrap_or(u32::MAX)
    }

    /// Its lines, without those of the last `tail` bytes.
    fn without(&self, tail: usize) -> &[Token] {
        let end = self.bytes.len().saturating_sub(tail);
        let lines = self.starts.partition_point(|&start| (start as usize) < end);
        self.lines.get(..lines).unwrap_or_default()
    }

    /// About how many bytes it takes.
    fn size(&self) -> usize {
        self.bytes.len() + 8 * self.lines.len()
    }

    /// The lines that this text shares with `bytes` at its ends, and where in `bytes` what is
    /// between them lies.
    fn ends(&self, bytes: &[u8]) -> (Range<usize>, Range<usize>) {
        let begun = |offset: usize| {
            let begins = |&start: &u32| start as usize <= offset;
            self.starts.partition_point(begins)
        };
        // A line is shared if its end is.
        let head = begun(common_start(&self.bytes, bytes)).saturating_sub(1);
        let start = self.start(head);
        let rest = |text: &[u8]| text.len() - start;
        let longest = rest(&self.bytes).min(rest(bytes));
        let same = common_end(&self.bytes, bytes).min(longest);
        let tail = begun(self.bytes.len() - same).max(head);
        let end = bytes.len() - (self.bytes.len() - self.start(tail));
        (head..tail, start..end)
    }

    /// Where a line begins; the end, if there is no such line.
    fn start(&self, line: usize) -> usize {
        self.starts
            .get(line)
            .map_or(self.bytes.len(), |&start| start as usize)
    }
}

impl Numbers {
    /// A text cut into lines; what it shares with another at both ends is taken from there.
    fn text(&mut self, bytes: Vec<u8>, like: Option<&Text>) -> Text {
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
            lines.push(self.number(line));
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
        Text {
            bytes,
            starts,
            lines,
        }
    }

    fn number(&mut self, line: &[u8]) -> Token {
        if let Some(&known) = self.of.get(line) {
            return known;
        }
        let number = Token(u32::try_from(self.indents.len()).unwrap_or(u32::MAX));
        self.of.insert(line.into(), number);
        let indent = IndentLevel::for_ascii_line(line.iter().copied(), TAB);
        self.indents.push(indent);
        self.bytes += line.len();
        number
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(numbers: &mut Numbers, text: &str, like: Option<&Text>) -> Text {
        numbers.text(text.as_bytes().to_vec(), like)
    }

    #[test]
    fn a_shared_line_is_one_whose_end_is_shared() {
        let mut numbers = Numbers::default();
        let old = of(&mut numbers, "a\nb\nc", None);
        let new = of(&mut numbers, "a\nb\nc\n", Some(&old));
        assert_eq!(new.lines.get(..2), old.lines.get(..2));
        assert_ne!(new.lines.get(2), old.lines.get(2));
    }

    proptest! {
        #[test]
        fn a_text_is_cut_alike_beside_any_other(
            one in "[ab\n]{0,30}", other in "[ab\n]{0,30}", shared in "[ab\n]{0,9}",
        ) {
            let mut numbers = Numbers::default();
            let (one, other) = (format!("{shared}{one}{shared}"), format!("{shared}{other}{shared}"));
            let alone = of(&mut numbers, &one, None);
            let like = of(&mut numbers, &other, None);
            let beside = of(&mut numbers, &one, Some(&like));
            prop_assert_eq!(&alone.lines, &beside.lines);
            prop_assert_eq!(&alone.starts, &beside.starts);
        }
    }
}
