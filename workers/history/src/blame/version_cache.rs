//! A cache of the file versions that a blame meets, and their comparison.
//!
//! Lines are compared as in `git blame`, including their line ends, by Myers' algorithm with git's
//! heuristics (`imara-diff`).

use std::collections::VecDeque;
use std::rc::Rc;

use archway_repo::Cancel;
use gix::ObjectId;
use gix::diff::blob::{Algorithm, Diff, IndentHeuristic, Token};

use super::lines::{LineInterner, Text, common_end, offset};
use super::spans::SharedLines;
use crate::cuts::pieces;
use crate::{HistoryError, error::git};

const READING: &str = "reading a file";

/// The largest version that is compared, in bytes.
const MAX_SIZE: u64 = 64 << 20;
/// Size of cached versions, in bytes.
const MAX_CACHED_BYTES: usize = 8 << 20;
/// Maximum number of cached versions, however small: lookups are linear.
const MAX_CACHED: usize = 1000;
/// The unit in which common ends are cut off, in bytes. Git's unit: it influences where an
/// ambiguous change is placed.
const BLOCK: usize = 1024;

/// Recently used versions of files.
#[derive(Default)]
pub(super) struct VersionCache {
    interner: LineInterner,
    cached: VecDeque<(ObjectId, Rc<Text>)>,
    cached_bytes: usize,
    diff: Diff,
}

impl VersionCache {
    /// The lines that the version `id` and its parent's version share, in line order.
    ///
    /// # Errors
    /// If one of them can't be read, or the call has to stop.
    pub(super) fn common(
        &mut self,
        repository: &gix::Repository,
        id: ObjectId,
        parent: ObjectId,
        cancel: &Cancel,
    ) -> Result<Vec<SharedLines>, HistoryError> {
        if self.interner.is_full() {
            *self = VersionCache::default();
        }
        let header = repository.find_header(parent);
        if header.map_err(git(READING))?.size() > MAX_SIZE {
            return Ok(Vec::new());
        }
        let new = self.text(repository, id, None, cancel)?;
        let old = self.text(repository, parent, Some(&new), cancel)?;
        self.compare(&old, &new, cancel)
    }

    /// The version `id`, which resembles `like`.
    fn text(
        &mut self,
        repository: &gix::Repository,
        id: ObjectId,
        like: Option<&Text>,
        cancel: &Cancel,
    ) -> Result<Rc<Text>, HistoryError> {
        let known = self.cached.iter().position(|(cached, _)| *cached == id);
        let text = match known.and_then(|at| self.cached.remove(at)) {
            Some((_, text)) => text,
            None => {
                let blob = repository.find_blob(id).map_err(git(READING))?;
                let text = self.interner.text(blob.detach().data, like, cancel)?;
                let text = Rc::new(text);
                self.cached_bytes += text.size();
                text
            }
        };
        self.cached.push_back((id, Rc::clone(&text)));
        while self.cached.len() > MAX_CACHED
            || (self.cached_bytes > MAX_CACHED_BYTES && self.cached.len() > 2)
        {
            let oldest = self.cached.pop_front();
            self.cached_bytes -= oldest.map_or(0, |(_, text)| text.size());
        }
        Ok(text)
    }

    fn compare(
        &mut self,
        old: &Text,
        new: &Text,
        cancel: &Cancel,
    ) -> Result<Vec<SharedLines>, HistoryError> {
        let tail = common_blocks(old, new);
        let (old_lines, new_lines) = (old.lines_before(tail), new.lines_before(tail));
        let mut common = UnchangedLines::default();
        for (old_piece, new_piece) in pieces(old_lines, new_lines, cancel)? {
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

    /// Computes the differences of some lines.
    fn differ(&mut self, old: &[Token], new: &[Token]) {
        let interner = &self.interner;
        let count = interner.count();
        self.diff.compute_with(Algorithm::Myers, old, new, count);
        let indent = |line| interner.indent(line);
        self.diff
            .postprocess_with(old, new, IndentHeuristic::new(indent));
    }
}

/// Collects the unchanged lines between changes.
#[derive(Default)]
struct UnchangedLines {
    /// Where the last change ended in either version.
    old: u32,
    new: u32,
    found: Vec<SharedLines>,
}

impl UnchangedLines {
    fn until(&mut self, old: u32, new: u32) {
        let count = new
            .saturating_sub(self.new)
            .min(old.saturating_sub(self.old));
        if count > 0 {
            self.found.push(SharedLines {
                line: self.new,
                parent: self.old,
                count,
            });
        }
    }
}

/// The length of the common end that comparison skips, from a line's start on: whole equal blocks,
/// less the line that may begin before them.
fn common_blocks(old: &Text, new: &Text) -> usize {
    let (old, new) = (old.bytes(), new.bytes());
    let same = common_end(old, new);
    let blocks = same - same % BLOCK;
    let tail = new.get(new.len() - blocks..).unwrap_or_default();
    let begun = memchr::memchr(b'\n', tail).map_or(tail.len(), |end| end + 1);
    blocks - begun
}

#[cfg(test)]
mod tests {
    use archway_repo::testing::{Sandbox, cancel};

    use super::*;

    #[test]
    fn the_number_of_cached_versions_is_bounded() {
        let app = Sandbox::new();
        app.file("a", "1\n").committed();
        let git = app.repo().git().unwrap();
        let mut texts = VersionCache::default();
        let versions = (0..1500).map(|at| git.write_blob(at.to_string()).unwrap().detach());
        let versions: Vec<ObjectId> = versions.collect();
        for pair in versions.windows(2) {
            texts.common(&git, pair[0], pair[1], &cancel()).unwrap();
        }
        assert_eq!(texts.cached.len(), MAX_CACHED);
        assert!(
            texts
                .cached
                .iter()
                .any(|(id, _)| versions.last() == Some(id))
        );
        let bytes = texts
            .cached
            .iter()
            .map(|(_, text)| text.size())
            .sum::<usize>();
        assert_eq!(bytes, texts.cached_bytes);
    }
}
